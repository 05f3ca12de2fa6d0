import { errorFromStatus, type KubeError } from './errors.ts';

/** One line of a watch, checked. `bad` is an event this code does not understand: the view can no longer be trusted. */
export type WatchEvent =
  | { readonly type: 'apply'; readonly rv: string; readonly object: object }
  | { readonly type: 'delete'; readonly rv: string; readonly object: object }
  | { readonly type: 'bookmark'; readonly rv: string }
  | { readonly type: 'error'; readonly err: KubeError }
  | { readonly type: 'bad'; readonly what: string };

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** metadata.resourceVersion of an object or a list; undefined when it has none. */
export const resourceVersionOf = (object: unknown): string | undefined => {
  const metadata = isRecord(object) ? object.metadata : undefined;
  const rv = isRecord(metadata) ? metadata.resourceVersion : undefined;
  return typeof rv === 'string' && rv !== '' ? rv : undefined;
};

/** Reads one parsed line of the watch `what` (for messages). */
export const readWatchEvent = (what: string, line: unknown): WatchEvent => {
  if (!isRecord(line) || typeof line.type !== 'string') return { type: 'bad', what: `${what}: line without a type` };
  const { type, object } = line;
  if (type === 'ERROR') return { type: 'error', err: errorFromStatus(what, 0, object) };
  const rv = resourceVersionOf(object);
  if (!isRecord(object) || rv === undefined) return { type: 'bad', what: `${what}: ${type} event without metadata` };
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { type: 'apply', rv, object };
    case 'DELETED':
      return { type: 'delete', rv, object };
    case 'BOOKMARK':
      return { type: 'bookmark', rv };
    default:
      return { type: 'bad', what: `${what}: event of unknown type ${JSON.stringify(type.slice(0, 40))}` };
  }
};
