import { isLimitExceeded } from '../../hetzner/errors.ts';
import type { LoadBalancer, LoadBalancerBody } from '../../hetzner/lb-types.ts';
import type { EventReason } from '../../kubernetes/event-reasons.ts';
import type { EventRecorder, EventTarget } from '../../kubernetes/events.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode, KubeService } from '../../kubernetes/types.ts';
import { nodeTarget } from '../node-target.ts';
import type { Failure } from './apply.ts';
import { subjectOf } from './calls.ts';
import { lastingText } from './lasting.ts';
import type { LoadBalancerPlan } from './plan.ts';
import { lossText } from './takeover.ts';
import type { Notice } from './wanted.ts';

/** Events about one Service and its load balancer, for `kubectl describe`. Reasons are those of Kubernetes and the peer. */
export interface ServiceReport {
  notices(notices: readonly Notice[]): void;
  /** Nothing can be done until something changes, or another try is made. */
  failed(problem: string): void;
  /** All that failed in one event; returns its text. */
  failures(failures: readonly Failure[], isLasting?: boolean): string;
  /** No load balancer could be made. */
  notCreated(body: LoadBalancerBody, err: unknown, isLasting: boolean): void;
  /** Nothing is done while the project may be another one. */
  heldBack(doubt: string): void;
  /** A load balancer that was there is used from now on; a warning where that takes something away. */
  adopted(loadBalancer: LoadBalancer, plan: LoadBalancerPlan): void;
  ensuring(): void;
  ensured(): void;
  deleting(): void;
  deleted(): void;
  /** The status named a load balancer, but the project has none of this Service. */
  nothingToDelete(): void;
  /** A protected load balancer outlives its Service. */
  kept(loadBalancer: LoadBalancer): void;
  typeUnset(used: string): void;
  /** Its name stays where another one has the wanted one. */
  keptName(loadBalancer: LoadBalancer, wanted: string | undefined, isTaken: (name: string) => boolean): void;
  checkType(loadBalancer: LoadBalancer, wanted: string | undefined): void;
  /** Targets and listen ports that the type has no room for. */
  withoutRoom(loadBalancer: LoadBalancer, plan: Pick<LoadBalancerPlan, 'withoutRoom' | 'portsWithoutRoom'>): void;
  /** Nothing can reach the Service by its status. */
  noAddress(): void;
}

export interface ReportDeps {
  readonly events: Pick<EventRecorder, 'event'>;
  readonly nodes: Pick<Store<KubeNode>, 'get' | 'list'>;
}

export const serviceTarget = ({ name, namespace, uid }: KubeService): EventTarget => ({
  kind: 'Service',
  apiVersion: 'v1',
  name,
  namespace,
  uid,
});

export const createReport = ({ events, nodes }: ReportDeps) => ({
  about(service: KubeService): ServiceReport {
    const on = serviceTarget(service);
    const normal = (reason: EventReason, message: string): void => events.event(on, 'Normal', reason, message);
    const warn = (reason: EventReason, message: string): void => events.event(on, 'Warning', reason, message);
    const called = ({ name, id }: LoadBalancer): string => `load balancer ${name} (${id})`;
    const failed = (problem: string): void =>
      warn('SyncLoadBalancerFailed', `Could not bring the load balancer in line: ${problem}`);
    return {
      failed,
      notices: notices => {
        for (const { type, reason, message, node } of notices) {
          const object = node === undefined ? undefined : nodes.get(node);
          events.event(object === undefined ? on : nodeTarget(object), type, reason, message);
        }
      },
      failures: (failures, isLasting = false) => {
        const texts = failures.map(({ change, err }) => `${change.kind} ${subjectOf(change)}: ${textOf(err)}`);
        const more = texts.length > 5 ? `; and ${texts.length - 5} more` : '';
        const text = `${texts.slice(0, 5).join('; ')}${more}${isLasting ? `; ${lastingText}` : ''}`;
        const onlyRoom = failures.every(({ change, err }) => change.kind === 'addTarget' && isLimitExceeded(err));
        warn(onlyRoom ? 'MaxTargetsReached' : 'SyncLoadBalancerFailed', `Could not make all changes: ${text}`);
        return text;
      },
      notCreated: ({ type, location, networkZone }, err, isLasting) => {
        const next = isLasting ? `; ${lastingText}` : '';
        failed(`no load balancer of type ${type} in ${location ?? networkZone} could be made: ${textOf(err)}${next}`);
      },
      heldBack: doubt => warn('ForeignProject', `Nothing is changed for this Service: ${doubt}`),
      adopted: (loadBalancer, plan) => {
        const text = `Uses the existing ${called(loadBalancer)} from now on`;
        const loss = lossText(loadBalancer, plan);
        if (loss === undefined) normal('AdoptedLoadBalancer', text);
        else warn('AdoptedLoadBalancer', `${text}. ${loss}`);
      },
      ensuring: () => normal('EnsuringLoadBalancer', 'Bringing the load balancer in line'),
      ensured: () => normal('EnsuredLoadBalancer', 'The load balancer is in line'),
      deleting: () => normal('DeletingLoadBalancer', 'Deleting the load balancer'),
      deleted: () => normal('DeletedLoadBalancer', 'Deleted the load balancer'),
      nothingToDelete: () =>
        warn(
          'LoadBalancerNotFound',
          'No load balancer of this Service is there to be deleted: it was deleted before, or HCLOUD_TOKEN is of another project',
        ),
      kept: loadBalancer =>
        warn('KeptLoadBalancer', `The ${called(loadBalancer)} is protected against deletion, so it stays as it is`),
      typeUnset: used =>
        warn(
          'LoadBalancerTypeUnconfigured',
          `No type is set, so ${used} is used: set the annotation load-balancer.hetzner.cloud/type or HCLOUD_LOAD_BALANCERS_TYPE`,
        ),
      keptName: ({ name }, wanted, isTaken) => {
        if (wanted !== undefined && wanted !== name && isTaken(wanted))
          failed(`the load balancer keeps its name ${name}: another one is called ${wanted}`);
      },
      checkType: ({ type }) => {
        if (type.unavailableAfter === undefined) return;
        const date = new Date(type.unavailableAfter).toISOString().slice(0, 10);
        warn('LoadBalancerTypeDeprecated', `The type ${type.name} is deprecated and can't be ordered after ${date}`);
      },
      withoutRoom: ({ type }, plan) => {
        const [targets, ports] = [plan.withoutRoom.length, plan.portsWithoutRoom];
        if (targets > 0) {
          const text = `The type ${type.name} has room for ${type.maxTargets} targets; ${targets} nodes are none`;
          warn('MaxTargetsReached', text);
        }
        if (ports.length > 0) {
          const text = `The type ${type.name} has room for ${type.maxServices} ports; there is none for ${ports.join(', ')}`;
          warn('SyncLoadBalancerFailed', text);
        }
      },
      noAddress: () =>
        warn(
          'NoIngressAddress',
          'The status has no address: the public interface is off, and private addresses are left out or there are none',
        ),
    };
  },
});

/** What an error says. */
export const textOf = (err: unknown): string => (err instanceof Error ? err.message : String(err));
