import type { KubeClient } from './client.ts';
import { isInvalid, KubeError } from './errors.ts';
import { type JSONPatchOp, testUID } from './json-patch.ts';
import { pruneNode } from './prune.ts';
import type { KubeNode, NodeAddress } from './types.ts';

/** Part of a Node's status as it should be; what is left out stays as it is. */
export interface NodeStatusPatch {
  /** The whole list. */
  readonly addresses?: readonly NodeAddress[];
  /** Merged by `type`. */
  readonly conditions?: readonly Readonly<Record<string, unknown>>[];
}

type Target = Pick<KubeNode, 'name' | 'uid'>;

const nodePath = (node: Target): string => `/api/v1/nodes/${encodeURIComponent(node.name)}`;

/**
 * The API server (seen: 1.37) answers 422 when the outcome of a patch is not a valid object, but also when a JSON patch does not
 * fit (a `test` failed, a path is gone; it names no field then) and when a merge patch has another uid ("immutable").
 * The latter two mean that the object is not the one the decision was made on.
 */
export const misfitAsConflict = (err: unknown): unknown =>
  isInvalid(err) && (err.causes.length === 0 || isOtherObject(err))
    ? new KubeError({ status: 409, reason: 'Conflict', message: `${err.message} (the object has changed)` })
    : err;

/**
 * Sends a JSON patch for a Node on condition that it is still the one with this uid. No operations: no request, resolves with
 * undefined. Resolves with the Node as it is now; fails with a KubeError that isConflict when a test failed.
 */
export const patchNode = async (
  client: KubeClient,
  node: Target,
  ops: readonly JSONPatchOp[],
  signal: AbortSignal,
): Promise<KubeNode | undefined> => {
  if (ops.length === 0) return undefined;
  try {
    const answer = await client.request<unknown>({
      method: 'PATCH',
      path: nodePath(node),
      contentType: 'application/json-patch+json',
      body: [testUID(node), ...ops],
      signal,
    });
    return pruneNode(answer);
  } catch (err) {
    throw misfitAsConflict(err);
  }
};

/** True when a merge patch was for another object of the same name. */
export const isOtherObject = (err: unknown): boolean =>
  isInvalid(err) && err.causes.some(cause => cause.field === 'metadata.uid');

/** Sets annotations of the Node with this uid, whatever else it has. Resolves with it as it is then. */
export const annotateNode = async (
  client: KubeClient,
  node: Target,
  annotations: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<KubeNode> => {
  const answer = await client.request<unknown>({
    method: 'PATCH',
    path: nodePath(node),
    contentType: 'application/merge-patch+json',
    body: { metadata: { uid: node.uid, annotations } },
    signal,
  });
  return pruneNode(answer);
};

/**
 * The body of a status patch; undefined when there is nothing in it. Addresses would be merged by `type`, which mixes up two
 * addresses of one type, so the list is replaced. The API server refuses the patch when it has a Node of another uid.
 */
export const nodeStatusBody = (node: Target, patch: NodeStatusPatch): object | undefined => {
  const { addresses, conditions = [] } = patch;
  if (addresses === undefined && conditions.length === 0) return undefined;
  return {
    metadata: { uid: node.uid },
    status: {
      ...(addresses === undefined ? {} : { addresses: [...addresses, { $patch: 'replace' }] }),
      ...(conditions.length === 0 ? {} : { conditions }),
    },
  };
};

/** Sends a status patch for a Node, as `patchNode`. */
export const patchNodeStatus = async (
  client: KubeClient,
  node: Target,
  patch: NodeStatusPatch,
  signal: AbortSignal,
): Promise<KubeNode | undefined> => {
  const body = nodeStatusBody(node, patch);
  if (body === undefined) return undefined;
  try {
    const answer = await client.request<unknown>({
      method: 'PATCH',
      path: `${nodePath(node)}/status`,
      contentType: 'application/strategic-merge-patch+json',
      body,
      signal,
    });
    return pruneNode(answer);
  } catch (err) {
    throw misfitAsConflict(err);
  }
};

/**
 * Deletes a Node, on condition that it is still the one with this uid and has not changed since it was read: a node that
 * turned ready in between stays. Fails with a KubeError, of which isConflict says that it is another or has changed.
 */
export const deleteNode = async (
  client: KubeClient,
  node: Pick<KubeNode, 'name' | 'uid' | 'resourceVersion'>,
  signal: AbortSignal,
): Promise<void> => {
  const { uid, resourceVersion } = node;
  await client.request<unknown>({
    method: 'DELETE',
    path: nodePath(node),
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion } },
    signal,
  });
};
