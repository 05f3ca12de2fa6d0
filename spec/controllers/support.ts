import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import type { Observable, Subscription } from 'rxjs';
import type { ControllerHooks } from '../../lib/controllers/controller.ts';
import type { CloudInstances } from '../../lib/controllers/instances.ts';
import { createServers, type Servers } from '../../lib/hetzner/servers.ts';
import type { CallOptions, Server } from '../../lib/hetzner/types.ts';
import type { EventTarget } from '../../lib/kubernetes/events.ts';
import { createStoreContent } from '../../lib/kubernetes/store-content.ts';
import type { KubeNode } from '../../lib/kubernetes/types.ts';
import { virtualClock, virtualTime } from '../hetzner/support.ts';
import { node } from '../kubernetes/support.ts';

/** The network all specs of the controllers route in. */
export const networkID = 7;

export const server = (id: number, fields: Partial<Server> = {}): Server => ({
  id,
  name: `w${id}`,
  status: 'running',
  type: 'cpx31',
  location: 'fsn1',
  ipv4: `203.0.113.${id % 256}`,
  ipv6: undefined,
  privateNets: [{ network: networkID, ip: `10.0.1.${id % 256}`, aliasIPs: [] }],
  ...fields,
});

/** A Node of server `id` that was initialised, with the pod CIDR 10.244.<id>.0/24. */
export const routedNode = (id: number, fields: Partial<KubeNode> = {}): KubeNode =>
  node(`w${id}`, {
    providerID: `hcloud://${id}`,
    podCIDRs: [`10.244.${id}.0/24`],
    addresses: [{ type: 'InternalIP', address: `10.0.1.${id}` }],
    creationTimestamp: id,
    ...fields,
  });

export const uninitialized = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  effect: 'NoSchedule',
  value: 'true',
};

/** A Node as kubelet registers it with --cloud-provider=external. */
export const joiningNode = (name: string, fields: Partial<KubeNode> = {}): KubeNode =>
  node(name, { taints: [uninitialized], addresses: [{ type: 'Hostname', address: name }], ...fields });

/** A store of Nodes that is written by hand; each write counts the resource version up. */
export const nodeStore = () => {
  const content = createStoreContent<KubeNode>();
  let version = 100;
  return {
    ...content,
    synced: true,
    synced$: { subscribe: () => undefined } as never,
    put: (object: KubeNode) => {
      version += 1;
      const stored = { ...object, resourceVersion: String(version) };
      content.apply(stored, virtualClock.monotonic());
      return stored;
    },
    drop: (name: string) => {
      const object = content.get(name);
      if (object !== undefined) content.remove(object);
    },
  };
};

/** The shared list of servers over a project that is changed by hand, in virtual time. */
export const project = (t: TestContext, initial: readonly Server[] = []) => {
  const time = virtualTime(t);
  const lists: number[] = [];
  const state = {
    servers: [...initial] as readonly Server[],
    /** ms a list takes. */
    takes: 0,
    failWith: undefined as unknown,
    lists,
    /** Servers that exist though the list lacks them. */
    existing: [] as readonly number[],
    /** Single servers that were asked for. */
    asked: [] as number[],
    tokenSince: Number.NEGATIVE_INFINITY,
    /** A read by somebody else. */
    read: undefined as unknown as Servers['notBefore'],
  };
  const cloud = {
    listServers: async ({ signal }: CallOptions) => {
      lists.push(Date.now());
      const { servers, failWith, takes } = state;
      if (takes > 0) await new Promise(resolve => setTimeout(resolve, takes));
      signal.throwIfAborted();
      if (failWith !== undefined) throw failWith;
      return servers;
    },
  };
  const servers: Servers = createServers({ cloud, clock: virtualClock, errorHoldOff: () => 1_000 });
  state.read = servers.notBefore;
  const instances: CloudInstances = {
    servers,
    tokenSince: () => state.tokenSince,
    cloud: {
      hasServer: async id => {
        state.asked.push(id);
        if (state.failWith !== undefined) throw state.failWith;
        return state.existing.includes(id);
      },
    },
  };
  return { time, servers, instances, state };
};

export interface Told {
  readonly node: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

/** Events that are kept for assertions. */
export const eventLog = () => {
  const told: Told[] = [];
  return {
    told,
    event: (target: EventTarget, type: string, reason: string, message: string) => {
      told.push({ node: target.name, type, reason, message });
    },
  };
};

/** Runs a controller until the spec ends. Runs end in outcomes: the stream itself must not fail. */
export const runUntilEnd = (t: TestContext, run$: Observable<unknown>): Subscription => {
  const errors: unknown[] = [];
  const subscription = run$.subscribe({ error: err => errors.push(err) });
  t.after(() => {
    subscription.unsubscribe();
    assert.deepEqual(errors, []);
  });
  return subscription;
};

export const noHooks: ControllerHooks = { onTrigger: () => {}, onRun: () => {}, onStats: () => {} };

/** Any IPv4 address as text. */
export const anyIPv4 = fc
  .nat({ max: 2 ** 32 - 1 })
  .map(n => [24, 16, 8, 0].map(shift => (n >>> shift) & 255).join('.'));
