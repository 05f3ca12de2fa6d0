import type { Observable } from 'rxjs';
import type { CallOptions } from '../../hetzner/types.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, isNotFound } from '../../kubernetes/errors.ts';
import type { EventRecorder } from '../../kubernetes/events.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../streams/clock.ts';
import { again, done, failed, type Outcome } from '../../streams/outcome.ts';
import type { Run } from '../../streams/workqueue.ts';
import { type ControllerHooks, controller, type Reconcile } from '../controller.ts';
import { type Instances, type Located, locate } from '../instances.ts';
import { isUninitialized } from '../node/plan.ts';
import { nodeTarget } from '../node-target.ts';
import { applyLifecycle } from './apply.ts';
import { desiredNode, knownMachine, lookAgainAfter, unknownMachine } from './desired.ts';
import { addObservation, type Evidence, type MachineState, newEvidence } from './evidence.ts';
import { isReady, type LifecycleChange, planNotReady, planReady } from './plan.ts';
import { lifecycleTriggers } from './triggers.ts';
import { isWitnessed } from './witness.ts';

export interface LifecycleControllerDeps {
  readonly nodes: Store<KubeNode>;
  readonly instances: Instances;
  readonly client: KubeClient;
  /** Least ms between two reads made for nodes that turn not ready one after the other (--node-monitor-period). */
  readonly monitorPeriod: number;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hooks: ControllerHooks;
  /** ms to wait after a failure; `attempt` counts from 0. */
  readonly backoff: (attempt: number) => number;
}

/** A node that is left alone is spoken of again after this, in ms. */
const remindAfter = 3_600_000;
/** A node that was never tied to a machine is left alone for this long after it was first seen, in ms. */
const unknownGrace = 600_000;
/** A deletion that has to wait for long is looked into every so often, in ms: the answers may become clearer. */
const confirmEvery = 60_000;
/** A node somebody else wrote at the same moment is tried again after this, in ms, a few times. */
const conflictRetry = 200;
const conflictRetries = 5;

