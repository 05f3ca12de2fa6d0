import { type ActionBook, createActionBook } from './actions.ts';
import { formatIPv4, knownCidr } from './addresses.ts';
import type { CertificateRecord, LoadBalancerRecord } from './lb-records.ts';
import type { LoadBalancerSettings } from './lb-settings.ts';
import type { NetworkRecord, ServerRecord } from './records.ts';

/** How the fake behaves; may be changed while it runs. */
export interface FakeSettings extends LoadBalancerSettings {
  /** ms from the arrival of a request to its answer. */
  answerDelay: number;
  /** ms an action runs; by command where a function. 0: actions are born finished. */
  actionDuration: number | ((command: string) => number);
  /** Accepted bearer token. */
  token: string;
  /** Writes are answered with `token_readonly`. */
  readOnly: boolean;
  /**
   * Changes of one network while another one runs: routes side by side, or refused with 423 `locked` or 409 `conflict`.
   * Subnets and the range are always changed one at a time.
   */
  networkChanges: 'parallel' | 'locked' | 'conflict';
  /** What a route's gateway must be: any address of the network, or one that a member holds. */
  gateways: 'in-range' | 'of-member';
}

export type IdKind = 'server' | 'network' | 'primary_ip' | 'load_balancer' | 'certificate';

/** The whole state of one project. Handlers read and change it; nothing in it has a timer. */
export interface World {
  readonly settings: FakeSettings;
  readonly servers: Map<number, ServerRecord>;
  readonly networks: Map<number, NetworkRecord>;
  readonly loadBalancers: Map<number, LoadBalancerRecord>;
  readonly certificates: Map<number, CertificateRecord>;
  /** Instants at which managed certificates were asked for. */
  readonly issuances: number[];
  /** Load balancer types that are being phased out: name to the instant from which they can't be ordered. */
  readonly deprecations: Map<string, number>;
  readonly actions: ActionBook;
  /** Called with the instant of each change of the state. */
  readonly watchers: Set<(at: number) => void>;
  /** Tells the watchers that something may have changed. */
  changed(at: number): void;
  /** Next free id of a kind of resource; `wanted` takes that one. */
  mintId(kind: IdKind, wanted?: number): number;
  /** Next public IPv4 (out of the benchmark range), IPv6 /64 (out of the documentation range), MAC address. */
  mintIPv4(): string;
  mintIPv6(): string;
  mintMac(): string;
  /** Reads the clock, runs what has come due, gives the instant. */
  settle(): number;
}

const publicRange = knownCidr('198.18.0.0/15');

export function createWorld(settings: FakeSettings, now: () => number, keepActions?: number): World {
  const watchers = new Set<(at: number) => void>();
  const changed = (at: number): void => {
    for (const watcher of watchers) watcher(at);
  };
  const actions = createActionBook(10_001, changed, keepActions);
  const lastIds: Record<IdKind, number> = {
    server: 100,
    network: 0,
    primary_ip: 50_000,
    load_balancer: 7_000,
    certificate: 8_000,
  };
  let ipv4 = 0;
  let ipv6 = 0;
  let mac = 0;
  return {
    settings,
    servers: new Map(),
    networks: new Map(),
    loadBalancers: new Map(),
    certificates: new Map(),
    issuances: [],
    deprecations: new Map(),
    actions,
    watchers,
    changed,
    mintId(kind, wanted) {
      const id = wanted ?? lastIds[kind] + 1;
      lastIds[kind] = Math.max(lastIds[kind], id);
      return id;
    },
    mintIPv4: () => formatIPv4(publicRange.first + ++ipv4),
    mintIPv6: () => `2001:db8:${(++ipv6).toString(16)}::/64`,
    mintMac: () =>
      `86:00:00:${(++mac)
        .toString(16)
        .padStart(6, '0')
        .replace(/..(?!$)/g, '$&:')}`,
    settle() {
      const at = now();
      actions.settle(at);
      return at;
    },
  };
}
