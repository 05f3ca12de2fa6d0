import type { EventTarget } from '../kubernetes/events.ts';
import type { KubeNode } from '../kubernetes/types.ts';

/** The object reference of events on a node. */
export const nodeTarget = (node: Pick<KubeNode, 'name' | 'uid'>): EventTarget => ({
  kind: 'Node',
  apiVersion: 'v1',
  name: node.name,
  namespace: '',
  uid: node.uid,
});
