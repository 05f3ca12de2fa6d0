import type { LogFields } from '../observability/log-keys.ts';
import { quoteInside } from './quote.ts';
import { defaultOf, describeSource, type Readings } from './readings.ts';
import { rows } from './table.ts';

/** A log line at level warn: a constant message and its fields. */
export interface Warning {
  readonly msg: string;
  readonly fields: LogFields;
}

/** A setting that differs from its default. */
export interface EffectiveSetting {
  readonly setting: string;
  /** As it was written; `[redacted]` for secrets. */
  readonly value: string;
  /** "flag", "environment variable" or "file <path>". */
  readonly source: string;
}

/** What the caller should log about the settings. */
export interface SettingsReport {
  readonly warnings: readonly Warning[];
  /** Upstream flags that were accepted but have no meaning here, without dashes. */
  readonly ignored: readonly string[];
  readonly effective: readonly EffectiveSetting[];
}

/** The settings that differ from their defaults, in the order of the table. */
export const effectiveSettings = ({ values, set }: Readings): readonly EffectiveSetting[] =>
  rows.flatMap(([key, setting]) => {
    const written = set.get(key);
    if (written === undefined || JSON.stringify(values[key]) === JSON.stringify(defaultOf(setting))) return [];
    const value = setting.secret ? '[redacted]' : quoteInside(written.text);
    return [{ setting: written.source.name, value, source: describeSource(written.source) }];
  });
