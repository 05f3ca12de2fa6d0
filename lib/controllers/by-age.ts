import type { KubeNode } from '../kubernetes/types.ts';

/** Order of nodes, the oldest first; of the same second by name, so that it is the same each time. */
export const byAge = (a: Aged, b: Aged): number =>
  a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : 1);

type Aged = Pick<KubeNode, 'name' | 'creationTimestamp'>;
