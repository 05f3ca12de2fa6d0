import type { KubeClient } from './client.ts';
import { isFutureVersion, KubeError } from './errors.ts';
import { isNewerVersion } from './resource-version.ts';
import { resourceVersionOf } from './watch-event.ts';

/** One object as the server had it. */
export interface Witness {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string;
  readonly rv: string;
}

/** How far a view of a collection has come in the history of the server. */
export interface Position {
  readonly rv: string;
  /** The newest object seen, by which another history is told from this one; undefined when none is left. */
  readonly witness: Witness | undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** The raw object as a witness; undefined where it lacks identity. */
export const witnessOf = (raw: unknown): Witness | undefined => {
  const metadata = isRecord(raw) && isRecord(raw.metadata) ? raw.metadata : {};
  const [name, uid, rv] = [text(metadata.name), text(metadata.uid), resourceVersionOf(raw)];
  if (name === undefined || uid === undefined || rv === undefined) return undefined;
  return { name, namespace: text(metadata.namespace), uid, rv };
};

/** The newer of two witnesses. */
export const newerWitness = (a: Witness | undefined, b: Witness | undefined): Witness | undefined =>
  a === undefined || (b !== undefined && isNewerVersion(b.rv, a.rv)) ? b : a;

/**
 * Whether the server still has the history that `position` is a point of. It has not when etcd was lost or restored from a
 * backup: a watch from a version above the server's is accepted and stays silent for good, and one that the new history has
 * passed already tells nothing of what went before. So one object is asked for, no older than the position: the server refuses
 * versions from the future, and in another history the newest object is missing, another one, or older. (A server that is only
 * behind its peers waits for up to 3 s first.) Resolves with what is wrong, undefined when all is well; rejects when there was
 * no answer that says either.
 */
export const lostHistory = async (
  options: { readonly client: KubeClient; readonly path: string; readonly fieldSelector?: string },
  { rv, witness }: Position,
  signal: AbortSignal,
): Promise<KubeError | undefined> => {
  const { client, path, fieldSelector } = options;
  const lost = (why: string): KubeError =>
    new KubeError({ status: 0, reason: 'OtherHistory', message: `list of ${path}: ${why}` });
  if (witness === undefined) return lost('no object is known to recognise the history by');
  const selectors = [
    fieldSelector,
    `metadata.name=${witness.name}`,
    witness.namespace === undefined ? undefined : `metadata.namespace=${witness.namespace}`,
  ];
  try {
    const page = await client.request<unknown>({
      method: 'GET',
      path,
      query: {
        fieldSelector: [...new Set(selectors.filter(selector => selector !== undefined))].join(','),
        resourceVersion: rv,
        resourceVersionMatch: 'NotOlderThan',
        limit: 1,
      },
      signal,
    });
    const found = isRecord(page) && Array.isArray(page.items) ? witnessOf(page.items[0]) : undefined;
    if (found?.uid !== witness.uid) return lost(`${witness.name} is gone or another one`);
    return isNewerVersion(witness.rv, found.rv) ? lost(`${witness.name} is older than it was`) : undefined;
  } catch (err) {
    if (isFutureVersion(err)) return err;
    throw err;
  }
};
