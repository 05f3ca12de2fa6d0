import { defer, ignoreElements, merge, type Observable, tap } from 'rxjs';
import type { Actions } from '../../hetzner/actions.ts';
import { classOf } from '../../hetzner/errors.ts';
import type { LoadBalancerSnapshot, LoadBalancerTypes } from '../../hetzner/lb-snapshot.ts';
import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import type { LoadBalancers } from '../../hetzner/load-balancers.ts';
import { pause } from '../../hetzner/pause.ts';
import type { CallOptions } from '../../hetzner/types.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, isNotFound } from '../../kubernetes/errors.ts';
import type { EventRecorder } from '../../kubernetes/events.ts';
import { createOwnWrites } from '../../kubernetes/own-writes.ts';
import { patchServiceStatus, type ServicePatch } from '../../kubernetes/service-patches.ts';
import type { Store } from '../../kubernetes/store.ts';
import { type KubeNode, type KubeService, keyOf } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Clock } from '../../streams/clock.ts';
import { again, done, failed, type Outcome } from '../../streams/outcome.ts';
import type { Run } from '../../streams/workqueue.ts';
import { type ControllerHooks, controller, type Reconcile } from '../controller.ts';
import type { Instances } from '../instances.ts';
import { createPipeline, type Pipeline } from '../route/pipeline.ts';
import { type Applied, applyPlan } from './apply.ts';
import type { CertificateKeeper } from './certificate-keeper.ts';
import { createLoadBalancer } from './create.ts';
import { identify, ownerLabel } from './identity.ts';
import { type ClassRules, cleanupFinalizer, needsCleanup, wantsLoadBalancer } from './ownership.ts';
import { planLoadBalancer } from './plan.ts';
import { createReport, type ServiceReport } from './report.ts';
import { desiredLoadBalancer, type Wanted, wantedOf } from './resolve.ts';
import { ingressOf, sameIngress } from './status.ts';
import { loadBalancerTriggers } from './triggers.ts';
import { createLoadBalancerView } from './view.ts';

export interface LoadBalancerControllerDeps {
  readonly services: Store<KubeService>;
  readonly nodes: Store<KubeNode>;
  readonly instances: Instances;
  readonly api: LoadBalancers;
  readonly snapshot: LoadBalancerSnapshot;
  readonly types: LoadBalancerTypes;
  readonly actions: Actions;
  readonly certificates: CertificateKeeper;
  readonly client: KubeClient;
  readonly settings: Settings['loadBalancers'];
  readonly rules: ClassRules;
  readonly networkID: number | undefined;
  /** How much older than a Node the list of servers may be that tells how to reach it, in ms. */
  readonly maxAge: number;
  readonly drift$: Observable<unknown>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hooks: ControllerHooks;
  /** ms to wait after a failure; `attempt` counts from 0. */
  readonly backoff: (attempt: number) => number;
}

/** What stays wrong is spoken of again after this, in ms: events are kept for an hour. */
const remindAfter = 3_600_000;
const conflictRetry = 200;
/** A list younger than this is good enough for a run after a failure, in ms. */
const retryMaxAge = 60_000;

