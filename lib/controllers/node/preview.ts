import type { KubeNode } from '../../kubernetes/types.ts';
import { type InstanceLists, locate, type Machine, machineID } from '../instances.ts';
import { joinPreviews, type PlannedChange, type PlannedNote, type Preview } from '../preview.ts';
import { addressesText } from './addresses.ts';
import { decideNode, type NodeDecision } from './decision.ts';
import type { NodeSettings } from './desired.ts';
import { type NodeChange, uninitializedTaint } from './plan.ts';

/** What the node controller would do to nodes, and the nodes as they would be then. */
export function previewNodes(
  nodes: readonly KubeNode[],
  lists: InstanceLists,
  settings: NodeSettings,
): Preview & { readonly after: readonly KubeNode[] } {
  const decisions = nodes
    .filter(({ deleting }) => !deleting)
    .map(node => ({ node, decision: decideNode(node, locate(node, lists), settings) }));
  const changes = new Map(
    decisions.map(({ node, decision }) => [node, decision.kind === 'apply' ? decision.plan.changes : []]),
  );
  return {
    ...joinPreviews(decisions.map(({ node, decision }) => preview(node, decision))),
    after: nodes.map(node => (changes.get(node) ?? []).reduce(withNodeChange, node)),
  };
}

/** The node after a change. */
function withNodeChange(node: KubeNode, change: NodeChange): KubeNode {
  if (change.kind === 'addresses') return { ...node, addresses: change.addresses };
  const labels = { ...node.labels, ...change.labels };
  if (change.kind === 'labels') return { ...node, labels };
  const taints = node.taints.filter(({ key }) => key !== uninitializedTaint);
  return { ...node, labels, taints, providerID: change.providerID ?? node.providerID };
}

function preview(node: KubeNode, decision: NodeDecision): Preview {
  const object = `Node ${node.name}`;
  const note = (text: string): PlannedNote => ({ object, text });
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
