import type { LoadBalancerTypes } from '../../hetzner/lb-snapshot.ts';
import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import type { Networks } from '../../hetzner/networks.ts';
import { pause } from '../../hetzner/pause.ts';
import type { CallOptions } from '../../hetzner/types.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeNode, KubeService } from '../../kubernetes/types.ts';
import type { Settings } from '../../settings/settings.ts';
import type { Clock } from '../../streams/clock.ts';
import type { InstanceLists, Instances } from '../instances.ts';
import type { LoadBalancerConfig } from './config.ts';
import type { DesiredLoadBalancer } from './desired.ts';
import { chooseNetwork, type NetworkChoice, networkNameOf } from './network-choice.ts';
import type { ServiceReport } from './report.ts';
import { settleTime } from './settle-time.ts';
import { lacksAddress } from './status.ts';
import type { LoadBalancerView } from './view.ts';

/** What a run reads beside the load balancers, each from what all Services share. */
export interface Observer {
  /** How to reach the nodes, and who has an address of the network: asked anew before a load balancer moves to another one. */
  machines(config: LoadBalancerConfig, present: LoadBalancer | undefined, o: CallOptions): Promise<InstanceLists>;
  /** The network of the load balancer of a Service; no request where none is named. */
  networkOf(service: KubeService, o: CallOptions): Promise<NetworkChoice>;
  /** The type of that name with its limits, which are only looked up where another one is wanted; undefined when unknown. */
  typeOf(
    name: string | undefined,
    present: LoadBalancer | undefined,
    tell: ServiceReport,
    o: CallOptions,
  ): Promise<DesiredLoadBalancer['type']>;
  /** The load balancer with the addresses that Hetzner chose: those it has not told yet need one read, if the status names them. */
  withAddresses(loadBalancer: LoadBalancer, config: LoadBalancerConfig, o: CallOptions): Promise<LoadBalancer>;
}

/** Networks may be made for a Service that is there already: who misses one looks again at a list of this age, in ms. */
const networksMaxAge = 60_000;

export interface ObserverDeps {
  readonly settings: Settings['loadBalancers'];
  readonly networkID: number | undefined;
  readonly allNetworks?: Networks;
  readonly view: LoadBalancerView;
  readonly instances: Instances;
  readonly nodes: Pick<Store<KubeNode>, 'list' | 'observedAt'>;
  readonly types: LoadBalancerTypes;
  /** How much older than a Node the list of servers may be that tells how to reach it, in ms. */
  readonly maxAge: number;
  readonly clock: Clock;
}

export function createObserver(deps: ObserverDeps): Observer {
  const { view, instances, nodes, types, maxAge, clock, settings, networkID, allNetworks } = deps;
  return {
    networkOf: async (service, o) => {
      const name = networkNameOf(service, settings);
      if (name === undefined || allNetworks === undefined) return chooseNetwork(undefined, [], networkID);
      const choose = async (instant: number): Promise<NetworkChoice> =>
        chooseNetwork(name, (await allNetworks.notBefore(instant, o)).networks, networkID);
      const known = await choose(Number.NEGATIVE_INFINITY);
      return known.problem === undefined ? known : choose(clock.monotonic() - networksMaxAge);
    },
    machines: ({ privateIPv4 }, present, o) => {
      // A move that is refused costs all private targets for a while.
      const moves = privateIPv4 !== undefined && present?.privateNets.every(({ ip }) => ip !== privateIPv4) === true;
      if (moves) return instances.readBest(clock.monotonic(), o);
      const newest = nodes.list().reduce((max, { name }) => Math.max(max, nodes.observedAt(name) ?? 0), 0);
      return instances.readBest(newest - maxAge, o);
    },
    typeOf: async (name, present, tell, o) => {
      if (name === undefined) return undefined;
      if (present === undefined) return { name };
      if (name === present.type.name) return present.type;
      const known = await types.get(o);
      const found = known.find(type => type.name === name);
      if (found === undefined)
        tell.failed(`there is no load balancer type ${name}, only ${known.map(type => type.name).join(', ')}`);
      return found;
    },
    withAddresses: async (loadBalancer, config, o) => {
      if (!lacksAddress(loadBalancer, config)) return loadBalancer;
      const since = clock.monotonic();
      await pause(settleTime, o.signal);
      const all = await view.load(since, o);
      return all.find(({ id }) => id === loadBalancer.id) ?? loadBalancer;
    },
  };
}
