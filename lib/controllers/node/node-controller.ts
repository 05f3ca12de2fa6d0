import {
  catchError,
  defer,
  exhaustMap,
  ignoreElements,
  map,
  merge,
  type Observable,
  of,
  switchMap,
  tap,
  timer,
} from 'rxjs';
import type { Priority } from '../../hetzner/types.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import type { EventReason } from '../../kubernetes/event-reasons.ts';
import type { EventRecorder } from '../../kubernetes/events.ts';
import { createOwnWrites } from '../../kubernetes/own-writes.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../streams/clock.ts';
import { fromAbortable } from '../../streams/from-abortable.ts';
import { again, done, type Outcome } from '../../streams/outcome.ts';
import type { Run } from '../../streams/workqueue.ts';
import { type ControllerHooks, controller, type Reconcile } from '../controller.ts';
import { failedWrite } from '../failed-write.ts';
import { type Instances, type Located, locate, type Machine, machineID } from '../instances.ts';
import { nodeTarget } from '../node-target.ts';
import { remindAfter } from '../reminders.ts';
import type { Witness } from '../witness.ts';
import { addressesText } from './addresses.ts';
import { applyNode } from './apply.ts';
import { decideNode } from './decision.ts';
import { desiredNode, type NodeSettings } from './desired.ts';
import { isUninitialized, type NodeChange, type NodePlan } from './plan.ts';
import { createPredecessors } from './predecessors.ts';
import { createReplaced } from './replaced.ts';
import { nodeTriggers } from './triggers.ts';
import { createUnresolved } from './unresolved.ts';

export interface NodeControllerDeps {
  readonly nodes: Store<KubeNode>;
  readonly instances: Instances;
  readonly witness: Pick<Witness, 'trust' | 'tied'>;
  readonly client: KubeClient;
  readonly settings: NodeSettings;
  /** How much older than the Node a list may be that ties its name to a server, in ms. */
  readonly maxAge: number;
  /** ms between two lists made to refresh the addresses of all nodes. */
  readonly refreshEvery: number;
  /** Most nodes that are worked on at a time. */
  readonly concurrency: number;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hooks: ControllerHooks & { readonly onInitialised: (node: KubeNode) => void };
  /** ms to wait after a failure; `attempt` counts from 0. */
  readonly backoff: (attempt: number) => number;
}

