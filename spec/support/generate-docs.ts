import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { annotationPrefix, ignoredAnnotations } from '../../lib/controllers/load-balancer/annotations.ts';
import { renderReference } from '../../lib/settings/reference.ts';
import { renderChartReadme, renderValuesSchema } from './chart-docs.ts';
import { annotationReference } from './docs-annotations.ts';
import { eventsReference } from './docs-events.ts';
import { logExamples, logLinesReference } from './docs-logs.ts';
import { logKeysReference, metricsReference } from './docs-observability.ts';
import { renderRobustness } from './docs-robustness.ts';
import { renderTroubleshooting } from './docs-troubleshooting.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

const renderLogs = (): string => `# Logs

One JSON object a line, on standard output. \`info\` is one line for each change and for each step of the process's life,
\`warn\` is trouble that was handled, \`error\` is for somebody to look at, \`debug\` is each run and each request. The level is
set by \`HCLOUD_LOG_LEVEL\`; the signal SIGUSR2 switches a running process to \`debug\`, the next one back.

Each line starts with \`ts\`, \`level\` and \`msg\`, then come some of the other keys. Secrets are in no line.

## Keys

${logKeysReference()}

## Lines

Lines of a run also have \`controller\`, \`reconcileID\` and \`reason\`, and \`attempt\` after a failure; not every line has all of its keys.

${logLinesReference()}

## Examples

Of each line at \`info\`, with made-up values.

${logExamples()}
`;

const renderEvents = (): string => `# Events

What users are told where they look first: \`kubectl describe\` of a Node or Service, and of the Lease of the leader election
for what concerns the controller itself. The component is \`hcloud-cloud-controller-manager\`, as the peer's. The same event again
within ten minutes counts up the one there is; what stays wrong is told about once an hour. \`…\` stands for what differs.

${eventsReference()}
`;

const renderMetrics = (): string => `# Metrics

Prometheus text on \`HCLOUD_METRICS_ADDRESS\`, path \`/metrics\`. Names without the prefix \`hcloud_reactive_\` are those of Hetzner's
cloud-controller-manager and of Kubernetes, so that dashboards and alerts go on working.

${metricsReference()}
`;

const renderAnnotations = (): string => `# Annotations of Services

All keys begin with \`${annotationPrefix}\`. An annotation wins over its variable. Values are trimmed; an empty one counts as
absent, but for \`location\`. A wrong one is told by an event that names what is allowed, and stops nothing that does not
depend on it; so is a key that is not known, with the nearest one that is.

Without an annotation and without a variable a setting of the load balancer is left as it is.

- boolean: 1, t, T, TRUE, true, True or 0, f, F, FALSE, false, False
- duration: numbers with units, such as \`15s\` or \`1m30s\`, or a bare number of seconds
- list: separated by commas

${annotationReference()}

\`${ignoredAnnotations.join('` and `')}\` have no effect and are no mistakes: older tools write them.
`;

/** The generated documents: path from the top of the repository, and what must stand there. A spec checks each for drift. */
export const documents: ReadonlyArray<{ readonly path: string; readonly render: () => string }> = [
  { path: 'docs/settings.md', render: renderReference },
  { path: 'docs/annotations.md', render: renderAnnotations },
  { path: 'docs/logs.md', render: renderLogs },
  { path: 'docs/troubleshooting.md', render: renderTroubleshooting },
  { path: 'docs/events.md', render: renderEvents },
  { path: 'docs/metrics.md', render: renderMetrics },
  { path: 'docs/robustness.md', render: renderRobustness },
  { path: 'charts/hcloud-reactive-controller/README.md', render: renderChartReadme },
  { path: 'charts/hcloud-reactive-controller/values.schema.json', render: renderValuesSchema },
];

/** Where a document lies on this machine. */
export const absolutePath = (path: string): string => resolve(root, path);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, render } of documents) {
    mkdirSync(dirname(absolutePath(path)), { recursive: true });
    writeFileSync(absolutePath(path), render());
  }
}
