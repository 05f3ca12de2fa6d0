import Registry from 'prom-client/lib/registry.js';
import { type MetricKey, metricDefinitions } from './metric-definitions.ts';
import { createMetric, type MetricOf } from './metric-registry.ts';
import { processCollector } from './process-metrics.ts';

/** One member for each entry of the table, typed by its labels. */
export type MetricMembers = { readonly [K in MetricKey]: MetricOf<(typeof metricDefinitions)[K]> };

export interface Metrics extends MetricMembers {
  /** `collect` is called before each exposition: for gauges that are read, not counted. Returns the way to stop that. */
  onRender(collect: () => void): () => void;
  /** The Prometheus text format. */
  render(): Promise<string>;
  /** Of the text format. */
  readonly contentType: string;
}

/** All metrics of a process, with those of the process itself filled in at each exposition. */
export const createMetrics = (): Metrics => {
  const registry = new Registry();
  const members = Object.fromEntries(
    Object.entries(metricDefinitions).map(([key, definition]) => [key, createMetric(definition, registry)]),
  ) as unknown as MetricMembers;
  members.hcloudInFlight.set({}, 0);
  members.actionsInFlight.set({}, 0);
  const collectors = new Set<() => void>([processCollector(members)]);

  return {
    ...members,
    onRender: collect => {
      // A wrapper, so that registering one function twice needs leaving twice.
      const entry = () => collect();
      collectors.add(entry);
      return () => collectors.delete(entry);
    },
    render: () => {
      for (const collect of collectors) {
        try {
          collect();
        } catch {
          // The other metrics are still worth having.
        }
      }
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
};
