import { logKeys } from '../../lib/observability/log-keys.ts';
import { type MetricDefinition, metricDefinitions } from '../../lib/observability/metric-definitions.ts';
import { renderTable } from '../../lib/settings/reference.ts';

const code = (text: string): string => `\`${text}\``;

/** Markdown table of all metrics, in the order of the exposition. */
export const metricsReference = (): string => {
  const definitions: readonly MetricDefinition[] = Object.values(metricDefinitions);
  return renderTable(
    ['Metric', 'Type', 'Labels', 'Meaning'],
    definitions.map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(', '), help]),
  );
};

/** Markdown table of all keys of log lines. */
export const logKeysReference = (): string => {
  const rows = [
    ['ts', 'when, RFC 3339 in UTC with milliseconds'],
    ['level', 'error, warn, info or debug'],
    ['msg', 'what happened: a constant sentence in the past tense'],
    ...Object.entries(logKeys),
  ];
  return renderTable(
    ['Key', 'Meaning'],
    rows.map(([key = '', meaning = '']) => [code(key), meaning]),
  );
};
