import { defer, ignoreElements, merge, type Observable, tap } from 'rxjs';
import { isLimitExceeded } from '../../hetzner/errors.ts';
import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import type { CallOptions } from '../../hetzner/types.ts';
import { createOwnWrites } from '../../kubernetes/own-writes.ts';
import { type KubeService, keyOf } from '../../kubernetes/types.ts';
import { done, failed, type Outcome } from '../../streams/outcome.ts';
import type { Run } from '../../streams/workqueue.ts';
import { controller, type Reconcile } from '../controller.ts';
import { applyPlan } from './apply.ts';
import { claimed, createClaims } from './claims.ts';
import { cleanUpLoadBalancers } from './clean-up.ts';
import { createClusterView } from './cluster-view.ts';
import { conclude } from './conclude.ts';
import type { LoadBalancerControllerDeps } from './controller-deps.ts';
import { bareBody, createLoadBalancer } from './create.ts';
import type { DesiredLoadBalancer } from './desired.ts';
import { createHeldBack } from './hold-back.ts';
import { choose, type Identity, idNotices } from './identity.ts';
import { isLastingCreation, lastingRetry } from './lasting.ts';
import { heldWithout, type NetworkChoice } from './network-choice.ts';
import { createObserver } from './observe.ts';
import { cleanupFinalizer, needsCleanup, wantsLoadBalancer } from './ownership.ts';
import { createPipelines } from './pipelines.ts';
import { planLoadBalancer } from './plan.ts';
import { createRefusals } from './refusals.ts';
import { createReport, type ServiceReport, textOf } from './report.ts';
import { desiredLoadBalancer } from './resolve.ts';
import { createServiceWriter } from './service-writer.ts';
import { ingressOf, lacksAddress, lacksNamedAddress, planStatus } from './status.ts';
import { attachedAnew, loadBalancerTriggers } from './triggers.ts';
import { createLoadBalancerView } from './view.ts';
import { type Wanted, wantedOf } from './wanted.ts';

/** A list younger than this is good enough for a run after a failure, in ms. */
const retryMaxAge = 60_000;

