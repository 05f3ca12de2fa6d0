import PromCounter from 'prom-client/lib/counter.js';
import PromGauge from 'prom-client/lib/gauge.js';
import PromHistogram from 'prom-client/lib/histogram.js';
import type Registry from 'prom-client/lib/registry.js';
import type { MetricDefinition } from './metric-definitions.ts';

export type LabelsOf<D extends MetricDefinition> = Readonly<Record<D['labels'][number], string>>;

export interface Counter<L> {
  /** Adds `by`, default 1. */
  inc(labels: L, by?: number): void;
}
export interface Gauge<L> {
  /** Until the first `set` the series does not exist: a dashboard must not read "0" where nothing is known. */
  set(labels: L, value: number): void;
  /** Forgets all series, such as those of networks that are gone. */
  clear(): void;
}
export interface Histogram<L> {
  observe(labels: L, value: number): void;
}

export type MetricOf<D extends MetricDefinition> = D['type'] extends 'counter'
  ? Counter<LabelsOf<D>>
  : D['type'] extends 'gauge'
    ? Gauge<LabelsOf<D>>
    : Histogram<LabelsOf<D>>;

/** Series of one metric; what comes later is counted together under the label value below. */
const maxSeries = 200;
const overflow = 'other';

type Labels = Record<string, string>;

/**
 * Labels in the order of the definition and nothing else, bounded in number: a label value that comes from outside must
 * not fill the memory of this process or of Prometheus.
 */
const boundLabels = (names: readonly string[]) => {
  const seen = new Set<string>();
  const label = (from: Readonly<Labels>): Labels => {
    const values = names.map(name => String(from[name] ?? ''));
    const id = JSON.stringify(values);
    if (seen.size >= maxSeries && !seen.has(id)) return Object.fromEntries(names.map(name => [name, overflow]));
    seen.add(id);
    return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']));
  };
  return { label, forget: () => seen.clear() };
};

/**
 * Makes one metric in `registry`. Values that are no number are ignored, as are negative counts: a metric never stops
 * the work it counts.
 */
export const createMetric = <D extends MetricDefinition>(definition: D, registry: Registry): MetricOf<D> => {
  const { label, forget } = boundLabels(definition.labels);
  const config = {
    name: definition.name,
    help: definition.help,
    labelNames: [...definition.labels],
    registers: [registry],
  };
  const make = (): Counter<Labels> | Gauge<Labels> | Histogram<Labels> => {
    switch (definition.type) {
      case 'counter': {
        const counter = new PromCounter(config);
        return {
          inc: (labels, by = 1) => {
            if (Number.isFinite(by) && by >= 0) counter.inc(label(labels), by);
          },
        };
      }
      case 'gauge': {
        const gauge = new PromGauge(config);
        if (definition.labels.length === 0) gauge.remove();
        return {
          set: (labels, value) => {
            if (Number.isFinite(value)) gauge.set(label(labels), value);
          },
          clear: () => {
            gauge.reset();
            forget();
            if (definition.labels.length === 0) gauge.remove();
          },
        };
      }
      case 'histogram': {
        const histogram = new PromHistogram({ ...config, buckets: [...(definition.buckets ?? [])] });
        return {
          observe: (labels, value) => {
            if (Number.isFinite(value)) histogram.observe(label(labels), value);
          },
        };
      }
    }
  };
  return make() as MetricOf<D>;
};
