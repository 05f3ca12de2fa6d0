import { decodeLoadBalancer } from '../../../hetzner/lb-decode.ts';
import { encodeLoadBalancer, encodeService, encodeTarget, encodeTargetID } from '../../../hetzner/lb-encode.ts';
import type { LoadBalancer, LoadBalancerBody, ServiceBody, TargetBody } from '../../../hetzner/lb-types.ts';
import type { LoadBalancerRecord } from '../lb-records.ts';
import { serviceOn } from '../lb-services.ts';
import {
  addLoadBalancer,
  attachmentOf,
  dropNetwork,
  dropService,
  dropTarget,
  freeLoadBalancerName,
  orderableType,
  promiseNetwork,
  promiseService,
  promiseTarget,
  promiseUpdate,
  removeLoadBalancer,
} from '../lb-state.ts';
import { targetOf } from '../lb-target-rules.ts';
import { loadBalancerView } from '../lb-views.ts';
import { loadBalancerWish } from '../resources/load-balancers.ts';
import { find } from '../router.ts';
import { serves, type TrafficOptions, type TrafficWatch, watchTraffic } from '../traffic.ts';
import type { World } from '../world.ts';

/** Load balancers as specs and the demo change them: at once, without an action and without a request. */

export interface LoadBalancerByHand extends Partial<Omit<LoadBalancerBody, 'name'>> {
  readonly id?: number;
  readonly name: string;
  /** Address in the network. */
  readonly ip?: string;
  readonly protected?: boolean;
}

/** All throw an Error that says what is wrong, such as an unknown id or a port that is taken. */
export interface LoadBalancersByHand {
  /** Default: type lb11 in fsn1, unless a network zone is given. */
  create(loadBalancer: LoadBalancerByHand): LoadBalancer;
  remove(id: number): void;
  rename(id: number, name: string): void;
  setLabels(id: number, labels: Readonly<Record<string, string>>): void;
  setProtected(id: number, on: boolean): void;
  setType(id: number, type: string): void;
  setAlgorithm(id: number, algorithm: string): void;
  setPublicInterface(id: number, on: boolean): void;
  setDNSPtr(id: number, ip: string, dnsPtr: string | undefined): void;
  addService(id: number, service: ServiceBody): void;
  updateService(id: number, service: ServiceBody): void;
  removeService(id: number, listenPort: number): void;
  addTarget(id: number, target: TargetBody): void;
  removeTarget(id: number, target: TargetBody): void;
  attach(id: number, network: number, wish?: { ip?: string; ipRange?: string }): void;
  detach(id: number, network: number): void;
  /** Changes are refused for `forMs`, as if somebody else's action ran. */
  lock(id: number, forMs: number): void;
  /** From `unavailableAfter` on the type can't be ordered. */
  deprecateType(name: string, unavailableAfter: number): void;
  get(id: number): LoadBalancer | undefined;
  byName(name: string): LoadBalancer | undefined;
  list(): LoadBalancer[];
  /** Whether there is a listener for the port and at least one target whose server is there and runs. */
  serves(id: number, port: number, options?: TrafficOptions): boolean;
  /** Records from now on when one of the ports is not served. */
  watchTraffic(id: number, ports: readonly number[], options?: TrafficOptions): TrafficWatch;
}

/** Without what is undefined, as a body arrives. */
const asBody = (value: unknown): Record<string, unknown> => JSON.parse(JSON.stringify(value));

export function loadBalancersByHand(world: World): LoadBalancersByHand {
  const known = (id: number): LoadBalancerRecord => {
    world.settle();
    const lb = world.loadBalancers.get(id);
    if (lb === undefined)
      throw new Error(`no load balancer ${id}; there are ${[...world.loadBalancers.keys()].join(', ') || 'none'}`);
    return lb;
  };
  const seen = (lb: LoadBalancerRecord): LoadBalancer =>
    decodeLoadBalancer(loadBalancerView(world, lb, world.settle()));
  const firstSeen = (test: (lb: LoadBalancerRecord) => boolean): LoadBalancer | undefined => {
    world.settle();
    const lb = world.loadBalancers.values().find(test);
    return lb && seen(lb);
  };

  return {
    create({ id, ip, protected: isProtected = false, ...wish }) {
      const at = world.settle();
      const place = wish.networkZone === undefined ? { location: wish.location ?? 'fsn1' } : {};
      const body = asBody(encodeLoadBalancer({ type: 'lb11', ...wish, ...place }));
      const lb = addLoadBalancer(world, at, { ...loadBalancerWish(world, body), id, address: { ip } });
      lb.phase = 'present';
      lb.protected = isProtected;
      return seen(lb);
    },
    remove: id => removeLoadBalancer(world, known(id)),
    rename(id, name) {
      const lb = known(id);
      lb.name = freeLoadBalancerName(world, name, lb);
    },
    setLabels(id, labels) {
      known(id).labels = { ...labels };
    },
    setProtected(id, on) {
      known(id).protected = on;
    },
    setType(id, type) {
      known(id).type = orderableType(world, type, world.settle());
    },
    setAlgorithm(id, algorithm) {
      known(id).algorithm = algorithm;
    },
    setPublicInterface(id, on) {
      known(id).publicEnabled = on;
    },
    setDNSPtr(id, ip, dnsPtr) {
      const { dnsPtrs } = known(id);
      if (dnsPtr === undefined) dnsPtrs.delete(ip);
      else dnsPtrs.set(ip, dnsPtr);
    },
    addService(id, service) {
      promiseService(world, known(id), asBody(encodeService(service)), world.settle()).phase = 'present';
    },
    updateService(id, service) {
      const lb = known(id);
      const before = serviceOn(lb, service.listenPort);
      promiseUpdate(world, lb, before, asBody(encodeService(service))).commit();
    },
    removeService(id, listenPort) {
      const lb = known(id);
      dropService(lb, serviceOn(lb, listenPort));
    },
    addTarget(id, target) {
      promiseTarget(world, known(id), asBody(encodeTarget(target)), world.settle()).phase = 'present';
    },
    removeTarget(id, target) {
      const lb = known(id);
      dropTarget(lb, targetOf(world, lb, asBody(encodeTargetID(target))));
    },
    attach(id, network, wish = {}) {
      promiseNetwork(known(id), find(world.networks, network, 'network'), wish).phase = 'present';
    },
    detach(id, network) {
      const lb = known(id);
      attachmentOf(lb, network);
      dropNetwork(world, lb, network);
    },
    lock(id, forMs) {
      known(id).lockedUntil = world.settle() + forMs;
    },
    deprecateType(name, unavailableAfter) {
      world.deprecations.set(name, unavailableAfter);
    },
    get: id => firstSeen(one => one.id === id),
    byName: name => firstSeen(one => one.name === name),
    list() {
      world.settle();
      return [...world.loadBalancers.values()].map(seen);
    },
    serves: (id, port, options) => serves(world, id, port, world.settle(), options),
    watchTraffic: (id, ports, options = {}) => watchTraffic(world, world.settle(), id, ports, options),
  };
}