/** Keeps a load balancer for each Service that asks for one. One key a Service, so work on one is never done twice at once. */
export function loadBalancerController(deps: LoadBalancerControllerDeps): Observable<Run> {
  const { services, nodes, instances, api, rules, clock } = deps;
  const view = createLoadBalancerView(deps.snapshot, clock);
  const ownWrites = createOwnWrites<KubeService>(services);
  const report = createReport({ events: deps.events, nodes });
  const { write, hold } = createServiceWriter({
    ...deps,
    ownWrites,
    onFailure: (service, problem) => report.about(service).failed(problem),
  });
  const observer = createObserver({ ...deps, view });
  const claims = createClaims(uid => services.list().some(one => one.uid === uid && wantsLoadBalancer(one, rules)));
  const cluster = createClusterView(services.list, deps.allNodes.list);
  const refusals = createRefusals(clock);
  const pipelines = createPipelines(deps.actions, clock);
  /** Services whose load balancer turned out in the last run to be another than it was taken for. */
  const surprised = new Set<string>();
  const heldBack = createHeldBack(deps.project, view.invalidate);
  const options = (signal: AbortSignal): CallOptions => ({ priority: 'loadBalancer', signal });

  async function reconcile(run: Reconcile): Promise<Outcome> {
    const stored = services.get(run.key);
    if (stored === undefined) return done;
    const service = ownWrites.latest(stored);
    if (wantsLoadBalancer(service, rules)) return ensure(service, run);
    return needsCleanup(service, rules) ? cleanUp(service, run) : done;
  }

  /** What can't be read is told as well: a Service that waits for its load balancer should say why. */
  const readable = <T>(reading: Promise<T>, tell: ServiceReport, { signal }: Reconcile): Promise<T> =>
    reading.catch(err => {
      if (!signal.aborted) tell.failed(textOf(err));
      throw err;
    });

  async function ensure(service: KubeService, run: Reconcile): Promise<Outcome> {
    const network = await observer.networkOf(service, options(run.signal));
    const wanted = heldWithout(wantedOf(service, deps.settings, network.networkID), network);
    const tell = report.about(service);
    tell.notices(wanted.notices);
    // A retry is not content with what the run before it knew; all that retry in the same minute share one list.
    const instant = run.attempt === 0 ? 0 : clock.monotonic() - retryMaxAge;
    const all = await readable(view.load(instant, options(run.signal)), tell, run);
    const identity = claimed(choose(service, wanted, all, cluster), service.uid, claims, cluster);
    if (identity.kind === 'refused') {
      tell.failed(identity.problem);
      return failed(new Error(identity.problem));
    }
    if (identity.kind !== 'own') {
      const doubt = await deps.project.doubt(options(run.signal));
      if (doubt !== undefined) return holdBack(doubt, tell, run);
    }
    tell.notices(idNotices(wanted.config.id, identity));
    const held = await hold(service, run);
    if ('kind' in held) return held;
    return bringIntoLine(held, wanted, network, identity, all, tell, run);
  }

  /** Nothing is made, taken over or given up for lost in a project that may be somebody else's. */
  function holdBack(doubt: string, tell: ServiceReport, { key }: Reconcile): Outcome {
    tell.heldBack(doubt);
    heldBack.add(key);
    return failed(new Error(doubt));
  }

  async function bringIntoLine(
    service: KubeService,
    wanted: Wanted,
    network: NetworkChoice,
    identity: Exclude<Identity, { kind: 'refused' }>,
    all: readonly LoadBalancer[],
    tell: ServiceReport,
    run: Reconcile,
  ): Promise<Outcome> {
    const present = identity.kind === 'create' ? undefined : identity.loadBalancer;
    const o = options(run.signal);
    const log = run.log.child({ service: keyOf(service) });
    const [certificates, lists, type] = await Promise.all([
      deps.certificates.resolve(service, wanted.config, tell, o),
      readable(observer.machines(wanted.config, present, o), tell, run),
      observer.typeOf(wanted.config.type, present, tell, o),
    ]);
    const { desired, notices } = desiredLoadBalancer({
      service,
      wanted,
      type,
      nodes: nodes.list(),
      otherNodes:
        nodes === deps.allNodes ? [] : deps.allNodes.list().filter(({ name, uid }) => nodes.get(name)?.uid !== uid),
      lists,
      networkID: network.networkID,
      networkIsNamed: network.isNamed,
      networks: deps.networks,
      nameOfNetwork: deps.nameOfNetwork,
      robotEnabled: deps.robotEnabled,
      robotUnknown: instances.robotEnabled && lists.robot === undefined,
      certificates,
      present,
      loadBalancers: all,
      refusedIP: refusals.refusedIP(service.uid),
      refusedNetwork: refusals.refusedNetwork(service.uid),
    });
    tell.notices(notices);
    const known = present ?? (await create(service, wanted, desired, tell, run));
    if ('kind' in known) return known;
    const loadBalancer = lacksNamedAddress(known, wanted.config)
      ? await observer.withAddresses(known, wanted.config, o)
      : known;
    if (present === undefined) view.record(loadBalancer);
    const nameIsTaken = (name: string): boolean => all.some(lb => lb.name === name && lb.id !== loadBalancer.id);
    tell.keptName(loadBalancer, desired.name, nameIsTaken);
    tell.checkType(loadBalancer, wanted.config.type);
    const plan = planLoadBalancer(loadBalancer, desired, nameIsTaken);
    if (identity.kind === 'adopt') tell.adopted(loadBalancer, plan);
    if (plan.stages.length > 0 && present !== undefined) tell.ensuring();
    const pipeline = pipelines.of(loadBalancer.id);
    const record = (changed: LoadBalancer): void => view.record(changed, all);
    const applied = await applyPlan(loadBalancer, plan, { api, pipeline, record, log }, run.signal);
    refusals.learn(service.uid, applied.failures);
    tell.withoutRoom(applied.loadBalancer, plan);
    if (applied.failures.length > 0 || applied.surprised) view.invalidate();
    const complete = await observer.withAddresses(applied.loadBalancer, wanted.config, o);
    const status = await writeStatus(service, complete, wanted, tell, run);
    if (status !== undefined) return status;
    const left = await deps.certificates.cleanUp(certificates.obsolete, o);
    const surprisedBefore = surprised.has(run.key);
    if (applied.surprised) surprised.add(run.key);
    else surprised.delete(run.key);
    return conclude({
      applied,
      surprisedBefore,
      attempt: run.attempt,
      created: present === undefined,
      certificates,
      left,
      complete: !lacksAddress(complete, wanted.config),
      hasNotices: wanted.notices.length + notices.length > 0,
      tell,
    });
  }

  async function create(
    service: KubeService,
    { config }: Wanted,
    desired: DesiredLoadBalancer,
    tell: ServiceReport,
    run: Reconcile,
  ): Promise<LoadBalancer | Outcome> {
    tell.ensuring();
    const log = run.log.child({ service: keyOf(service) });
    const bare = bareBody({ desired, config });
    const withExtras = !refusals.refusedBare(service.uid, bare);
    try {
      return await createLoadBalancer({ ...deps, desired, config, withExtras, tell, log }, options(run.signal));
    } catch (err) {
      if (run.signal.aborted) throw err;
      refusals.learnCreation(service.uid, bare, err);
      if (!isLimitExceeded(err)) view.invalidate(); // else nothing was made
      const isLasting = isLastingCreation(err, run.attempt);
      tell.notCreated(bare, err, isLasting);
      return failed(err, isLasting ? lastingRetry : undefined);
    }
  }

  async function writeStatus(
    service: KubeService,
    loadBalancer: LoadBalancer,
    wanted: Wanted,
    tell: ServiceReport,
    run: Reconcile,
  ): Promise<Outcome | undefined> {
    const { config } = wanted;
    if (ingressOf(loadBalancer, config).length === 0 && !lacksAddress(loadBalancer, config)) tell.noAddress();
    const ingress = planStatus(service, loadBalancer, wanted);
    if (ingress === undefined) return undefined;
    const written = await write(service, { ingress }, run);
    if ('kind' in written) return written;
    run.log.info('Updated status of Service', {
      service: keyOf(service),
      addresses: ingress.map(({ ip, hostname }) => ip ?? hostname).join(' '),
    });
    return undefined;
  }

  /** Deletes what is ours and lets the Service go. */
  async function cleanUp(service: KubeService, run: Reconcile): Promise<Outcome> {
    const log = run.log.child({ service: keyOf(service) });
    const tell = report.about(service);
    const forget = (id: number): void => {
      view.forget(id);
      pipelines.delete(id);
    };
    const parts = { ...deps, view, forget, pipelineOf: pipelines.of };
    const doubt = await cleanUpLoadBalancers(service, parts, tell, log, options(run.signal));
    if (doubt !== undefined) return holdBack(doubt, tell, run);
    refusals.forget(service.uid);
    surprised.delete(run.key);
    const finalizers = service.finalizers.filter(finalizer => finalizer !== cleanupFinalizer);
    const written = await write(service, { finalizers, ...(service.deleting ? {} : { ingress: [] }) }, run);
    return 'kind' in written ? written : done;
  }

  const watch$ = defer(() => services.watch()).pipe(tap(ownWrites.observe), ignoreElements());
  const drift$ = deps.drift$.pipe(tap(() => view.invalidate()));
  const anew$ = attachedAnew({ nodes, lists$: instances.changes$ }).pipe(tap(view.invalidate), ignoreElements());
  return controller({
    name: 'loadBalancer',
    triggers$: merge(
      watch$,
      anew$,
      heldBack.triggers$,
      loadBalancerTriggers({ services, nodes, lists$: instances.changes$, drift$, rules }),
    ),
    reconcile,
    concurrency: deps.concurrency,
    backoff: deps.backoff,
    logger: deps.logger,
    hooks: deps.hooks,
  });
}
