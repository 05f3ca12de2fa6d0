import type { Setting } from './setting.ts';
import { rows } from './table.ts';
import { upstreamFlags } from './upstream-flags.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;

/** A Markdown table; vertical bars in cells are escaped. */
export const renderTable = (head: readonly string[], body: ReadonlyArray<readonly string[]>): string =>
  [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n');

const namesOf = ({ variable, aliases = [], fileVariable, flag }: Setting<unknown>): readonly string[] =>
  [variable, ...aliases, fileVariable, flag && (flag.length === 1 ? `-${flag}` : `--${flag}`)].filter(
    name => name !== undefined,
  );

const settingLine = (setting: Setting<unknown>): readonly string[] => [
  namesOf(setting)
    .map(name => `\`${name}\``)
    .join(', '),
  setting.type.name,
  setting.fallback === undefined ? '' : `\`${setting.fallback}\``,
  setting.area,
  setting.secret ? `${setting.description} Secret, never logged.` : setting.description,
];

/** The settings reference as Markdown, made from the table that is also used for parsing. */
export function renderReference(): string {
  const settings = rows.map(([, setting]) => setting);
  const head = ['Name', 'Type', 'Default', 'For', 'Description'];
  const variables = settings.filter(({ variable }) => variable !== undefined);
  const flags = settings.filter(({ variable }) => variable === undefined);
  return `# Settings

All settings are read once at start. A mistake stops the start; every mistake is reported, one line each. Values are
trimmed. A flag wins over a variable, a variable over its \`_FILE\` form (the name of a file with the value).

- boolean: 1, t, T, TRUE, true, True or 0, f, F, FALSE, false, False
- duration: numbers with units, such as \`300ms\`, \`1m30s\`, \`1.5h\`
- flags: \`--name=value\`, \`--name value\`, and \`--name\` alone for booleans

## Environment variables

${renderTable(head, variables.map(settingLine))}

## Flags

${renderTable(head, flags.map(settingLine))}

## Flags without effect

Accepted since the upstream cloud-controller-manager has them, and logged at level debug:
${Object.keys(upstreamFlags)
  .map(name => `\`--${name}\``)
  .join(', ')}.
`;
}

/** The text of --help: one line per setting. */
export function renderHelp(): string {
  const lines = rows.map(([, setting]) => {
    const fallback = setting.fallback === undefined ? '' : ` (default ${setting.fallback})`;
    return `  ${namesOf(setting).join(', ')}  ${setting.type.name}${fallback}\n      ${setting.description}`;
  });
  return `Settings, as environment variables or flags:\n${lines.join('\n')}\n`;
}
