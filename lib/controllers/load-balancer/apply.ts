import { HetznerError } from '../../hetzner/errors.ts';
import { targetKey } from '../../hetzner/lb-changes.ts';
import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import type { LoadBalancers } from '../../hetzner/load-balancers.ts';
import type { CallOptions } from '../../hetzner/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Pipeline, Step } from '../route/pipeline.ts';
import { withChange } from './model.ts';
import type { LoadBalancerChange, LoadBalancerPlan } from './plan.ts';

export interface Failure {
  readonly change: LoadBalancerChange;
  readonly err: unknown;
}

export interface Applied {
  /** As the changes that succeeded left it. */
  readonly loadBalancer: LoadBalancer;
  readonly failures: readonly Failure[];
  readonly changes: number;
}

export interface ApplyDeps {
  readonly api: LoadBalancers;
  /** Of this one load balancer. */
  readonly pipeline: Pipeline;
  /** Told after each change how the load balancer is now. */
  readonly record: (loadBalancer: LoadBalancer) => void;
  readonly log: Logger;
}

/**
 * Makes a plan real, stage by stage. A change that fails doesn't stop the others, but for those that can't succeed
 * without it: private targets need the network, public ones the public interface.
 */
export async function applyPlan(
  loadBalancer: LoadBalancer,
  plan: LoadBalancerPlan,
  { api, pipeline, record, log }: ApplyDeps,
  signal: AbortSignal,
): Promise<Applied> {
  let present = loadBalancer;
  let changes = 0;
  const failures: Failure[] = [];
  const applyOne = async (change: LoadBalancerChange): Promise<void> => {
    if (failures.some(failure => dependsOn(change, failure.change))) return;
    try {
      await run(present.id, change, api, pipeline, signal);
    } catch (err) {
      if (signal.aborted) throw err;
      if (!isDoneAlready(change, err)) {
        failures.push({ change, err });
        return;
      }
    }
    present = withChange(present, change);
    changes += 1;
    record(present);
    log.info(messages[change.kind], { loadBalancerID: present.id, subject: subjectOf(change) });
  };
  for (const stage of plan.stages) await Promise.all(stage.map(applyOne));
  return { loadBalancer: present, failures, changes };
}

const dependsOn = (change: LoadBalancerChange, failed: LoadBalancerChange): boolean => {
  const isTarget = change.kind === 'addTarget' && change.target.type === 'server';
  if (!isTarget) return change.kind === 'disablePublicInterface' && failed.kind === 'attach';
  return change.target.usePrivateIP
    ? failed.kind === 'attach' || failed.kind === 'reattach'
    : failed.kind === 'enablePublicInterface';
};

const isDoneAlready = (change: LoadBalancerChange, err: unknown): boolean =>
  err instanceof HetznerError &&
  ((change.kind === 'addTarget' && err.code === 'target_already_defined') ||
    (change.kind === 'attach' && err.code === 'load_balancer_already_attached') ||
    (change.kind === 'deleteService' && err.code === 'not_found'));

/** Runs the call of a change, or its calls one after the other, and waits for their actions. */
async function run(
  id: number,
  change: LoadBalancerChange,
  api: LoadBalancers,
  pipeline: Pipeline,
  signal: AbortSignal,
): Promise<void> {
  if (change.kind !== 'reattach') return pipeline.run([callOf(id, change, api)], signal);
  const { network, ip, previousIP } = change;
  const attach =
    (address: string): Step =>
    s =>
      api.attachToNetwork(id, { network, ip: address }, options(s));
  try {
    await pipeline.run([s => api.detachFromNetwork(id, network, options(s)), attach(ip)], signal);
  } catch (err) {
    // A load balancer without its network would lose all private targets for good.
    if (!signal.aborted) await pipeline.run([attach(previousIP)], signal).catch(() => undefined);
    throw err;
  }
}

const options = (signal: AbortSignal): CallOptions => ({ priority: 'loadBalancer', signal });

function callOf(id: number, change: Exclude<LoadBalancerChange, { kind: 'reattach' }>, api: LoadBalancers): Step {
  switch (change.kind) {
    case 'update': {
      const { kind: _, ...body } = change;
      return async s => void (await api.update(id, body, options(s)));
    }
    case 'changeDNSPtr':
      return s => api.changeDNSPtr(id, change.ip, change.dnsPtr, options(s));
    case 'changeAlgorithm':
      return s => api.changeAlgorithm(id, change.algorithm, options(s));
    case 'changeType':
      return s => api.changeType(id, change.type, options(s));
    case 'attach':
      return s =>
        api.attachToNetwork(id, { network: change.network, ip: change.ip, ipRange: change.subnet }, options(s));
    case 'enablePublicInterface':
      return s => api.enablePublicInterface(id, options(s));
    case 'disablePublicInterface':
      return s => api.disablePublicInterface(id, options(s));
    case 'addService':
      return s => api.addService(id, change.service, options(s));
    case 'updateService':
      return s => api.updateService(id, change.service, options(s));
    case 'deleteService':
      return s => api.deleteService(id, change.listenPort, options(s));
    case 'addTarget':
      return s => api.addTarget(id, change.target, options(s));
    case 'removeTarget':
      return s => api.removeTarget(id, change.target, options(s));
  }
}

const messages = {
  update: 'Updated load balancer',
  changeDNSPtr: 'Changed reverse DNS of load balancer',
  changeAlgorithm: 'Changed algorithm of load balancer',
  changeType: 'Changed type of load balancer',
  attach: 'Attached load balancer to network',
  reattach: 'Moved load balancer to another private address',
  enablePublicInterface: 'Enabled public interface of load balancer',
  disablePublicInterface: 'Disabled public interface of load balancer',
  addService: 'Added listener',
  updateService: 'Updated listener',
  deleteService: 'Deleted listener',
  addTarget: 'Added target',
  removeTarget: 'Removed target',
} as const satisfies Record<LoadBalancerChange['kind'], string>;

/** Short text of what a change is about, for logs and events. */
export function subjectOf(change: LoadBalancerChange): string {
  switch (change.kind) {
    case 'update':
      return [change.name, ...Object.entries(change.labels ?? {}).map(([k, v]) => `${k}=${v}`)]
        .filter(Boolean)
        .join(' ');
    case 'changeDNSPtr':
      return `${change.ip} ${change.dnsPtr}`;
    case 'changeAlgorithm':
      return change.algorithm;
    case 'changeType':
      return change.type;
    case 'attach':
    case 'reattach':
      return `network ${change.network}${change.ip === undefined ? '' : ` as ${change.ip}`}`;
    case 'enablePublicInterface':
    case 'disablePublicInterface':
      return 'public interface';
    case 'addService':
    case 'updateService':
      return `port ${change.service.listenPort}`;
    case 'deleteService':
      return `port ${change.listenPort}`;
    case 'addTarget':
    case 'removeTarget':
      return targetKey(change.target);
  }
}
