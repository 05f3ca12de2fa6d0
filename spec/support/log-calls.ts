import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { argumentsAt, declarationOf, keysOf, textsIn } from './source-text.ts';

/** One way in which a line of the log is written. */
export interface LogCall {
  readonly file: string;
  readonly line: number;
  readonly levels: readonly string[];
  readonly messages: readonly string[];
  /** Keys that are named where it is written, in order. */
  readonly keys: readonly string[];
  /** Values that are the same in each such line. */
  readonly values: Readonly<Record<string, string>>;
  /** Whether it belongs to a run of a controller, which adds keys of its own. */
  readonly controller: string | undefined;
}

const root = join(import.meta.dirname, '..', '..', 'lib');
const levels = ['error', 'warn', 'info', 'debug'];
const call = /((?:[\w.]*\b)?log(?:ger)?)(?:\.(error|warn|info|debug)|\[([^\n]*?)\])\(/g;
/** Messages end up in calls of a variable from here, too. */
const messageFields = /\bmsg: '((?:[^'\\]|\\.)*)'(?:,\s*fields: (\{(?:[^{}]|\$\{[^}]*\})*\}))?/g;

/** All calls of the logger in lib; what cannot be read has no messages. */
export function logCalls(): readonly LogCall[] {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !name.startsWith('simulator'))
    .sort();
  const sources = new Map(files.map(file => [file, readFileSync(join(root, file), 'utf8')]));
  return files.flatMap(file => callsIn(file, sources));
}

function callsIn(file: string, sources: ReadonlyMap<string, string>): LogCall[] {
  const source = sources.get(file) ?? '';
  const imported = new Set(
    [...source.matchAll(/^import (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) => names.match(/\w+/g) ?? []),
  );
  const resolve = (name: string): string | undefined => {
    const here = declarationOf(name, source);
    if (here !== undefined || !imported.has(name)) return here;
    return [...sources.values()].map(other => declarationOf(name, other)).find(found => found !== undefined);
  };
  const lineAt = (index: number): number => source.slice(0, index).split('\n').length;
  const calls = [...source.matchAll(call)].map((match): LogCall => {
    const [whole, logger = '', level, choice = ''] = match;
    const context = contextOf(logger, resolve);
    const [message = '', fields = ''] = argumentsAt(source, match.index + whole.length - 1);
    return {
      file,
      line: lineAt(match.index),
      levels:
        level === undefined
          ? textsIn((/^\w+$/.test(choice) ? resolve(choice) : undefined) ?? choice).filter(one => levels.includes(one))
          : [level],
      messages: messagesIn(message, resolve),
      keys: [...new Set([...keysOf(context, resolve), ...keysOf(fields, resolve)])],
      values: { ...literalsOf(context), ...literalsOf(fields) },
      controller: controllerOf(file, logger),
    };
  });
  const fields = [...source.matchAll(messageFields)].map((match): LogCall => {
    const [, message = '', written = ''] = match;
    const keys = keysOf(written, resolve);
    return {
      file,
      line: lineAt(match.index),
      levels: ['warn'],
      messages: [message],
      keys,
      values: literalsOf(written),
      controller: undefined,
    };
  });
  return [...calls, ...fields];
}

/** A text, both of a choice, or all of a table. */
function messagesIn(expression: string, resolve: (name: string) => string | undefined): string[] {
  const isMessage = (one: string): boolean => /^[A-Z]\w*ed$|^[A-Z]\S* /.test(one);
  const direct = textsIn(expression).filter(isMessage);
  const names = expression.replaceAll(/'(?:[^'\\]|\\.)*'/g, '').match(/(?<![.\w])[a-z]\w*/gi) ?? [];
  const named = names.flatMap(name => textsIn(resolve(name) ?? '').filter(isMessage));
  return [...new Set([...direct, ...named])];
}

/** The fields of a logger that was made from another one. */
const contextOf = (logger: string, resolve: (name: string) => string | undefined): string =>
  /\.child\((.*)\)$/s.exec(resolve(logger) ?? '')?.[1] ?? '';

/** Fields whose value is a text that stands there. */
const literalsOf = (fields: string): Record<string, string> =>
  Object.fromEntries(
    [...fields.matchAll(/\b(\w+): '((?:[^'\\]|\\.)*)'(?=\s*[,}])/g)].map(([, key = '', value = '']) => [key, value]),
  );

/** Runs log by the logger they are given; what lies beside them has the controller in its fields or none. */
function controllerOf(file: string, logger: string): string | undefined {
  const [, folder] = /^controllers\/([\w-]+)\//.exec(file) ?? [];
  if (folder === undefined || !/(^|\.)log$/.test(logger)) return undefined;
  return folder === 'load-balancer' ? 'loadBalancer' : folder;
}
