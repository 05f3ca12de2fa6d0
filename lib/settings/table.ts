import { flags } from './flags.ts';
import type { Setting, ValueOf } from './setting.ts';
import { answerFlags, upstreamFlags } from './upstream-flags.ts';
import { variables } from './variables.ts';

/** Every setting there is: parsing, the known names, the effective settings and the reference come from this table. */
export const table = { ...variables, ...flags };

export type SettingKey = keyof typeof table;

/** The value of each setting, by its key in the table. */
export type Values = { readonly [K in SettingKey]: ValueOf<(typeof table)[K]> };

/** The rows of the table with their keys. */
export const rows: ReadonlyArray<readonly [SettingKey, Setting<unknown>]> = Object.entries(table).map(
  ([key, setting]) => [key as SettingKey, setting],
);

/** Every environment variable that is read. */
export const knownVariables: readonly string[] = rows.flatMap(([, setting]) =>
  [setting.variable, setting.fileVariable, ...(setting.aliases ?? [])].filter(name => name !== undefined),
);

export interface FlagShape {
  /** The text the flag stands for when it has no value; undefined = a value is required. */
  readonly bare: string | undefined;
  /** Several add up. */
  readonly list: boolean;
}

/** Every flag that is accepted, by name. */
export const knownFlags: ReadonlyMap<string, FlagShape> = new Map([
  ...Object.entries({ ...upstreamFlags, ...answerFlags }).map(
    ([name, isBoolean]) => [name, { bare: isBoolean ? 'true' : undefined, list: false }] as const,
  ),
  ...rows.flatMap(([, { flag, type }]) =>
    flag === undefined ? [] : [[flag, { bare: type.bare, list: type.list ?? false }] as const],
  ),
]);
