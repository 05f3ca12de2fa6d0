import assert from 'node:assert/strict';
import { type LoadedSettings, loadSettings } from '../../lib/settings/load.ts';
import type { SettingsReport } from '../../lib/settings/report.ts';
import type { Settings } from '../../lib/settings/settings.ts';

/** A token as Hetzner makes them; not a real one. */
export const token = 'fakeTOKEN0'.repeat(7).slice(0, 64);

export interface Input {
  readonly env?: Record<string, string | undefined>;
  readonly argv?: readonly string[];
  readonly files?: Record<string, string>;
}

/** Loads with a valid token, unless `env` says otherwise. Files that are not given do not exist. */
export const loadWith = ({ env = {}, argv = [], files = {} }: Input = {}): LoadedSettings =>
  loadSettings({
    argv,
    env: { HCLOUD_TOKEN: token, ...env },
    readFile: path => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error('no such\nfile'), { code: 'ENOENT' });
      return text;
    },
  });

/** The settings and the report; fails the spec where there are errors. */
export function accepted(input?: Input): { readonly settings: Settings; readonly report: SettingsReport } {
  const loaded = loadWith(input);
  if ('errors' in loaded) assert.fail(`refused: ${loaded.errors.join(' / ')}`);
  return loaded;
}

/** The errors; fails the spec where there are none. */
export function refused(input?: Input): readonly string[] {
  const loaded = loadWith(input);
  if (!('errors' in loaded)) assert.fail('accepted');
  assert.notEqual(loaded.errors.length, 0);
  return loaded.errors;
}

/** The warnings as "msg: setting: hint". */
export const warningsOf = (input?: Input): readonly string[] =>
  accepted(input).report.warnings.map(({ msg, fields }) => `${msg}: ${fields.setting}: ${fields.hint}`);
