import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { load } from 'js-yaml';
import { type MetricDefinition, metricDefinitions } from '../../lib/observability/metric-definitions.ts';
import { chartDirectory } from '../support/chart-values.ts';

const file = (name: string): string => readFileSync(join(chartDirectory, 'files', name), 'utf8');

/** Labels that Prometheus adds to every series. */
const ADDED = ['job', 'instance', 'namespace', 'pod'];
const WORDS = new Set([
  ...['absent', 'avg', 'by', 'count', 'group_left', 'histogram_quantile', 'max', 'min', 'on', 'rate', 'sum'],
]);

const definitions: readonly MetricDefinition[] = Object.values(metricDefinitions);

/** The metric behind the name of a series. */
const definitionOf = (series: string): MetricDefinition | undefined =>
  definitions.find(
    ({ name, type }) =>
      series === name || (type === 'histogram' && ['_bucket', '_sum', '_count'].some(end => series === name + end)),
  );

/** What is wrong with a query: series that do not exist, labels that none of its metrics has. */
const faults = (query: string): string[] => {
  const bare = query.replaceAll(/"[^"]*"/g, '""').replaceAll(/\[[^\]]*\]/g, '');
  const labels = [
    ...[...bare.matchAll(/\{([^}]*)\}/g)].flatMap(m => [...(m[1] ?? '').matchAll(/(\w+)\s*(?:=|!)/g)].map(l => l[1])),
    ...[...bare.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(m => (m[1] ?? '').split(/,\s*/)),
  ];
  const rest = bare.replaceAll(/\{[^}]*\}/g, '').replaceAll(/\b(by|on|group_left)\s*\([^)]*\)/g, '');
  const series = [...rest.matchAll(/\b[a-z_][a-z0-9_]*\b/g)].map(([name]) => name).filter(name => !WORDS.has(name));
  const found = series.map(definitionOf);
  const known = new Set([...ADDED, 'le', ...found.flatMap(definition => definition?.labels ?? [])]);
  return [
    ...(series.length === 0 ? ['no series'] : []),
    ...series.filter((_, i) => found[i] === undefined),
    ...labels.filter((label): label is string => label !== undefined && !known.has(label)),
  ];
};

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string };
}
interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

describe('alerts and dashboard', () => {
  it('the check finds series and labels that do not exist', () => {
    assert.deepEqual(faults('sum by (name) (rate(workqueue_depth{name="a"}[5m])) > 0'), []);
    assert.deepEqual(faults('sum by (nam) (workqueue_dept{nme="a"})'), ['workqueue_dept', 'nme', 'nam']);
    assert.deepEqual(faults('workqueue_depth_bucket'), ['workqueue_depth_bucket']);
  });

  for (const { alert, expr, annotations } of load(file('alerts.yaml')) as Alert[]) {
    it(`the alert ${alert} uses what exists`, () => {
      assert.deepEqual(faults(expr), []);
      const used = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(match => match[1] ?? '');
      for (const label of used) assert.match(expr, new RegExp(`by \\(${label}\\)`));
    });
  }

  const { panels } = JSON.parse(file('dashboard.json')) as { panels: Panel[] };
  for (const { title, targets } of panels) {
    it(`the panel ${title} uses what exists`, () => {
      assert.ok(targets.length > 0);
      for (const { expr, legendFormat } of targets) {
        assert.deepEqual(faults(expr), []);
        for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
          assert.ok(expr.includes(label) || ADDED.includes(label), label);
      }
    });
  }
});