/** Taints nodes whose machine is switched off, and deletes those whose machine no longer exists. */
export function lifecycleController(deps: LifecycleControllerDeps): Observable<Run> {
  const { nodes, instances, client, events, clock } = deps;
  const book = new Map<string, Evidence>();

  async function reconcile(run: Reconcile): Promise<Outcome> {
    const node = nodes.get(run.key);
    if (node === undefined || node.deleting) {
      book.delete(run.key);
      return done;
    }
    if (isReady(node)) {
      book.delete(run.key);
      return apply(node, planReady(node), done, run);
    }
    const grace = graceOf(node);
    if (grace > 0) return Number.isFinite(grace) ? again(grace) : done;
    return reconcileNotReady(node, run);
  }

  /** ms until the node may be judged; Infinity for one without provider ID that lives without us. */
  const graceOf = (node: KubeNode): number => {
    if (node.providerID !== '') return 0;
    if (!isUninitialized(node)) return Number.POSITIVE_INFINITY;
    const observedAt = nodes.observedAt(node.name) ?? clock.monotonic();
    return Math.max(0, observedAt + unknownGrace - clock.monotonic());
  };

  async function reconcileNotReady(node: KubeNode, run: Reconcile): Promise<Outcome> {
    const before = evidenceOf(node);
    const early = (before.confirmAt ?? 0) - clock.monotonic();
    if (early > 0) return again(Math.ceil(early));
    const needed = neededBy(before);
    const pause = pauseBefore(needed);
    if (pause > 0) return again(pause);

    const o: CallOptions = { priority: 'initialise', signal: run.signal };
    const lists = await instances.read(node, needed, o);
    const located = locate(node, lists);
    if (located.kind === 'foreign' || located.kind === 'ambiguous') return leaveAlone(node, located.problem, run);
    const state = await stateOf(located, o);
    const witnessed = isWitnessed(node, nodes.list(), lists);
    const observed = { state, requestedAt: located.requestedAt, witnessed };
    const desired = desiredNode(before, observed, node.providerID === '' ? unknownMachine : knownMachine);
    const now = clock.monotonic();
    const confirmAt = desired.kind === 'confirm' ? Math.min(desired.notBefore, now + confirmEvery) : undefined;
    const evidence = addObservation(before, observed, now, confirmAt);
    book.set(node.name, evidence);

    if (confirmAt !== undefined) {
      if (located.kind === 'missing') warnBeforeDeletion(node, located, witnessed);
      return again(Math.max(1, Math.ceil(confirmAt - now)));
    }
    const later = desired.kind === 'gone' ? done : again(lookAgainAfter(evidence, now));
    return apply(node, planNotReady(node, desired), later, run);
  }

  const evidenceOf = (node: KubeNode): Evidence => {
    const known = book.get(node.name);
    if (known?.uid === node.uid) return known;
    const fresh = newEvidence(node.uid, clock.monotonic());
    book.set(node.name, fresh);
    return fresh;
  };

  /** Instant of the oldest answer that may be used. The first look and the one before a deletion are strict. */
  const neededBy = (evidence: Evidence): number => {
    const now = clock.monotonic();
    if (evidence.state === undefined) return evidence.notReadyAt;
    if (evidence.confirmAt !== undefined) return evidence.confirmAt;
    return Math.max(evidence.notReadyAt, now - lookAgainAfter(evidence, now) / 2);
  };

  /** Nodes that turn not ready one after the other wait for a common read. */
  const pauseBefore = (needed: number): number => {
    const newest = instances.latest().cloud?.requestedAt ?? Number.NEGATIVE_INFINITY;
    return newest >= needed ? 0 : Math.max(0, Math.ceil(newest + deps.monitorPeriod - clock.monotonic()));
  };

  const stateOf = async (located: Located, o: CallOptions): Promise<MachineState> => {
    if (located.kind !== 'found') return 'missing';
    return (await instances.isOff(located.machine, o)) ? 'off' : 'running';
  };

  /** A deletion that rests on little is announced, so that somebody can step in. */
  function warnBeforeDeletion(
    node: KubeNode,
    { problem, renamed }: Located & { kind: 'missing' },
    witnessed: boolean,
  ): void {
    if (witnessed && !renamed && node.providerID !== '') return;
    const doubt = witnessed ? '' : ' (no other server of this cluster is in the answer either: check the token)';
    const message = `The node will be deleted if this stays so: ${problem}${doubt}`;
    events.event(nodeTarget(node), 'Warning', 'PossibleNodeDeletion', message);
  }

  function leaveAlone(node: KubeNode, problem: string, { log }: Reconcile): Outcome {
    events.event(
      nodeTarget(node),
      'Warning',
      'UnknownProviderIDPrefix',
      `Left node alone while it is not ready: ${problem}`,
    );
    log.warn('Left node alone', { node: node.name, providerID: node.providerID, err: problem });
    return again(remindAfter);
  }

  async function apply(
    node: KubeNode,
    change: LifecycleChange | undefined,
    later: Outcome,
    run: Reconcile,
  ): Promise<Outcome> {
    if (change === undefined) return later;
    const about = { node: node.name, providerID: node.providerID };
    try {
      if (change.kind === 'delete') {
        events.event(
          nodeTarget(node),
          'Normal',
          'DeletingNode',
          'Deleting the node, as its server does not exist at Hetzner',
        );
      }
      await applyLifecycle(client, node, change, run.signal);
    } catch (err) {
      if (isNotFound(err)) return done;
      if (isConflict(err)) return failed(err, run.attempt < conflictRetries ? conflictRetry : undefined);
      if (change.kind === 'delete') {
        const text = err instanceof Error ? err.message : String(err);
        events.event(nodeTarget(node), 'Warning', 'DeletingNodeFailed', `Could not delete the node: ${text}`);
      }
      return failed(err);
    }
    run.log.info(messages[change.kind], about);
    return later;
  }

  return controller({
    name: 'lifecycle',
    triggers$: lifecycleTriggers({ nodes, lists$: instances.changes$ }),
    reconcile,
    concurrency: 10,
    backoff: deps.backoff,
    logger: deps.logger,
    hooks: deps.hooks,
  });
}

const messages = {
  taint: 'Tainted node as shut down',
  untaint: 'Removed shutdown taint',
  delete: 'Deleted node',
} as const;
