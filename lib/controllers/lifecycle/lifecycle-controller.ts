import { defer, ignoreElements, merge, type Observable, tap } from 'rxjs';
import { parseProviderID } from '../../hetzner/provider-id.ts';
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
import { failedWrite } from '../failed-write.ts';
import { type InstanceLists, type Instances, isOurs, type Located, locate } from '../instances.ts';
import { isUninitialized } from '../node/plan.ts';
import { remindAfter } from '../reminders.ts';
import type { Witness } from '../witness.ts';
import { applyLifecycle } from './apply.ts';
import { desiredNode, graceOf, knownMachine, lookAgainAfter, unknownMachine } from './desired.ts';
import { addObservation, type Evidence, foundAgain, newEvidence, type Observation } from './evidence.ts';
import { isReady, type LifecycleChange, planNotReady, planReady } from './plan.ts';
import { createReports } from './reports.ts';
import { lifecycleTriggers } from './triggers.ts';

export interface LifecycleControllerDeps {
  readonly nodes: Store<KubeNode>;
  readonly instances: Instances;
  readonly witness: Witness;
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

/** A deletion that has to wait for long is looked into every so often, in ms: the answers may become clearer. */
const confirmEvery = 60_000;
/** Taints nodes whose machine is switched off, and deletes those whose machine no longer exists. */
export function lifecycleController(deps: LifecycleControllerDeps): Observable<Run> {
  const { nodes, instances, witness, client, clock } = deps;
  /** Of nodes that are not ready. */
  const book = new Map<string, Evidence>();
  const reports = createReports(deps.events, clock);

  async function reconcile(run: Reconcile): Promise<Outcome> {
    const node = nodes.get(run.key);
    if (node === undefined || node.deleting) return done;
    if (isReady(node)) return apply(node, planReady(node), done, run);
    if (!isOurs(node, instances.robotEnabled)) {
      const located = locate(node, instances.latest());
      // Of one that waits for its initialisation the node controller speaks.
      if (located.kind === 'foreign' && !isUninitialized(node)) {
        reports.leftAlone(node, 'UnknownProviderIDPrefix', located.problem, run);
      }
      return again(remindAfter);
    }
    const grace = graceOf(node, clock.monotonic() - (nodes.observedAt(node.name) ?? clock.monotonic()));
    if (grace > 0) return Number.isFinite(grace) ? again(grace) : done;
    return reconcileNotReady(node, run);
  }

  async function reconcileNotReady(node: KubeNode, run: Reconcile): Promise<Outcome> {
    const early = (evidenceOf(node).confirmAt ?? 0) - clock.monotonic();
    if (early > 0) return again(Math.ceil(early));
    const needed = neededBy(evidenceOf(node));
    const pause = pauseBefore(needed);
    if (pause > 0) return again(pause);

    const o: CallOptions = { priority: 'initialise', signal: run.signal };
    const lists = await instances.read(node, needed, o);
    const located = locate(node, lists);
    if (!('requestedAt' in located)) {
      reports.leftAlone(node, 'InstanceLookupFailed', located.problem, run);
      return again(remindAfter);
    }
    const observed = await observe(node, located, lists, o);
    if (hasMovedOn(node)) return done;

    const before = evidenceOf(node);
    const desired = desiredNode(before, observed, node.providerID === '' ? unknownMachine : knownMachine);
    const now = clock.monotonic();
    const confirmAt = desired.kind === 'confirm' ? nextConfirm(desired.notBefore, observed, now) : undefined;
    const evidence = addObservation(before, observed, now, confirmAt);
    book.set(node.name, evidence);
    if (located.kind === 'missing') announce(node, located, observed, run);
    if (confirmAt !== undefined) return again(Math.max(1, Math.ceil(confirmAt - now)));
    if (desired.kind === 'verify') return verify(node, located, run, o);
    const later = desired.kind === 'gone' ? done : again(lookAgainAfter(evidence, now));
    return apply(node, planNotReady(node, desired), later, run);
  }

  const observe = async (
    node: KubeNode,
    located: Located & { readonly requestedAt: number },
    lists: InstanceLists,
    o: CallOptions,
  ): Promise<Observation> => {
    const trust = witness.trust(node, lists);
    if (located.kind !== 'found') return { state: 'missing', requestedAt: located.requestedAt, trust };
    const { isOff, requestedAt } = await instances.power(located.machine, located.requestedAt, o);
    return { state: isOff ? 'off' : 'running', requestedAt, trust };
  };

  /** True when the node is no more what the answer was asked for; a trigger of its own is on the way then. */
  const hasMovedOn = ({ name, uid, providerID }: KubeNode): boolean => {
    const node = nodes.get(name);
    return node?.uid !== uid || node.providerID !== providerID || node.deleting || isReady(node);
  };

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

  /** What takes long is looked into in between, unless it cannot be believed anyway. */
  const nextConfirm = (notBefore: number, { trust }: Observation, now: number): number =>
    trust === 'none' ? notBefore : Math.min(notBefore, now + confirmEvery);

  /** Deletions in the ordinary way need no warning. */
  const announce = (
    node: KubeNode,
    { problem, renamed }: Located & { readonly kind: 'missing' },
    { trust }: Observation,
    run: Reconcile,
  ): void => {
    if (trust !== 'witnessed' || renamed || node.providerID === '') reports.doubtful(node, problem, trust, run);
  };

  /** Asks for the machine itself, where lists without any machine of the cluster lack it. */
  async function verify(node: KubeNode, located: Located, run: Reconcile, o: CallOptions): Promise<Outcome> {
    const id = parseProviderID(node.providerID);
    if ((id.kind !== 'cloud' && id.kind !== 'robot') || located.kind !== 'missing') return done;
    const requestedAt = clock.monotonic();
    const exists = await instances.exists(id, o);
    if (hasMovedOn(node)) return done;
    if (!exists && requestedAt >= instances.credentialsSince(id.kind))
      return apply(node, { kind: 'delete' }, done, run);
    reports.contradicted(node, located.problem, run);
    book.set(node.name, { ...foundAgain(evidenceOf(node)), confirmAt: clock.monotonic() + confirmEvery });
    return again(confirmEvery);
  }

  async function apply(
    node: KubeNode,
    change: LifecycleChange | undefined,
    later: Outcome,
    run: Reconcile,
  ): Promise<Outcome> {
    if (change === undefined) return later;
    try {
      if (change.kind === 'delete') reports.deleting(node);
      await applyLifecycle(client, node, change, run.signal);
    } catch (err) {
      if (isNotFound(err)) {
        run.log.debug('Found node gone while changing it', { node: node.name, err });
        return done;
      }
      if (isConflict(err)) return failedWrite(err, run.attempt);
      if (change.kind === 'delete') reports.deletingFailed(node, err);
      return failed(err);
    }
    reports.changed(node, change, run);
    return later;
  }

  /** Subscribed to before the triggers, so that a run finds what it was triggered by. */
  const nodes$ = defer(() => nodes.watch()).pipe(
    tap(({ type, object, previous }) => {
      if (object.providerID !== previous?.providerID) witness.observe(instances.latest());
      if (type !== 'deleted' && !isReady(object)) return;
      book.delete(object.name);
      if (type === 'deleted') reports.forget(object.name);
    }),
    ignoreElements(),
  );
  const lists$ = instances.changes$.pipe(
    tap(lists => {
      witness.observe(lists);
      for (const [name, evidence] of book) {
        const node = evidence.missing && nodes.get(name);
        if (node !== undefined && locate(node, lists).kind === 'found') book.set(name, foundAgain(evidence));
      }
    }),
    ignoreElements(),
  );

  return controller({
    name: 'lifecycle',
    triggers$: merge(nodes$, lists$, lifecycleTriggers({ nodes, lists$: instances.changes$ })),
    reconcile,
    concurrency: 10,
    backoff: deps.backoff,
    logger: deps.logger,
    hooks: deps.hooks,
  });
}
