import type { Parsed } from './go-values.ts';

/** How the text of a setting is read. */
export interface ValueType<T> {
  /** Shown in the reference. */
  readonly name: string;
  /** Gets the text trimmed, not empty, without control characters. A value of undefined means "as if it were not set". */
  readonly parse: (text: string) => Parsed<T | undefined>;
  /** What an empty text means: as if it were not set, or an error. */
  readonly empty: 'unset' | 'refused';
  /** The text a flag without value stands for. */
  readonly bare?: string;
  /** Several flags add up to one comma-separated text (pflag's StringSlice); others: the last one wins. */
  readonly list?: true;
}

/** The part of the process a setting speaks to. */
export type Area =
  | 'process'
  | 'Hetzner Cloud'
  | 'Robot'
  | 'Kubernetes'
  | 'node'
  | 'lifecycle'
  | 'route'
  | 'ipam'
  | 'load balancer';

/** One row of the settings table. `F` is the default as text, in the setting's own syntax; undefined = none. */
export interface Setting<T, F extends string | undefined = string | undefined> {
  readonly variable?: string;
  /** Other spellings of the variable, tried in order. */
  readonly aliases?: readonly string[];
  /** Variable that names a file with the value; the plain variable wins if it is set at all. */
  readonly fileVariable?: string;
  /** Without the leading dashes; wins over the variable. */
  readonly flag?: string;
  readonly type: ValueType<T>;
  readonly fallback: F;
  readonly secret?: true;
  readonly area: Area;
  readonly description: string;
}

type Extras = Pick<Setting<unknown>, 'aliases' | 'fileVariable' | 'flag' | 'secret'>;

/** A setting that comes from an environment variable. */
export const variable = <T, const F extends string | undefined>(
  name: string,
  type: ValueType<T>,
  fallback: F,
  area: Area,
  description: string,
  extras: Extras = {},
): Setting<T, F> => ({ variable: name, type, fallback, area, description, ...extras });

/** A setting that comes from a command-line flag. */
export const flag = <T, const F extends string | undefined>(
  name: string,
  type: ValueType<T>,
  fallback: F,
  area: Area,
  description: string,
): Setting<T, F> => ({ flag: name, type, fallback, area, description });

/** What a setting evaluates to. */
export type ValueOf<S> = S extends Setting<infer T, infer F> ? (F extends string ? T : T | undefined) : never;

/** The name a setting is spoken of by where it has not been set. */
export const nameOf = (setting: Setting<unknown>): string => setting.variable ?? `--${setting.flag}`;
