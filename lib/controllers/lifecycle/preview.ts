import type { KubeNode } from '../../kubernetes/types.ts';
import { type InstanceLists, isOurs, locate } from '../instances.ts';
import { joinPreviews, type Preview } from '../preview.ts';
import { createWitness, type Witness } from '../witness.ts';
import { desiredNode, graceOf, knownMachine, unknownMachine } from './desired.ts';
import { newEvidence } from './evidence.ts';
import { isReady, planNotReady, planReady } from './plan.ts';

export interface LifecycleInput {
  readonly nodes: readonly KubeNode[];
  /** Requested after the nodes were read. */
  readonly lists: InstanceLists;
  readonly robotEnabled: boolean;
  /** Names of nodes whose machine is switched off. */
  readonly off: ReadonlySet<string>;
}

const nothing: Preview = { changes: [], notes: [] };

/**
 * What the lifecycle controller would do to nodes, as far as one read can tell: a machine that is missing is looked for
 * again before its node is deleted, which takes time that a preview does not have.
 */
export function previewLives(input: LifecycleInput): Preview {
  const witness = createWitness(
    () => input.nodes,
    () => Number.NEGATIVE_INFINITY,
  );
  return joinPreviews(input.nodes.filter(({ deleting }) => !deleting).map(node => previewLife(node, input, witness)));
}

function previewLife(node: KubeNode, { lists, robotEnabled, off }: LifecycleInput, witness: Witness): Preview {
  const object = `Node ${node.name}`;
  const change = (action: string, why: string): Preview => ({
    changes: [{ at: 'Kubernetes', object, action, details: {}, why }],
    notes: [],
  });
  const note = (text: string): Preview => ({ changes: [], notes: [{ object, text }] });
  if (isReady(node)) {
    return planReady(node) === undefined ? nothing : change('remove shutdown taint', 'it is ready');
  }
  if (!isOurs(node, robotEnabled) || graceOf(node, 0) > 0) return nothing;
  const located = locate(node, lists);
  if (!('requestedAt' in located)) return note(`is left alone while it is not ready: ${located.problem}`);
  const { requestedAt } = located;
  const state = located.kind === 'missing' ? 'missing' : off.has(node.name) ? 'off' : 'running';
  const trust = witness.trust(node, lists);
  const evidence = newEvidence(node.uid, requestedAt);
  const confirmAfter = node.providerID === '' ? unknownMachine : knownMachine;
  const desired = desiredNode(evidence, { state, requestedAt, trust }, confirmAfter);
  if (located.kind === 'missing' && desired.kind === 'confirm') {
    if (trust === 'none')
      return note(`is kept: ${located.problem}, but no other server of this cluster is known either`);
    return change(
      'delete after confirmation',
      `it is not ready, and ${located.problem}; would be looked at again, and deleted if that stays so`,
    );
  }
  return planNotReady(node, desired) === undefined
    ? nothing
    : change('taint as shut down', 'it is not ready, and its server is switched off');
}
