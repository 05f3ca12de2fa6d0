import { defer, ignoreElements, map, merge, type Observable, Subject, startWith, switchMap, tap } from 'rxjs';
import { noServers, type ServerLookup } from '../../hetzner/server-list.ts';
import type { Servers } from '../../hetzner/servers.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isNotFound } from '../../kubernetes/errors.ts';
import type { EventRecorder } from '../../kubernetes/events.ts';
import { isOtherObject } from '../../kubernetes/patches.ts';
import { isNewerVersion } from '../../kubernetes/resource-version.ts';
import type { Store, StoreChange } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../streams/clock.ts';
import { again, done, failed, type Outcome } from '../../streams/outcome.ts';
import type { Run, Trigger } from '../../streams/workqueue.ts';
import { type ControllerHooks, controller, type Reconcile } from '../controller.ts';
import { failedWrite } from '../failed-write.ts';
import { blockText } from '../ip.ts';
import { remindAfter } from '../reminders.ts';
import { createAnswers } from './answers.ts';
import { applyFence, applyPodCIDR, type FenceTarget, isRefusal } from './apply.ts';
import { type DesiredRange, desiredRange, needsPodCIDR, needsServer, type RangeSettings, rangesOf } from './desired.ts';
import { type PodCIDRPlan, planPodCIDR } from './plan.ts';
import { createPool, type PoolOptions } from './pool.ts';
import { createIPAMReport } from './report.ts';
import { type TermStart, termStart } from './term-start.ts';
import { podCIDRTriggers } from './triggers.ts';

export interface IPAMControllerDeps {
  /** All of the cluster: what any of them has is taken. */
  readonly nodes: Store<KubeNode>;
  readonly servers: Pick<Servers, 'notBefore' | 'changes$'>;
  /** Its writes end with the term. */
  readonly client: KubeClient;
  readonly settings: RangeSettings;
  /** Prefix length of the pod CIDRs. */
  readonly maskSize: number;
  /** The ranges may have changed. */
  readonly ranges$: Observable<unknown>;
  /** How much older than the Node a list of servers may be that tells its network, in ms. */
  readonly maxAge: number;
  readonly onUsage: PoolOptions['onUsage'];
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hooks: ControllerHooks;
  /** ms to wait after a failure; `attempt` counts from 0. */
  readonly backoff: (attempt: number) => number;
}

/** Failures in a row to fence a node off before others are told that they wait for it. */
const patience = 3;

/**
 * Gives each initialised node without pod CIDR one of its network's range: never one that another node has or may get,
 * whoever wrote it (see `term-start.ts`). For one term of leadership.
 */
