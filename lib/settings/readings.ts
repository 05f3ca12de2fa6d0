import type { Arguments } from './arguments.ts';
import { quote, quoteInside } from './quote.ts';
import type { Setting } from './setting.ts';
import { rows, type SettingKey, type Values } from './table.ts';

/** Where settings come from besides the command line. */
export interface Origins {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Text of a file; throws where it cannot be read. */
  readonly readFile: (path: string) => string;
}

/** Where one setting was set. */
export interface Source {
  /** Name of the flag (with dashes) or variable. */
  readonly name: string;
  readonly kind: 'flag' | 'environment variable' | 'file';
  /** Only for files. */
  readonly path?: string;
}

/** A setting as it was written: its text, trimmed, and where. */
export interface Written {
  readonly text: string;
  readonly source: Source;
}

export interface Readings {
  readonly values: Values;
  /** Each setting that is set and valid. */
  readonly set: ReadonlyMap<SettingKey, Written>;
  /** What is wrong, by setting; one line each. */
  readonly errors: ReadonlyMap<SettingKey, string>;
}

/** "flag", "environment variable" or "file <path>". */
export const describeSource = ({ kind, path }: Source): string =>
  path === undefined ? kind : `${kind} ${quoteInside(path)}`;

/** The one-line message about a setting that is wrong; a secret is named, never shown. */
const refusal = (setting: Setting<unknown>, { text, source }: Written, allowed: string): { error: string } => ({
  error: `${source.name}${setting.secret ? '' : `=${quote(text)}`} is invalid: ${allowed} (set by ${describeSource(source)})`,
});

function readNamedFile(name: string, path: string, readFile: Origins['readFile']): Written | { error: string } {
  try {
    const text = readFile(path).trim();
    const source: Source = { name, kind: 'file', path };
    if (text !== '') return { text, source };
    return { error: `${name} is invalid: the file must not be empty (set by ${describeSource(source)})` };
  } catch (err) {
    // The code alone (ENOENT, EACCES): messages are long, and those of a mistaken path may hold anything.
    const code = err instanceof Error && 'code' in err ? quoteInside(String(err.code)) : 'unknown error';
    return {
      error: `${name}=${quote(path)} is invalid: must name a readable file, got ${code} (set by environment variable)`,
    };
  }
}

/** The text of a setting; undefined where it is not set. A flag wins over a variable, a variable over a file. */
function findText(
  { flag, variable, aliases = [], fileVariable }: Setting<unknown>,
  flags: Arguments['flags'],
  { env, readFile }: Origins,
): Written | { error: string } | undefined {
  const flagText = flag === undefined ? undefined : flags.get(flag);
  if (flagText !== undefined) return { text: flagText.trim(), source: { name: `--${flag}`, kind: 'flag' } };
  const texts = [variable, ...aliases].flatMap((name): Written[] => {
    const text = name === undefined ? undefined : env[name]?.trim();
    return name === undefined || text === undefined ? [] : [{ text, source: { name, kind: 'environment variable' } }];
  });
  const written = texts.find(({ text }) => text !== '') ?? texts[0];
  const path = fileVariable === undefined ? '' : (env[fileVariable]?.trim() ?? '');
  if (fileVariable === undefined || path === '') return written;
  if (written === undefined) return readNamedFile(fileVariable, path, readFile);
  // As in the peer the plain variable wins even when empty; here that mistake is named.
  if (written.text !== '') return written;
  return {
    error: `${written.source.name} is invalid: it is empty and hides ${fileVariable}, unset it (set by environment variable)`,
  };
}

/** Control characters (C0, C1), line and paragraph separators. */
const controlCharacter = /[\p{Cc}\p{Zl}\p{Zp}]/u;

function parseText(setting: Setting<unknown>, written: Written): { value: unknown } | { error: string } {
  if (written.text === '' && setting.type.empty === 'unset') return { value: undefined };
  if (controlCharacter.test(written.text)) {
    return refusal(setting, written, 'must not contain line breaks or other control characters');
  }
  const parsed = setting.type.parse(written.text);
  return 'allowed' in parsed ? refusal(setting, written, parsed.allowed) : parsed;
}

/** The default of a setting. Defaults are part of the program and always valid. */
export function defaultOf(setting: Setting<unknown>): unknown {
  const parsed = setting.fallback === undefined ? { value: undefined } : setting.type.parse(setting.fallback);
  return 'value' in parsed ? parsed.value : undefined;
}

/** Reads every setting of the table; collects what is wrong instead of stopping at the first mistake. */
export function readSettings(flags: Arguments['flags'], origins: Origins): Readings {
  const values: Partial<Record<SettingKey, unknown>> = {};
  const set = new Map<SettingKey, Written>();
  const errors = new Map<SettingKey, string>();
  for (const [key, setting] of rows) {
    values[key] = defaultOf(setting);
    const found = findText(setting, flags, origins);
    if (found === undefined) continue;
    const parsed = 'error' in found ? found : parseText(setting, found);
    if ('error' in parsed) errors.set(key, parsed.error);
    else if (parsed.value !== undefined && 'text' in found) {
      values[key] = parsed.value;
      set.set(key, found);
    }
  }
  // Every key of the table has been given the value its own type parsed.
  return { values: values as unknown as Values, set, errors };
}
