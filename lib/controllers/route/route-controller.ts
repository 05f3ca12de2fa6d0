import { defer, ignoreElements, merge, type Observable, Subject, tap } from 'rxjs';
import type { Cloud } from '../../hetzner/cloud.ts';
import { classOf } from '../../hetzner/errors.ts';
import { noServers } from '../../hetzner/server-list.ts';
import type { Servers } from '../../hetzner/servers.ts';
import { isConflict, isNotFound } from '../../kubernetes/errors.ts';
import { createOwnWrites } from '../../kubernetes/own-writes.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../streams/clock.ts';
import { again, done, failed, type Outcome } from '../../streams/outcome.ts';
import type { Run, Trigger } from '../../streams/workqueue.ts';
import { type ControllerHooks, controller, type Reconcile } from '../controller.ts';
import type { Block } from '../ip.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Project } from '../project.ts';
import { applyRoute } from './apply.ts';
import { nodesWithin } from './claimants.ts';
import { createConcern } from './concern.ts';
import { isRouted, type NetworkUnavailable, networkUnavailable, sameCondition } from './condition.ts';
import { contradicts, type DesiredRoute, type DesiredRoutes, desiredRoutes, routableCIDRs } from './desired.ts';
import { logChange } from './log-change.ts';
import { createNodeIndex, type NodeIndex } from './node-index.ts';
import { isOwned, planRoute, type RouteChange } from './plan.ts';
import { explainRefusal, mayBeOverlap, noGateway } from './refusal.ts';
import { limitRetry, type RouteReport } from './report.ts';
import type { RouteTable } from './route-table.ts';
import { type RouteShare, wholeShare } from './share.ts';
import { passKey, routeTriggers } from './triggers.ts';
import { createUnsure } from './unsure.ts';

export interface RouteControllerDeps {
  /** Those this instance looks after. */
  readonly nodes: Store<KubeNode>;
  /** When not given: all nodes and routes are ours. */
  readonly share?: RouteShare;
  /** Of all nodes. */
  readonly index?: NodeIndex | undefined;
  readonly servers: Servers;
  /** Routes that no node claims are left where the network may be another cluster's. */
  readonly project: Pick<Project, 'doubt'>;
  readonly cloud: Pick<Cloud, 'addRoute' | 'deleteRoute'>;
  readonly networkID: number;
  readonly table: RouteTable;
  readonly pipeline: Pipeline;
  readonly clusterCIDRs: readonly Block[];
  /** How much older than the Node a list of servers may be that tells its address, in ms. */
  readonly maxAge: number;
  readonly safety$: Observable<unknown>;
  /** Resolves with the Node as it is then. */
  readonly patchCondition: (
    node: KubeNode,
    condition: NetworkUnavailable,
    signal: AbortSignal,
  ) => Promise<KubeNode | undefined>;
  readonly report: RouteReport;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hooks: ControllerHooks;
  /** ms to wait after a failure; `attempt` counts from 0. */
  readonly backoff: (attempt: number) => number;
}

/** What should be at one destination, and the nodes that cannot have it. */
interface Observed extends Pick<DesiredRoutes, 'contested'> {
  readonly desired: DesiredRoute | undefined;
}

/** The routes of other destinations have runs of their own. */
const only = (destination: string, gateways: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
  const gateway = gateways.get(destination);
  return new Map(gateway === undefined ? [] : [[destination, gateway]]);
};

const removesRoute = (change: RouteChange | undefined): boolean => change !== undefined && change.kind !== 'create';

/** A pass reads the network and the servers again unless what is known of them is younger than this, in ms. */
const freshEnough = 60_000;
/** A route that nobody claims is looked at again after this, in ms, where the network may be another cluster's. */
const doubtRetry = 300_000;

