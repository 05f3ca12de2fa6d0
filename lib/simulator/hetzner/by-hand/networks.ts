import type { Network, Route } from '../../../hetzner/types.ts';
import {
  addNetwork,
  addRoute,
  addSubnet,
  dropRoute,
  freeNetworkName,
  removeNetwork,
  routeOf,
} from '../network-state.ts';
import { isShown, membersOf, type NetworkRecord } from '../records.ts';
import { isAttached } from '../server-state.ts';
import type { World } from '../world.ts';

/** Networks as specs and the demo change them: at once, without an action and without a request. */

export interface SubnetByHand {
  readonly ipRange?: string;
  /** Default cloud. */
  readonly type?: string;
  /** Default eu-central. */
  readonly zone?: string;
  readonly vSwitch?: number;
}

export interface NetworkByHand {
  readonly id?: number;
  readonly name: string;
  readonly ipRange: string;
  /** Strings are cloud subnets of eu-central. Default: none. */
  readonly subnets?: readonly (string | SubnetByHand)[];
  readonly routes?: readonly Route[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** All throw an Error that says what is wrong, such as an unknown id or an overlapping route. */
export interface NetworksByHand {
  create(network: NetworkByHand): Network;
  remove(id: number): void;
  rename(id: number, name: string): void;
  addSubnet(id: number, subnet: string | SubnetByHand): void;
  addRoute(id: number, destination: string, gateway: string): void;
  removeRoute(id: number, destination: string, gateway: string): void;
  setProtected(id: number, on: boolean): void;
  /** Changes are refused with 423 for `forMs`, as if somebody else's action ran. */
  lock(id: number, forMs: number): void;
  get(id: number): Network | undefined;
  list(): Network[];
}

const subnetWish = (subnet: string | SubnetByHand) => {
  const {
    ipRange,
    type = 'cloud',
    zone = 'eu-central',
    vSwitch,
  } = typeof subnet === 'string' ? { ipRange: subnet } : subnet;
  return { type, zone, ipRange, vSwitch };
};

export function networksByHand(world: World): NetworksByHand {
  const known = (id: number): NetworkRecord => {
    world.settle();
    const network = world.networks.get(id);
    if (network === undefined)
      throw new Error(`no network ${id}; there are ${[...world.networks.keys()].join(', ') || 'none'}`);
    return network;
  };
  const seen = (network: NetworkRecord): Network => ({
    id: network.id,
    name: network.name,
    ipRange: network.ipRange,
    routes: network.routes.filter(isShown).map(({ destination, gateway }) => ({ destination, gateway })),
    servers: membersOf(network, 'server')
      .map(one => one.id)
      .filter(id => isAttached(world, network.id, id)),
  });

  return {
    create(wish) {
      const network = addNetwork(world, world.settle(), {
        id: wish.id,
        name: wish.name,
        ipRange: wish.ipRange,
        subnets: (wish.subnets ?? []).map(subnetWish),
        routes: wish.routes ?? [],
        labels: { ...wish.labels },
        exposeRoutes: false,
      });
      return seen(network);
    },
    remove: id => removeNetwork(world, known(id)),
    rename(id, name) {
      const network = known(id);
      network.name = freeNetworkName(world, name, network);
    },
    addSubnet: (id, subnet) => {
      addSubnet(world, known(id), subnetWish(subnet), 'present');
    },
    addRoute: (id, destination, gateway) => {
      addRoute(world, known(id), destination, gateway, 'present');
    },
    removeRoute(id, destination, gateway) {
      const network = known(id);
      dropRoute(network, routeOf(network, destination, gateway));
    },
    setProtected(id, on) {
      known(id).protected = on;
    },
    lock(id, forMs) {
      const network = known(id);
      network.lockedUntil = world.settle() + forMs;
    },
    get(id) {
      world.settle();
      const network = world.networks.get(id);
      return network && seen(network);
    },
    list() {
      world.settle();
      return [...world.networks.values()].map(seen);
    },
  };
}
