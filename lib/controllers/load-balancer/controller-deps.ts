import type { Observable } from 'rxjs';
import type { Actions } from '../../hetzner/actions.ts';
import type { LoadBalancerSnapshot, LoadBalancerTypes } from '../../hetzner/lb-snapshot.ts';
import type { LoadBalancers } from '../../hetzner/load-balancers.ts';
import type { Networks } from '../../hetzner/networks.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { EventRecorder } from '../../kubernetes/events.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode, KubeService } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Clock } from '../../streams/clock.ts';
import type { ControllerHooks } from '../controller.ts';
import type { Instances } from '../instances.ts';
import type { NameOfNetwork, NodeNetworks } from '../networks.ts';
import type { Project } from '../project.ts';
import type { CertificateKeeper } from './certificate-keeper.ts';
import type { ClassRules } from './ownership.ts';

/** What the controller of load balancers works with. */
export interface LoadBalancerControllerDeps {
  readonly services: Store<KubeService>;
  /** Those this instance looks after. */
  readonly nodes: Store<KubeNode>;
  readonly allNodes: Store<KubeNode>;
  readonly instances: Instances;
  readonly project: Project;
  readonly api: LoadBalancers;
  readonly snapshot: LoadBalancerSnapshot;
  readonly types: LoadBalancerTypes;
  readonly actions: Actions;
  readonly certificates: CertificateKeeper;
  readonly client: KubeClient;
  readonly settings: Settings['loadBalancers'];
  readonly rules: ClassRules;
  readonly networkID: number | undefined;
  /** All of the project, for load balancers whose network is named. */
  readonly allNetworks?: Networks;
  /** Where the cluster has several networks. */
  readonly networks?: NodeNetworks | undefined;
  readonly nameOfNetwork?: NameOfNetwork | undefined;
  /** Whether Robot servers are targets; without a login to Robot only by the addresses that their nodes report. */
  readonly robotEnabled: boolean;
  /** How old a list of servers may be for the targets, in ms. */
  readonly maxAge: number;
  readonly drift$: Observable<unknown>;
  /** Most Services that are worked on at a time. */
  readonly concurrency: number;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hooks: ControllerHooks;
  /** ms to wait after a failure; `attempt` counts from 0. */
  readonly backoff: (attempt: number) => number;
}