/** Keeps the pod routes of one network. One key a destination, so that a change that fails is retried alone. */
export function routeController(deps: RouteControllerDeps): Observable<Run> {
  const { nodes, servers, networkID, clusterCIDRs, table, clock, report, hooks, backoff } = deps;
  const share = deps.share ?? wholeShare(nodes);
  const { claimantsOf, residents } = deps.index ?? createNodeIndex(share.all);
  const more$ = new Subject<Trigger>();
  /** Destinations the network had no room for, or that another route is in the way of; a deleted route makes room. */
  const crowdedOut = new Set<string>();
  const ownWrites = createOwnWrites<KubeNode>(nodes);
  const concern = createConcern(deps, share);
  const unsure = createUnsure(clock, table);
  let passed = false;

  /** Looks at each destination that is ours or should be. */
  async function reconcilePass({ signal }: Reconcile): Promise<Outcome> {
    if (clock.monotonic() - table.readAt() > freshEnough) table.invalidate();
    // Nobody else may have listed the servers for long; what has moved is a trigger of its own.
    // At the start nodes may wait for their routes.
    const priority = passed ? 'refresh' : 'route';
    const [gateways, list] = await Promise.all([
      table.load(signal),
      servers.notBefore(clock.monotonic() - freshEnough, { priority, signal }),
    ]);
    passed = true;
    const owned = [...gateways.keys()].filter(destination => isOwned(destination, clusterCIDRs));
    const ours = residents(networkID, list).filter(share.isOurs);
    // Ways to whole networks come before single nodes.
    const aggregates = share.aggregates?.() ?? new Map();
    for (const key of new Set([...aggregates.keys(), ...owned, ...ours.flatMap(routableCIDRs)])) {
      more$.next({ key, reason: 'pass over all routes', priority: aggregates.has(key) ? 0 : -1 });
    }
    return done;
  }

  async function reconcileDestination(run: Reconcile): Promise<Outcome> {
    crowdedOut.delete(run.key);
    concern.begin(run.key);
    unsure.begin(run.key);
    const gateways = await table.load(run.signal, run.key);
    const { desired, contested } = await observe(run, gateways);
    const outcome = await (desired?.kind === 'hold' ? holdBack(desired, run) : converge(desired, gateways, run));
    for (const claim of contested) {
      report.contested(claim);
      await writeCondition(claim.node, run, 'unavailable');
    }
    if (outcome.kind === 'done' && desired === undefined) concern.end(run.key);
    return unsure.conclude(run.key, outcome);
  }

  async function converge(
    desired: Exclude<DesiredRoute, { kind: 'hold' }> | undefined,
    gateways: ReadonlyMap<string, string>,
    run: Reconcile,
  ): Promise<Outcome> {
    const change = planRoute(run.key, desired, gateways.get(run.key), clusterCIDRs);
    if (change?.kind === 'delete' && (await deps.project.doubt({ priority: 'route', signal: run.signal }))) {
      return again(doubtRetry);
    }
    const node = desired?.kind === 'route' ? desired.node : undefined;
    const misplaced = node === undefined ? undefined : share.misplacement?.(run.key);
    if (node !== undefined && misplaced !== undefined) report.misplaced(run.key, node, misplaced);
    if (change !== undefined) {
      if (node !== undefined && !isOwned(change.destination, clusterCIDRs)) report.outsideClusterCIDR(run.key, node);
      try {
        await makeChange(change, run);
      } catch (err) {
        return changeFailed(change, err, run);
      }
    }
    if (node !== undefined) await writeCondition(node, run, 'available');
    return done;
  }

  /** Observes what should be at the destination; no request where no node claims it. */
  async function observe(run: Reconcile, gateways: ReadonlyMap<string, string>): Promise<Observed> {
    const claimants = claimantsOf(run.key);
    const present = gateways.get(run.key);
    const here = only(run.key, gateways);
    if (!claimants.some(share.isOurs)) {
      // Where none of our nodes is concerned, no server is.
      const list = servers.latest() ?? noServers;
      const crossing = share.aggregates?.().has(run.key) ? nodesWithin(run.key, residents(networkID, list)) : [];
      const routes = desiredRoutes([...claimants, ...crossing], list, networkID, here, share);
      return { desired: routes.byDestination.get(run.key), contested: [] };
    }
    const desiredBy = async (instant: number) => {
      const list = await servers.notBefore(instant, { priority: 'route', signal: run.signal });
      return desiredRoutes(claimants, list, networkID, here, share);
    };
    const observedAt = Math.max(...claimants.map(node => nodes.observedAt(node.name) ?? 0));
    let routes = await desiredBy(observedAt - deps.maxAge);
    const desired = routes.byDestination.get(run.key);
    if (desired?.kind === 'hold' && run.attempt > 0) {
      // A retry wants to know more than the run before it; runs of about the same time share one list.
      routes = await desiredBy(clock.monotonic() - backoff(run.attempt - 1) / 2);
    } else if (removesRoute(planRoute(run.key, desired, present, clusterCIDRs))) {
      // A list from before the network was read may hold an address or a network that is no longer the server's.
      routes = await desiredBy(table.readAt());
    } else if (desired?.kind === 'route' && nodeContradicts(desired)) {
      // The Node shows an address that the list does not know yet: the server was attached anew.
      routes = await desiredBy(clock.monotonic());
    }
    return { desired: routes.byDestination.get(run.key), contested: routes.contested };
  }

  const nodeContradicts = ({ node, gateway }: DesiredRoute & { kind: 'route' }): boolean => {
    const found = nodes.get(node);
    return found !== undefined && contradicts(found, gateway);
  };

  async function makeChange(change: RouteChange, { log, signal }: Reconcile): Promise<void> {
    const startedAt = clock.monotonic();
    const isClaimed = (d: string): boolean => {
      const list = servers.latest() ?? noServers;
      return desiredRoutes(claimantsOf(d), list, networkID, new Map(), share).byDestination.has(d);
    };
    if (!(await applyRoute(change, { ...deps, isClaimed }, signal))) return;
    logChange(log, change, networkID, Math.round(clock.monotonic() - startedAt));
    if (change.kind !== 'delete') return;
    for (const key of crowdedOut) more$.next({ key, reason: 'network has room again' });
  }

  async function changeFailed(change: RouteChange, err: unknown, run: Reconcile): Promise<Outcome> {
    if (classOf(err) === 'transient') unsure.add(change.destination);
    if (run.signal.aborted || change.kind === 'delete') return failed(err);
    // Only a new look tells what is in the way.
    const routes = mayBeOverlap(err) ? await table.load(run.signal, run.key).catch(table.current) : undefined;
    const refusal = explainRefusal(err, change.destination, routes ?? new Map());
    const noRoom = report.notCreated(change, refusal.err) === 'noRoom';
    if (noRoom || refusal.isObstructed) crowdedOut.add(change.destination);
    if ('node' in change) await markUnavailable(change.node, run);
    return failed(refusal.err, noRoom ? limitRetry : undefined);
  }

  /** What stays as it is: a machine that isn't routed by us or isn't known yet. A missing attachment is looked into. */
  async function holdBack(desired: DesiredRoute & { kind: 'hold' }, run: Reconcile): Promise<Outcome> {
    if (desired.problem === 'crossed') {
      crowdedOut.add(run.key);
      return again(limitRetry);
    }
    if (desired.problem === 'noGateway') {
      const wanted = share.aggregates?.().get(run.key)?.gateway;
      return failed(noGateway(wanted, table.current()?.get(run.key)), limitRetry);
    }
    if (desired.problem !== 'notAttached') return done;
    const err = report.notAttached(run.key, desired.node);
    await markUnavailable(desired.node, run);
    return failed(err);
  }

  /** After a failure, which is what the run ends with whether or not the condition can be written. */
  const markUnavailable = (name: string, run: Reconcile): Promise<void> =>
    writeCondition(name, run, 'unavailable').catch(err => {
      if (!run.signal.aborted) run.log.warn('Failed to mark node network unavailable', { node: name, err });
    });

  /**
   * Brings NetworkUnavailable in step with what the network holds; no write where it says so already. Unavailable is
   * said only after a failure: another destination of the node may just be on its way.
   */
  async function writeCondition(name: string, run: Reconcile, after: 'available' | 'unavailable'): Promise<void> {
    const stored = nodes.get(name);
    const gateways = table.current();
    const list = servers.latest();
    if (stored === undefined || gateways === undefined || list === undefined) return;
    const node = ownWrites.latest(stored);
    const condition = networkUnavailable(node, destination => {
      const routes = desiredRoutes(claimantsOf(destination), list, networkID, only(destination, gateways), share);
      const wanted = routes.byDestination.get(destination);
      return isRouted(name, wanted, gateways.get(destination));
    });
    if (condition === undefined || sameCondition(node.networkUnavailable, condition)) return;
    if (condition.status === 'True' && after === 'available') return;
    try {
      const written = await deps.patchCondition(node, condition, run.signal);
      if (written !== undefined) ownWrites.record(written);
    } catch (err) {
      // Another Node, or none, has the name now: what comes of that has a trigger of its own. Other conflicts have none.
      if (isNotFound(err) || (isConflict(err) && nodes.get(name)?.uid !== node.uid)) return;
      throw err;
    }
    const msg = condition.status === 'False' ? 'Marked node network available' : 'Marked node network unavailable';
    run.log.info(msg, { node: name });
  }

  const watch$ = defer(() => nodes.watch()).pipe(
    tap(change => ownWrites.observe(change)),
    ignoreElements(),
  );
  const triggers$ = routeTriggers({
    nodes,
    share,
    servers$: servers.changes$,
    safety$: deps.safety$,
    networkID,
    clusterCIDRs,
    gateways: table.current,
    residents: list => residents(networkID, list),
    isElsewhere: share.networks && concern.isElsewhere,
  });
  return controller({
    name: 'route',
    triggers$: merge(watch$, triggers$, more$),
    reconcile: run => (run.key === passKey ? reconcilePass(run) : reconcileDestination(run)),
    concurrency: 200,
    backoff,
    logger: deps.logger,
    hooks,
  });
}