export function ipamController(deps: IPAMControllerDeps): Observable<Run> {
  const { nodes, servers, client, settings, clock, backoff } = deps;
  const logger = deps.logger.child({ controller: 'ipam' });
  const report = createIPAMReport({ ...deps, logger });
  const more$ = new Subject<Trigger>();
  const wentBack$ = new Subject<void>();
  /** Undefined until the list is there; until then no run is started. */
  let start: TermStart | undefined;
  /** Nodes that wait until all others are fenced, for room in a range (by range), and for a range. */
  const behindFences = new Set<string>();
  const crowdedOut = new Map<string, Set<string>>();
  const rangeless = new Set<string>();
  /** Name of a node that all wait for, once that takes long. */
  let stuck: string | undefined;

  const wake = (names: Set<string> | undefined, reason: string): void => {
    const woken = [...(names ?? [])];
    names?.clear();
    for (const key of woken) more$.next({ key, reason });
  };
  const pool = createPool({
    ...deps,
    onFreed: range => {
      report.hasRoom(range);
      wake(crowdedOut.get(range), 'range has room again');
    },
    onShared: report.overlapping,
  });
  const answers = createAnswers(pool, nodes);
  const openRanges = (): void => rangesOf(settings).forEach(pool.open);

  async function reconcile(run: Reconcile): Promise<Outcome> {
    // A new list in the store tells its differences one by one, in one go: all of them must have reached the pool.
    await Promise.resolve();
    const unfenced = start?.unfenced.get(run.key);
    if (unfenced !== undefined) return fenceAtStart(unfenced, run);
    const node = nodes.get(run.key);
    if (node === undefined || !needsPodCIDR(node)) return done;
    // Where the range does not depend on it, no server is asked for.
    const known = needsServer(node, settings) ? await findServers(node, run) : noServers;
    return allocate(known, run);
  }

  const findServers = (node: KubeNode, { attempt, signal }: Reconcile): Promise<ServerLookup> => {
    // A retry wants to know more than the run before it; runs of about the same time share one list.
    const instant =
      attempt > 0
        ? clock.monotonic() - backoff(attempt - 1) / 2
        : (nodes.observedAt(node.name) ?? clock.monotonic()) - deps.maxAge;
    return servers.notBefore(instant, { priority: 'initialise', signal });
  };

  /** Nothing is waited for between the look at the pool and the reservation. */
  async function allocate(known: ServerLookup, run: Reconcile): Promise<Outcome> {
    const stored = nodes.get(run.key);
    if (stored === undefined || start === undefined) return done;
    if (start.unfenced.size > 0) {
      behindFences.add(run.key);
      if (stuck !== undefined) report.heldBack(stored, stuck);
      return done;
    }
    // The store is behind the list: the change that brings it up to that is a trigger.
    if (!isNewerVersion(stored.resourceVersion, start.version)) return done;
    const node = answers.latest(stored);
    const desired = desiredRange(node, known, settings);
    if (desired.kind === 'none') return done;
    if (desired.kind === 'notAttached') return failed(new Error(report.notAttached(node)));
    if (desired.kind === 'noRange') {
      report.noRange(node, desired.network);
      rangeless.add(run.key);
      return again(remindAfter);
    }
    const plan = planPodCIDR(node, desired.range, pool);
    switch (plan?.kind) {
      case undefined:
        return done;
      case 'exhausted':
        return waitForRoom(node, desired, run);
      case 'settle':
        return fence(node, run);
      case 'allocate':
        pool.reserve(node.uid, plan.block);
        return write(node, plan, desired, run);
    }
  }

  async function write(
    node: KubeNode,
    { podCIDR }: PodCIDRPlan & { kind: 'allocate' },
    { range, network }: DesiredRange & { kind: 'range' },
    run: Reconcile,
  ): Promise<Outcome> {
    const wasUnsure = pool.reservedFor(node.uid)?.unsure ?? false;
    pool.setUnsure(node.uid, true);
    try {
      await answers.take(node, () => applyPodCIDR(client, node, podCIDR, run.signal));
    } catch (err) {
      // What may have been written stays reserved for the node, which is offered the same again.
      if (isRefusal(err)) pool.setUnsure(node.uid, wasUnsure);
      return trouble(node, err, run);
    }
    report.forget(node.uid);
    const { name, id } = network ?? {};
    const where = network === undefined ? {} : { network: name, networkID: id };
    run.log.info('Allocated pod CIDR', { node: node.name, podCIDR, range: blockText(range), ...where });
    return done;
  }

  /** While it fails nothing is handed out, so users are told what everybody waits for. */
  async function fenceAtStart(target: FenceTarget, run: Reconcile): Promise<Outcome> {
    const outcome = await fence(target, run);
    if (outcome.kind !== 'failed' || run.attempt < patience || start?.unfenced.has(target.name) !== true)
      return outcome;
    stuck = target.name;
    report.stuck(stuck, outcome.err);
    for (const name of [...behindFences, stuck]) {
      const node = nodes.get(name);
      if (node !== undefined) report.heldBack(node, stuck);
    }
    return outcome;
  }

  /** No write that was decided on this version of the Node, or an older one, can land any more. */
  async function fence(target: FenceTarget, run: Reconcile): Promise<Outcome> {
    const of = start;
    try {
      await answers.take(target, () => applyFence(client, target, run.signal));
      pool.setUnsure(target.uid, false);
      run.log.debug('Fenced node', { node: target.name, rv: target.resourceVersion });
    } catch (err) {
      // Where another Node has the name now, or none, nothing of before can land either.
      if (!isNotFound(err) && !isOtherObject(err)) return trouble(target, err, run);
      run.log.debug('Found node gone while changing it', { node: target.name, err });
    }
    if (of === start) fenced(target);
    return done;
  }

  const fenced = ({ name, uid }: FenceTarget): void => {
    if (start?.unfenced.get(name)?.uid !== uid) return;
    start.unfenced.delete(name);
    if (stuck === name) stuck = undefined;
    if (start.unfenced.size === 0) wake(behindFences, 'all nodes are fenced');
  };

  const trouble = (node: FenceTarget, err: unknown, { log, attempt }: Reconcile): Outcome => {
    if (!isNotFound(err)) return failedWrite(err, attempt);
    log.debug('Found node gone while changing it', { node: node.name, err });
    return done;
  };

  function waitForRoom(node: KubeNode, desired: DesiredRange & { kind: 'range' }, { key }: Reconcile): Outcome {
    report.exhausted(node, desired);
    const range = blockText(desired.range);
    const waiting = crowdedOut.get(range) ?? new Set();
    crowdedOut.set(range, waiting.add(key));
    return again(remindAfter);
  }

  function follow(change: StoreChange<KubeNode>): void {
    const { type, object, previous } = change;
    answers.observe(change);
    if (type === 'deleted') {
      pool.forget(object.uid);
      report.forget(object.uid);
      fenced(object);
    } else if (previous !== undefined && isNewerVersion(previous.resourceVersion, object.resourceVersion)) {
      // Another history, as after the restoration of a backup: what was learnt of the old one says nothing of this.
      pool.accept(object);
      start = undefined;
      wentBack$.next();
    } else {
      pool.observe(object);
      outdate(object);
    }
  }

  /** Whoever moves the version of the Node on fences it as well as we do. */
  const outdate = ({ name, uid, resourceVersion }: KubeNode): void => {
    const target = start?.unfenced.get(name);
    if (target?.uid === uid && isNewerVersion(resourceVersion, target.resourceVersion)) fenced(target);
  };

  const begin = (next: TermStart): void => {
    start = next;
    openRanges();
    logger.info('Began to allocate pod CIDRs', { count: next.unfenced.size, rv: next.version });
    for (const key of next.unfenced.keys()) more$.next({ key, reason: 'earlier writes to the node are fenced off' });
  };
  const hold$ = wentBack$.pipe(
    startWith(undefined),
    switchMap(() =>
      termStart({ ...deps, logger }).pipe(
        tap(begin),
        map(() => false),
        startWith(true),
      ),
    ),
  );
  const watch$ = defer(() => nodes.watch()).pipe(tap(follow), ignoreElements());
  const ranges$ = deps.ranges$.pipe(
    tap(() => {
      if (start !== undefined) openRanges();
      wake(rangeless, 'ranges changed');
    }),
    ignoreElements(),
  );
  return controller({
    name: 'ipam',
    triggers$: merge(watch$, ranges$, podCIDRTriggers({ nodes, servers$: servers.changes$, settings }), more$),
    reconcile,
    concurrency: 10,
    hold$,
    backoff,
    logger: deps.logger,
    hooks: deps.hooks,
  });
}
