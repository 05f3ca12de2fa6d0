import { ActionError } from '../../hetzner/actions.ts';
import { classOf, HetznerError } from '../../hetzner/errors.ts';
import { withoutNetwork, withoutTarget } from '../../hetzner/lb-changes.ts';
import type { LoadBalancer, TargetBody } from '../../hetzner/lb-types.ts';
import type { LoadBalancers } from '../../hetzner/load-balancers.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Pipeline } from '../pipeline.ts';
import { callOf, changeMessages, detachCall, subjectOf } from './calls.ts';
import { essentialsOf } from './essentials.ts';
import { leftNetwork, withChange } from './model.ts';
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
  /** Something was found done already, so the load balancer is not what it was taken for. */
  readonly surprised: boolean;
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
 * Makes a plan real, stage by stage. A change that fails doesn't stop the others, but for those that can't succeed or
 * would do harm without it: private targets need the network, public ones the public interface, and the last target
 * does not go while none could come.
 */
export async function applyPlan(
  loadBalancer: LoadBalancer,
  plan: LoadBalancerPlan,
  { api, pipeline, record, log }: ApplyDeps,
  signal: AbortSignal,
): Promise<Applied> {
  const { id } = loadBalancer;
  let present = loadBalancer;
  let changes = 0;
  let surprised = false;
  let leaving = 0;
  const failures: Failure[] = [];

  const run = (change: Parameters<typeof callOf>[1]): Promise<void> => pipeline.run([callOf(id, change, api)], signal);
  const become = (next: LoadBalancer): void => {
    present = next;
    record(present);
  };

  /** Puts back what was taken away for something else that could not be had. */
  const putBack = async (change: Parameters<typeof callOf>[1]): Promise<void> => {
    try {
      await run(change);
      become(withChange(present, change));
    } catch (err) {
      signal.throwIfAborted();
      log.warn('Could not undo change of load balancer', { loadBalancerID: id, subject: subjectOf(change), err });
    }
  };

  const perform = async (change: LoadBalancerChange): Promise<void> => {
    if (change.kind === 'reattach' || change.kind === 'changeNetwork') {
      const attach = (network: number, ip: string | undefined, subnet?: string) =>
        ({ kind: 'attach', network, ip, subnet }) as const;
      const left = leftNetwork(change);
      await pipeline.run([detachCall(id, left, api)], signal);
      become(withoutNetwork(present, left));
      try {
        await run(attach(change.network, change.ip, change.kind === 'changeNetwork' ? change.subnet : undefined));
      } catch (err) {
        signal.throwIfAborted();
        await putBack(attach(left, change.kind === 'reattach' ? change.previousIP : change.previous.ip));
        throw err;
      }
    } else if (change.kind === 'flipTarget') {
      await run({ kind: 'removeTarget', target: change.previous });
      become(withoutTarget(present, change.previous));
      try {
        await run({ kind: 'addTarget', target: change.target });
      } catch (err) {
        signal.throwIfAborted();
        await putBack({ kind: 'addTarget', target: change.previous });
        throw err;
      }
    } else {
      await run(change);
    }
  };

  const isPointless = (change: LoadBalancerChange): boolean => {
    const { type, targets, services, privateNets, publicNet } = present;
    const failed = (kind: LoadBalancerChange['kind']): boolean =>
      failures.some(failure => failure.change.kind === kind);
    switch (change.kind) {
      case 'addTarget':
        return targets.length >= (type.maxTargets ?? Number.POSITIVE_INFINITY) || !hasWay(change.target);
      case 'flipTarget':
        return !hasWay(change.target);
      case 'addService':
        return services.length >= (type.maxServices ?? Number.POSITIVE_INFINITY);
      case 'removeTarget':
        return (failed('addTarget') || failed('flipTarget')) && targets.length - leaving <= 1;
      case 'disablePublicInterface':
        return privateNets.length === 0 || targets.some(target => target.type === 'server' && !target.usePrivateIP);
      default:
        return false;
    }
    function hasWay(target: TargetBody): boolean {
      if (target.type === 'ip') return true;
      return target.usePrivateIP ? privateNets.length > 0 : publicNet.enabled;
    }
  };

  const applyOne = async (change: LoadBalancerChange): Promise<void> => {
    if (failures.length > 0 && isPointless(change)) return;
    if (change.kind === 'removeTarget') leaving += 1;
    try {
      await perform(change);
      become(withChange(present, change));
    } catch (err) {
      if (signal.aborted) throw err;
      if (!isDoneAlready(change, err)) {
        failures.push({ change, err });
        await applyEssentials(change, err);
        return;
      }
      surprised = true;
      become(withChange(present, change));
    } finally {
      if (change.kind === 'removeTarget') leaving -= 1;
    }
    changes += 1;
    log.info(changeMessages[change.kind], { loadBalancerID: id, subject: subjectOf(change) });
  };

  /** A listener that is refused because of an option would serve nothing, or send traffic to where nothing listens. */
  const applyEssentials = async (change: LoadBalancerChange, err: unknown): Promise<void> => {
    if ((change.kind !== 'addService' && change.kind !== 'updateService') || !isInvalid(err)) return;
    const service = essentialsOf(change.service);
    if (service !== undefined) await applyOne({ kind: change.kind, service });
  };

  for (const stage of plan.stages) await Promise.all(stage.map(applyOne));
  return { loadBalancer: present, failures, changes, surprised };
}

/** The words of the refusal, from the answer or from the action. */
export const codeOf = (err: unknown): string | undefined =>
  err instanceof HetznerError || err instanceof ActionError ? err.code : undefined;

const isInvalid = (err: unknown): boolean => codeOf(err) === 'invalid_input' && classOf(err) === 'permanent';

const isDoneAlready = (change: LoadBalancerChange, err: unknown): boolean =>
  (change.kind === 'addTarget' && codeOf(err) === 'target_already_defined') ||
  (change.kind === 'attach' && codeOf(err) === 'load_balancer_already_attached') ||
  (change.kind === 'deleteService' && codeOf(err) === 'not_found');
