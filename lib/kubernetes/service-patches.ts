import type { KubeClient } from './client.ts';
import { misfitAsConflict } from './patches.ts';
import { pruneService } from './prune-service.ts';
import type { IngressAddress, KubeService } from './types.ts';

/** Part of a Service as it should be; what is left out stays as it is. */
export interface ServicePatch {
  /** The whole list. */
  readonly finalizers?: readonly string[];
  /** The whole list. */
  readonly ingress?: readonly IngressAddress[];
}

/**
 * Changes finalizers and status through the status subresource, as Kubernetes' own service controller does: this is
 * why no right to change Services is needed. A list is replaced, on condition that it is still the Service it was
 * decided on; finalizers in addition that nobody changed the Service since, for others may add theirs.
 */
export async function patchServiceStatus(
  client: KubeClient,
  service: KubeService,
  { finalizers, ingress }: ServicePatch,
  signal: AbortSignal,
): Promise<KubeService> {
  const { name, namespace, uid, resourceVersion } = service;
  const request = client.request<unknown>({
    method: 'PATCH',
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${encodeURIComponent(name)}/status`,
    contentType: 'application/merge-patch+json',
    body: {
      metadata: { uid, ...(finalizers !== undefined && { finalizers, resourceVersion }) },
      ...(ingress !== undefined && { status: { loadBalancer: { ingress: ingress.length === 0 ? null : ingress } } }),
    },
    signal,
  });
  return pruneService(
    await request.catch(err => {
      throw misfitAsConflict(err);
    }),
  );
}
