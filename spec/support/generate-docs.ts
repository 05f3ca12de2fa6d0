import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { logKeys } from '../../lib/observability/log-keys.ts';
import { renderReference, renderTable } from '../../lib/settings/reference.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

const renderLogs = (): string => `# Log keys

Each log line is one JSON object: \`ts\`, \`level\`, \`msg\` (a constant sentence), then some of these keys.

${renderTable(
  ['Key', 'Meaning'],
  Object.entries(logKeys).map(([key, meaning]) => [`\`${key}\``, meaning]),
)}
`;

/** The generated documents: path from the top of the repository, and what must stand there. A spec checks each for drift. */
export const documents: ReadonlyArray<{ readonly path: string; readonly render: () => string }> = [
  { path: 'docs/settings.md', render: renderReference },
  { path: 'docs/logs.md', render: renderLogs },
];

/** Where a document lies on this machine. */
export const absolutePath = (path: string): string => resolve(root, path);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, render } of documents) {
    mkdirSync(dirname(absolutePath(path)), { recursive: true });
    writeFileSync(absolutePath(path), render());
  }
}
