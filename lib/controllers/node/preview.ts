import type { KubeNode } from '../../kubernetes/types.ts';
import { type InstanceLists, locate, type Machine, machineID } from '../instances.ts';
import { joinPreviews, type PlannedChange, type PlannedNote, type Preview } from '../preview.ts';
import { addressesText } from './addresses.ts';
import { decideNode } from './decision.ts';
import type { NodeSettings } from './desired.ts';
import type { NodeChange } from './plan.ts';

/** What the node controller would do to nodes. */
export const previewNodes = (nodes: readonly KubeNode[], lists: InstanceLists, settings: NodeSettings): Preview =>
  joinPreviews(nodes.filter(({ deleting }) => !deleting).map(node => previewNode(node, lists, settings)));

function previewNode(node: KubeNode, lists: InstanceLists, settings: NodeSettings): Preview {
  const object = `Node ${node.name}`;
  const note = (text: string): PlannedNote => ({ object, text });
  const decision = decideNode(node, locate(node, lists), settings);
  if (decision.kind === 'wait') return { changes: [], notes: [note(`stays as it is: ${decision.problem}`)] };
  if (decision.kind === 'leave') return { changes: [], notes: [note(`is left alone: ${decision.problem}`)] };
  const { machine, plan, misconfigured } = decision;
  return {
    changes: plan.changes.map(change => describe(object, node, machine, change)),
    notes: [
      ...misconfigured.map(({ address, problem }) => note(`InternalIP ${address} is not kept: ${problem}`)),
      ...plan.keptLabels.map(key => note(`label ${key} is kept as it was set before`)),
    ],
  };
}

function describe(object: string, node: KubeNode, machine: Machine | undefined, change: NodeChange): PlannedChange {
  const at = 'Kubernetes';
  const server = machine && `${machine.kind === 'robot' ? 'Robot server' : 'server'} ${machineID(machine)}`;
  switch (change.kind) {
    case 'addresses':
      return {
        at,
        object,
        action: 'replace addresses',
        details: { from: addressesText(node.addresses), to: addressesText(change.addresses) },
        why: `${server} has other addresses than the node, or in another order`,
      };
    case 'initialise':
      return {
        at,
        object,
        action: 'initialise',
        details: { ...(change.providerID !== undefined && { providerID: change.providerID }), labels: change.labels },
        why: `it waits for its initialisation, and ${server} ${node.providerID === '' ? 'has its name' : 'has its provider ID'}`,
      };
    case 'labels':
      return {
        at,
        object,
        action: 'set labels',
        details: { labels: change.labels },
        why: 'stable labels have to be as their beta spelling',
      };
  }
}