/** Keeps a load balancer for each Service that asks for one. One key a Service, so work on one is never done twice at once. */
export function loadBalancerController(deps: LoadBalancerControllerDeps): Observable<Run> {
  const { services, nodes, instances, api, client, rules, networkID, clock } = deps;
  const view = createLoadBalancerView(deps.snapshot, clock);
  const ownWrites = createOwnWrites<KubeService>();
  const report = createReport({ events: deps.events, nodes });
  const pipelines = new Map<number, Pipeline>();
  const options = (signal: AbortSignal): CallOptions => ({ priority: 'loadBalancer', signal });

  const pipelineOf = (id: number): Pipeline => {
    const known = pipelines.get(id);
    if (known !== undefined) return known;
    const pipeline = createPipeline({
      waitForAction: (action, signal) => deps.actions.wait(action, options(signal)),
      isLocked: err => classOf(err) === 'locked',
      clock,
    });
    pipelines.set(id, pipeline);
    return pipeline;
  };

  async function reconcile(run: Reconcile): Promise<Outcome> {
    const stored = services.get(run.key);
    if (stored === undefined) return done;
    const service = ownWrites.latest(stored);
    if (wantsLoadBalancer(service, rules)) return ensure(service, run);
    return needsCleanup(service, rules) ? cleanUp(service, run) : done;
  }

  /** Writes finalizers or status; undefined when the Service is gone. A conflict is an outcome of its own. */
  async function write(
    service: KubeService,
    patch: ServicePatch,
    { signal }: Reconcile,
  ): Promise<KubeService | Outcome> {
    try {
      const written = await patchServiceStatus(client, service, patch, signal);
      ownWrites.record(written);
      return written;
    } catch (err) {
      if (isNotFound(err)) return done;
      return failed(err, isConflict(err) ? conflictRetry : undefined);
    }
  }

  async function ensure(service: KubeService, run: Reconcile): Promise<Outcome> {
    const wanted = wantedOf(service, deps.settings, networkID);
    const tell = report.about(service);
    tell.notices(wanted.notices);
    // A retry is not content with what the run before it knew; all that retry in the same minute share one list.
    const instant = run.attempt === 0 ? 0 : clock.monotonic() - retryMaxAge;
    const all = await view.load(instant, options(run.signal));
    const { id, name } = wanted.config;
    const identity = identify(all, { uid: service.uid, id, name, ownerOf });
    if (identity.kind === 'refused') {
      tell.failed(identity.problem);
      return failed(new Error(identity.problem));
    }
    const problem = identity.kind === 'create' ? problemOfCreation(wanted) : undefined;
    if (problem !== undefined) {
      tell.failed(problem);
      return failed(new Error(problem));
    }
    const held = await hold(service, run);
    if ('kind' in held) return held;
    if (identity.kind === 'adopt') tell.adopted(identity.loadBalancer);
    const present = identity.kind === 'create' ? undefined : identity.loadBalancer;
    return bringIntoLine(held, wanted, present, all, tell, run);
  }

  /** Checked before anything is made, for a load balancer costs money as soon as it is there. */
  const problemOfCreation = ({ config, held }: Wanted): string | undefined => {
    if (config.location === undefined && config.networkZone === undefined) {
      return 'neither a location nor a network zone is set: use the annotation load-balancer.hetzner.cloud/location or load-balancer.hetzner.cloud/network-zone, or HCLOUD_LOAD_BALANCERS_LOCATION or HCLOUD_LOAD_BALANCERS_NETWORK_ZONE';
    }
    return held.targets
      ? 'the load balancer is not created while its targets are not known: see the other events'
      : undefined;
  };

  const ownerOf = (uid: string): string | undefined => {
    const owner = services.list().find(service => service.uid === uid);
    return owner === undefined ? undefined : keyOf(owner);
  };

  /** The finalizer comes before the load balancer: a Service deleted in between would leave it behind. */
  async function hold(service: KubeService, run: Reconcile): Promise<KubeService | Outcome> {
    if (service.finalizers.includes(cleanupFinalizer)) return service;
    return write(service, { finalizers: [...service.finalizers, cleanupFinalizer] }, run);
  }

  async function bringIntoLine(
    service: KubeService,
    wanted: Wanted,
    present: LoadBalancer | undefined,
    all: readonly LoadBalancer[],
    tell: ServiceReport,
    run: Reconcile,
  ): Promise<Outcome> {
    const o = options(run.signal);
    const log = run.log.child({ service: keyOf(service) });
    const certificates = await deps.certificates.resolve(service, wanted.config, tell, o);
    const lists = await readMachines(o);
    const result = desiredLoadBalancer({
      service,
      wanted,
      nodes: nodes.list(),
      lists,
      networkID,
      robotEnabled: instances.robotEnabled,
      certificates: certificates.ids,
      present,
    });
    tell.notices(result.notices);
    const { desired } = result;

    let loadBalancer = present;
    let created = false;
    if (loadBalancer === undefined) {
      tell.ensuring();
      loadBalancer = await createLoadBalancer(
        { desired, config: wanted.config, api, types: deps.types, actions: deps.actions, tell, log },
        o,
      ).catch(err => {
        view.invalidate();
        tell.failed(textOf(err));
        throw err;
      });
      view.record(loadBalancer);
      created = true;
    }
    const nameIsTaken = (name: string): boolean => all.some(lb => lb.name === name && lb.id !== loadBalancer?.id);
    if (desired.name !== undefined && desired.name !== loadBalancer.name && nameIsTaken(desired.name)) {
      tell.failed(`the load balancer keeps its name ${loadBalancer.name}: another one is called ${desired.name}`);
    }
    tell.checkType(loadBalancer, wanted.config.type);
    const plan = planLoadBalancer(loadBalancer, desired, nameIsTaken);
    if (plan.stages.length > 0 && !created) tell.ensuring();
    const applied = await applyPlan(
      loadBalancer,
      plan,
      { api, pipeline: pipelineOf(loadBalancer.id), record: view.record, log },
      run.signal,
    );
    tell.withoutRoom(applied.loadBalancer, plan.withoutRoom);
    if (applied.failures.length > 0) view.invalidate();
    const complete = await withAddresses(applied.loadBalancer, o);
    const status = await writeStatus(service, complete, wanted, run);
    if (status !== undefined) return status;
    await deps.certificates.cleanUp(certificates.obsolete, o);
    return conclude(applied, created, certificates.problem, wanted, tell);
  }

  /** The lists tell how to reach the nodes; one from about the time the newest node was seen is new enough. */
  async function readMachines(o: CallOptions) {
    const newest = nodes.list().reduce((max, { name }) => Math.max(max, nodes.observedAt(name) ?? 0), 0);
    return instances.readAll(newest - deps.maxAge, o);
  }

  /** Private addresses are chosen by the API: those it has not told yet need one read, shared by all who wait. */
  async function withAddresses(loadBalancer: LoadBalancer, o: CallOptions): Promise<LoadBalancer> {
    const unknown =
      networkID !== undefined && !loadBalancer.privateNets.some(net => net.network === networkID && net.ip !== '');
    if (!unknown) return loadBalancer;
    const since = clock.monotonic();
    await pause(settleTime, o.signal);
    const all = await view.load(since, o);
    return all.find(({ id }) => id === loadBalancer.id) ?? loadBalancer;
  }

  async function writeStatus(
    service: KubeService,
    loadBalancer: LoadBalancer,
    { config }: Wanted,
    run: Reconcile,
  ): Promise<Outcome | undefined> {
    const ingress = ingressOf(loadBalancer, config);
    if (sameIngress(service.ingress, ingress)) return undefined;
    const written = await write(service, { ingress }, run);
    if ('kind' in written) return written;
    run.log.info('Updated status of Service', {
      service: keyOf(service),
      addresses: ingress.map(({ ip, hostname }) => ip ?? hostname).join(' '),
    });
    return undefined;
  }

  function conclude(
    applied: Applied,
    created: boolean,
    certificateProblem: unknown,
    wanted: Wanted,
    tell: ServiceReport,
  ): Outcome {
    if (applied.failures.length > 0) {
      const text = tell.failures(applied.failures);
      return failed(new Error(text));
    }
    if (created || applied.changes > 0) tell.ensured();
    if (certificateProblem !== undefined) return failed(certificateProblem);
    return wanted.notices.length > 0 ? again(remindAfter) : done;
  }

  /** Deletes what is ours and lets the Service go. A list from after the Service was given up says what is there. */
  async function cleanUp(service: KubeService, run: Reconcile): Promise<Outcome> {
    const o = options(run.signal);
    const log = run.log.child({ service: keyOf(service) });
    const tell = report.about(service);
    const since = clock.monotonic();
    await pause(settleTime, o.signal);
    const all = await view.load(since, o);
    for (const loadBalancer of all.filter(({ labels }) => labels[ownerLabel] === service.uid)) {
      if (loadBalancer.isProtected) {
        const { [ownerLabel]: _, ...labels } = loadBalancer.labels;
        view.record(await api.update(loadBalancer.id, { labels }, o));
        tell.kept(loadBalancer);
        log.info('Kept protected load balancer', { loadBalancerID: loadBalancer.id });
        continue;
      }
      tell.deleting();
      try {
        await pipelineOf(loadBalancer.id).run(
          [async signal => void (await api.delete(loadBalancer.id, options(signal)))],
          run.signal,
        );
      } catch (err) {
        view.invalidate();
        tell.failed(textOf(err));
        throw err;
      }
      view.forget(loadBalancer.id);
      pipelines.delete(loadBalancer.id);
      log.info('Deleted load balancer', { loadBalancerID: loadBalancer.id });
      tell.deleted();
    }
    await deps.certificates.cleanUpAll(service, o);
    const finalizers = service.finalizers.filter(finalizer => finalizer !== cleanupFinalizer);
    const written = await write(service, { finalizers, ...(service.deleting ? {} : { ingress: [] }) }, run);
    return 'kind' in written ? written : done;
  }

  const watch$ = defer(() => services.watch()).pipe(tap(ownWrites.observe), ignoreElements());
  const drift$ = deps.drift$.pipe(tap(() => view.invalidate()));
  return controller({
    name: 'loadBalancer',
    triggers$: merge(watch$, loadBalancerTriggers({ services, nodes, lists$: instances.changes$, drift$, rules })),
    reconcile,
    concurrency: 20,
    backoff: deps.backoff,
    logger: deps.logger,
    hooks: deps.hooks,
  });
}

/** ms in which Services that were made or deleted together come to their reads, so that one list serves them all. */
const settleTime = 250;

const textOf = (err: unknown): string => (err instanceof Error ? err.message : String(err));