/** A node is tied to a server by its name only by a list younger than this, in ms. */
const nameAge = 60_000;
/** A list younger than this serves those who look for news, in ms. */
const justNow = 5_000;
/** Least ms between two lists made for nodes that a list from before does not know. */
const lookEvery = 10_000;
/** Initialises nodes that join and keeps addresses and label pairs of all others in step. */
export function nodeController(deps: NodeControllerDeps): Observable<Run> {
  const { nodes, instances, client, settings, events, clock, logger } = deps;
  const predecessors = createPredecessors(clock);
  const lookForReplaced = createReplaced(deps);
  const ownWrites = createOwnWrites<KubeNode>(nodes);
  let lookedAt = Number.NEGATIVE_INFINITY;
  const isWaiting = (name: string): boolean => {
    const node = nodes.get(name);
    return node !== undefined && isUninitialized(node) && !node.deleting;
  };
  const unresolved = createUnresolved(() => list('initialise'), isWaiting, clock);

  /** Asks for a list unless one was made for another reason just now. What it says arrives through `instances.changes$`. */
  function list(priority: Priority): Observable<unknown> {
    const read = (signal: AbortSignal) => instances.readAll(clock.monotonic() - justNow, { priority, signal });
    return fromAbortable(read).pipe(
      catchError(err => {
        logger.warn('Failed to look for changes of servers, will try again', { controller: 'node', err });
        return of(undefined);
      }),
    );
  }

  async function reconcile(run: Reconcile): Promise<Outcome> {
    const stored = nodes.get(run.key);
    if (stored === undefined || stored.deleting) return done;
    const node = ownWrites.latest(stored);
    const located = await find(node, run.signal);
    if (located === undefined) {
      unresolved.add(node.name);
      return again(lookEvery + justNow);
    }
    const decision = decideNode(node, located, settings);
    if (decision.kind === 'wait') return wait(node, decision.reason, decision.problem, run);
    if (decision.kind === 'leave') return leaveAlone(node, decision.problem, run);
    for (const { address, problem } of decision.misconfigured) {
      const message = `InternalIP ${address} is not kept: ${problem}`;
      events.event(nodeTarget(node), 'Warning', 'MisconfiguredInternalIP', message);
    }
    if (node.providerID === '') deps.witness.tied(node, instances.latest());
    return apply(node, decision.machine, decision.plan, run);
  }

  /**
   * Bad news from a list that is older than the node is no news: the server, or its attachment, may be newer. However
   * many nodes join that nobody knows, one list in a while is made for that; undefined for those who have to wait.
   */
  async function find(node: KubeNode, signal: AbortSignal): Promise<Located | undefined> {
    const o = { priority: 'initialise', signal } as const;
    const located = locate(node, await instances.read(node, neededBy(node), o));
    const observedAt = nodes.observedAt(node.name) ?? 0;
    if (!isUninitialized(node) || !('requestedAt' in located) || located.requestedAt >= observedAt) return located;
    const isGood = located.kind === 'found' && 'node' in desiredNode(node, located.machine, settings);
    if (isGood) return located;
    if (observedAt > lookedAt) {
      const now = clock.monotonic();
      if (now - lookedAt < lookEvery) return undefined;
      lookedAt = now;
    }
    return locate(node, await instances.read(node, observedAt, o));
  }

  /**
   * Instant of the oldest list that may be used. Joining nodes share lists: a server is there well before its kubelet.
   * Only where the name was another Node's before, the list must be newer than the Node (the server may be new, too).
   * Where a node had to wait for long (for Robot, for the API server), its name may have gone on to another server.
   */
  const neededBy = (node: KubeNode): number => {
    if (!isUninitialized(node) && node.providerID !== '') return 0;
    const observedAt = nodes.observedAt(node.name) ?? clock.monotonic();
    const since = predecessors.has(node) ? observedAt : observedAt - deps.maxAge;
    return node.providerID === '' ? Math.max(since, clock.monotonic() - nameAge) : since;
  };

  async function apply(node: KubeNode, machine: Machine | undefined, plan: NodePlan, run: Reconcile): Promise<Outcome> {
    const startedAt = nodes.observedAt(node.name) ?? clock.monotonic();
    const trouble = await write(node, plan.changes, run);
    if (trouble !== undefined) return trouble;
    const serverID = machine && machineID(machine);
    const fields = { node: node.name, ...(serverID !== undefined && { serverID }) };
    for (const key of plan.keptLabels) run.log.warn('Kept label that was set before', { ...fields, labels: key });
    unresolved.delete(node.name);
    for (const change of plan.changes) {
      if (change.kind === 'initialise') {
        const providerID = node.providerID === '' ? change.providerID : node.providerID;
        const durationMs = Math.round(clock.monotonic() - startedAt);
        run.log.info('Initialised node', { ...fields, providerID, labels: change.labels, durationMs });
        events.event(nodeTarget(node), 'Normal', 'Synced', `Initialised from server ${serverID}`);
        deps.hooks.onInitialised(node);
      } else if (change.kind === 'addresses') {
        if (isUninitialized(node)) continue;
        run.log.info('Updated node addresses', { ...fields, addresses: addressesText(change.addresses) });
      } else {
        run.log.info('Updated node labels', { ...fields, labels: change.labels });
      }
    }
    return done;
  }

  /** Somebody deleted the node meanwhile: nothing is left to do. */
  function gone(node: KubeNode, err: unknown, { log }: Reconcile): Outcome {
    log.debug('Found node gone while changing it', { node: node.name, err });
    return done;
  }

  /** Resolves with how the run ends when not all could be written. */
  async function write(node: KubeNode, changes: readonly NodeChange[], run: Reconcile): Promise<Outcome | undefined> {
    let latest = node;
    try {
      for (const change of changes) {
        latest = await applyNode(client, latest, change, run.signal);
        ownWrites.record(latest);
      }
      return undefined;
    } catch (err) {
      if (isNotFound(err)) return gone(node, err, run);
      return failedWrite(err, run.attempt);
    }
  }

  /** The node keeps its taint until a list of servers brings better news. */
  function wait(node: KubeNode, reason: EventReason, problem: string, { log }: Reconcile): Outcome {
    if (!isUninitialized(node)) {
      log.debug('Left node addresses as they are', { node: node.name, err: problem });
      return done;
    }
    unresolved.add(node.name);
    events.event(nodeTarget(node), 'Warning', reason, `Could not initialise node: ${problem}`);
    log.warn('Could not initialise node, waiting for its server', { node: node.name, err: problem });
    return again(remindAfter);
  }

  function leaveAlone(node: KubeNode, problem: string, run: Reconcile): Outcome {
    unresolved.delete(node.name);
    events.event(nodeTarget(node), 'Warning', 'UnknownProviderIDPrefix', `Left node alone: ${problem}`);
    run.log.warn('Left node alone', { node: node.name, providerID: node.providerID, err: problem });
    return again(remindAfter);
  }

  /** Due when the newest list, whatever it was made for, is that old. */
  const refresh$ = instances.changes$.pipe(
    map(({ cloud }) => (cloud === undefined ? 0 : cloud.requestedAt + deps.refreshEvery - clock.monotonic())),
    switchMap(due => timer(Math.max(0, due), deps.refreshEvery).pipe(exhaustMap(() => list('refresh')))),
    ignoreElements(),
  );
  const replaced$ = instances.changes$.pipe(
    tap(lists => lookForReplaced(nodes.list(), lists)),
    ignoreElements(),
  );
  const watch$ = defer(() => nodes.watch()).pipe(
    tap(change => {
      const { type, object } = change;
      ownWrites.observe(change);
      if (type === 'deleted') predecessors.remember(object);
      if (type === 'added' && isUninitialized(object)) logger.info('Noticed uninitialised node', { node: object.name });
    }),
    ignoreElements(),
  );
  return controller({
    name: 'node',
    triggers$: merge(
      watch$,
      nodeTriggers({ nodes, lists$: instances.changes$, settings }),
      unresolved.looks$,
      refresh$,
      replaced$,
    ),
    reconcile,
    concurrency: deps.concurrency,
    backoff: deps.backoff,
    logger,
    hooks: deps.hooks,
  });
}
