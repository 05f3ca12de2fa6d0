import { quote } from './quote.ts';
import { describeSource, type Readings } from './readings.ts';
import { nameOf } from './setting.ts';
import { type SettingKey, table } from './table.ts';

/** `NAME="value" (set by flag)`, as a part of a message about several settings. */
export function mention({ set }: Readings, key: SettingKey): string {
  const setting = table[key];
  const written = set.get(key);
  if (written === undefined) return `${nameOf(setting)}="${setting.fallback ?? ''}" (default)`;
  const shown = 'secret' in setting && setting.secret ? '' : `=${quote(written.text)}`;
  return `${written.source.name}${shown} (set by ${describeSource(written.source)})`;
}
