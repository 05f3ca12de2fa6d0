import type { World } from './world.ts';

/** What the fake remembers of the account at Robot. */

export interface RobotServerRecord {
  readonly number: number;
  name: string;
  readonly product: string;
  readonly dc: string;
  readonly ipv4: string | null;
  /** Such as `2001:db8:1::`, without a prefix length. */
  readonly ipv6Net: string | null;
  readonly subnet: readonly { readonly ip: string; readonly mask: string }[] | null;
  /** `running`, `shut off`, `not supported`. */
  operatingStatus: string;
  /** Ways to reset it; empty: none, RESET_NOT_AVAILABLE. */
  readonly resetTypes: readonly string[];
}

/** Calls that share one quota. */
export type RobotEndpoint = 'GET /server' | 'POST /server' | 'GET /reset' | 'POST /reset';

/** How Robot behaves; may be changed while it runs. */
export interface RobotSettings {
  login: { readonly user: string; readonly password: string };
  /** So many failed logins within ten minutes block everybody for ten minutes; 0: never. */
  banAfter: number;
  /** Requests an hour. */
  limits: Record<RobotEndpoint, number>;
  /** Refusals by the quota have no body. */
  bareRefusals: boolean;
}

export interface RobotState {
  readonly settings: RobotSettings;
  readonly servers: Map<number, RobotServerRecord>;
  /** Next free server number; `wanted` takes that one. */
  mintNumber(wanted?: number): number;
  /** Whether the login is accepted. What is refused counts for the ban, also during it nobody gets in. */
  logIn(at: number, authorization: string | undefined): boolean;
  isBanned(at: number): boolean;
  /** Counts a request; false when the quota is used up. */
  take(at: number, endpoint: RobotEndpoint): boolean;
  /** Others of the account use up the quota. */
  drain(at: number, endpoint: RobotEndpoint): void;
}

/** Length of a quota's window, in ms. */
export const quotaInterval = 3_600_000;
const banInterval = 600_000;

export const robotDefaults: RobotSettings = {
  login: { user: '#ws+simulated', password: 'simulated-robot-password' },
  banAfter: 3,
  limits: { 'GET /server': 200, 'POST /server': 200, 'GET /reset': 500, 'POST /reset': 50 },
  bareRefusals: false,
};

export function createRobotState(options: Partial<RobotSettings>): RobotState {
  const settings: RobotSettings = {
    ...robotDefaults,
    ...options,
    limits: { ...robotDefaults.limits, ...options.limits },
  };
  const windows = new Map<RobotEndpoint, { readonly from: number; used: number }>();
  let failures: number[] = [];
  let bannedUntil = 0;
  let lastNumber = 320;

  const windowOf = (at: number, endpoint: RobotEndpoint): { readonly from: number; used: number } => {
    const known = windows.get(endpoint);
    if (known !== undefined && at < known.from + quotaInterval) return known;
    const fresh = { from: at, used: 0 };
    windows.set(endpoint, fresh);
    return fresh;
  };

  return {
    settings,
    servers: new Map(),
    mintNumber(wanted) {
      const number = wanted ?? lastNumber + 1;
      lastNumber = Math.max(lastNumber, number);
      return number;
    },
    logIn(at, authorization) {
      if (at < bannedUntil) return false;
      const { user, password } = settings.login;
      const encoded = /^Basic +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
      if (Buffer.from(encoded, 'base64').toString() === `${user}:${password}`) return true;
      failures = [...failures.filter(one => one > at - banInterval), at];
      if (settings.banAfter > 0 && failures.length >= settings.banAfter) bannedUntil = at + banInterval;
      return false;
    },
    isBanned: at => at < bannedUntil,
    take(at, endpoint) {
      const window = windowOf(at, endpoint);
      if (window.used >= settings.limits[endpoint]) return false;
      window.used += 1;
      return true;
    },
    drain(at, endpoint) {
      windowOf(at, endpoint).used = settings.limits[endpoint];
    },
  };
}

/** What Robot lists for a new server, with addresses out of the fake's ranges where none are wished for. */
export interface RobotServerWish {
  readonly number?: number;
  readonly name: string;
  readonly product?: string;
  readonly dc?: string;
  readonly ipv4?: string | null;
  readonly ipv6Net?: string | null;
  readonly subnet?: RobotServerRecord['subnet'];
  readonly operatingStatus?: string;
  readonly resetTypes?: readonly string[];
}

const allResetTypes = ['sw', 'hw', 'man', 'power', 'power_long'];

/** Throws an Error for a number that is taken. Names may repeat, as at Robot. */
export function addRobotServer(state: RobotState, world: World, wish: RobotServerWish): RobotServerRecord {
  const number = state.mintNumber(wish.number);
  if (state.servers.has(number)) throw new Error(`there is a Robot server ${number} already`);
  const ipv6Net = wish.ipv6Net === undefined ? world.mintIPv6().replace(/\/\d+$/, '') : wish.ipv6Net;
  const record: RobotServerRecord = {
    number,
    name: wish.name,
    product: wish.product ?? 'AX41-NVMe',
    dc: wish.dc ?? 'FSN1-DC14',
    ipv4: wish.ipv4 === undefined ? world.mintIPv4() : wish.ipv4,
    ipv6Net,
    subnet: wish.subnet !== undefined ? wish.subnet : ipv6Net ? [{ ip: ipv6Net, mask: '64' }] : null,
    operatingStatus: wish.operatingStatus ?? 'running',
    resetTypes: wish.resetTypes ?? allResetTypes,
  };
  state.servers.set(number, record);
  return record;
}
