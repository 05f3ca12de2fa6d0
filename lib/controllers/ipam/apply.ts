import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import { removeAnnotation, setPodCIDR } from '../../kubernetes/json-patch.ts';
import { annotateNode, patchNode } from '../../kubernetes/patches.ts';
import { isNewerVersion } from '../../kubernetes/resource-version.ts';
import type { KubeNode } from '../../kubernetes/types.ts';

/**
 * Annotation of a Node by which its version moves on, so that no write that was decided on an older one can land any more;
 * its value is that older version. Gone again when the Node gets its pod CIDR.
 */
export const fenceAnnotation = 'instance.hetzner.cloud/pod-cidr-fence';

/** The Node as far as a fence needs it. */
export type FenceTarget = Pick<KubeNode, 'name' | 'uid' | 'resourceVersion'>;

/** Gives the Node its pod CIDR, on condition that it is unchanged since it was read. Resolves with it as it is then. */
export const applyPodCIDR = (
  client: KubeClient,
  node: KubeNode,
  podCIDR: string,
  signal: AbortSignal,
): Promise<KubeNode | undefined> =>
  patchNode(client, node, [...setPodCIDR(node, podCIDR), ...removeAnnotation(node, fenceAnnotation)], signal);

/** Moves the version of the Node on. Resolves with it as it is then: what it has no pod CIDR now it gets from nobody else. */
export async function applyFence(client: KubeClient, node: FenceTarget, signal: AbortSignal): Promise<KubeNode> {
  const fenced = await annotateNode(client, node, { [fenceAnnotation]: node.resourceVersion }, signal);
  if (isNewerVersion(fenced.resourceVersion, node.resourceVersion)) return fenced;
  throw new Error(
    `The version of node ${node.name} is ${fenced.resourceVersion}, not newer than ${node.resourceVersion}`,
  );
}

/** True where a write was surely not made: the API server answered that it refuses it (408 is what a proxy says). */
export const isRefusal = (err: unknown): boolean =>
  err instanceof KubeError && err.status >= 400 && err.status < 500 && err.status !== 408;
