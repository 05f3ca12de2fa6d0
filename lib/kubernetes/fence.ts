import type { KubeClient } from './client.ts';

/** The same client, but nothing is written once `isValid` says no; see the fence of the Hetzner side. */
export function fencedClient(client: KubeClient, isValid: () => boolean): KubeClient {
  return {
    ...client,
    request: async request => {
      if (request.method !== 'GET' && !isValid()) {
        throw new Error('The lease is no longer ours: the change was not sent');
      }
      return client.request(request);
    },
  };
}
