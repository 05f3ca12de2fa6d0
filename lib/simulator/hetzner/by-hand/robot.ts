import {
  addRobotServer,
  type RobotEndpoint,
  type RobotServerRecord,
  type RobotServerWish,
  type RobotSettings,
  type RobotState,
} from '../robot-state.ts';
import type { World } from '../world.ts';

/** Dedicated servers as specs and the demo change them: at once and without a request. */
export interface RobotByHand {
  /** May be changed while it runs. */
  readonly settings: RobotSettings;
  create(server: RobotServerWish): Readonly<RobotServerRecord>;
  remove(number: number): void;
  rename(number: number, name: string): void;
  setOperatingStatus(number: number, status: string): void;
  /** The only login accepted from now on. */
  setLogin(login: RobotSettings['login']): void;
  /** Whether failed logins have blocked everybody. */
  isBanned(): boolean;
  /** Other users of the account use up the quota of one endpoint, or of all. */
  drain(endpoint?: RobotEndpoint): void;
  get(number: number): Readonly<RobotServerRecord> | undefined;
  list(): Readonly<RobotServerRecord>[];
}

export function robotByHand(state: RobotState, world: World): RobotByHand {
  const known = (number: number): RobotServerRecord => {
    const server = state.servers.get(number);
    if (server === undefined)
      throw new Error(`no Robot server ${number}; there are ${[...state.servers.keys()].join(', ') || 'none'}`);
    return server;
  };
  return {
    settings: state.settings,
    create: wish => addRobotServer(state, world, wish),
    remove: number => {
      state.servers.delete(known(number).number);
    },
    rename(number, name) {
      known(number).name = name;
    },
    setOperatingStatus(number, status) {
      known(number).operatingStatus = status;
    },
    setLogin(login) {
      state.settings.login = login;
    },
    isBanned: () => state.isBanned(world.settle()),
    drain(endpoint) {
      const all = Object.keys(state.settings.limits) as RobotEndpoint[];
      for (const one of endpoint === undefined ? all : [endpoint]) state.drain(world.settle(), one);
    },
    get: number => state.servers.get(number),
    list: () => [...state.servers.values()],
  };
}
