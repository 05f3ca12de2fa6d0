import { combineLatest, map, type Observable, of, startWith } from 'rxjs';
import type { Cloud } from '../hetzner/cloud.ts';
import type { Hetzner } from '../hetzner/hetzner.ts';
import { type ProviderID, parseProviderID } from '../hetzner/provider-id.ts';
import type { Robot } from '../hetzner/robot.ts';
import type { RobotServer, RobotServerList } from '../hetzner/robot-server.ts';
import type { ServerList } from '../hetzner/servers.ts';
import type { CallOptions, Server } from '../hetzner/types.ts';
import type { KubeNode } from '../kubernetes/types.ts';
import type { Clock } from '../streams/clock.ts';

/** One machine, from Cloud or from Robot. */
export type Machine =
  | { readonly kind: 'cloud'; readonly server: Server }
  | { readonly kind: 'robot'; readonly server: RobotServer };

/** Its number at Hetzner. */
export const machineID = (machine: Machine): number =>
  machine.kind === 'cloud' ? machine.server.id : machine.server.number;

/** The newest answers of both clouds. */
export interface InstanceLists {
  readonly cloud: ServerList | undefined;
  /** Undefined while Robot is not in use or has not answered yet. */
  readonly robot: RobotServerList | undefined;
}

/** What the lists say of the machine of a node. */
export type Located =
  | { readonly kind: 'found'; readonly machine: Machine; readonly requestedAt: number }
  /** No such machine; `problem` says what was looked for. */
  | { readonly kind: 'missing'; readonly requestedAt: number; readonly problem: string; readonly renamed: boolean }
  /** Not a machine of ours: leave the node alone. */
  | { readonly kind: 'foreign'; readonly problem: string }
  /** More than one machine it could be: leave the node alone. */
  | { readonly kind: 'ambiguous'; readonly problem: string };

/** All machines of the account, read as rarely as the question allows. */
export interface Instances {
  readonly robotEnabled: boolean;
  /**
   * Lists that can tell about the node, those of its cloud requested at or after `instant`. A Robot list is used for as
   * long as its cache lasts while it has the node's server, and read again before anything is said to be missing.
   * Rejects with the error of the request it waited for.
   */
  read(node: KubeNode, instant: number, o: CallOptions): Promise<InstanceLists>;
  /** Both lists, that of Cloud requested at or after `instant`, that of Robot as long as its cache lasts. */
  readAll(instant: number, o: CallOptions): Promise<InstanceLists>;
  /** As `readAll`, but where Robot does not answer its newest list does, however old, or none. */
  readBest(instant: number, o: CallOptions): Promise<InstanceLists>;
  latest(): InstanceLists;
  readonly changes$: Observable<InstanceLists>;
  /** Whether the machine of that answer is switched off, and when that was asked (Robot tells by a request of its own). */
  power(machine: Machine, listedAt: number, o: CallOptions): Promise<{ isOff: boolean; requestedAt: number }>;
  /** Asks for one machine by its number; false only when Hetzner says that there is none. */
  exists(id: MachineID, o: CallOptions): Promise<boolean>;
  /** Monotonic ms since which the present credentials of that cloud are in use. */
  credentialsSince(kind: MachineID['kind']): number;
}

export type MachineID = Extract<ProviderID, { readonly kind: 'cloud' | 'robot' }>;

export type CloudInstances = Pick<Hetzner, 'servers' | 'tokenSince'> & { readonly cloud: Pick<Cloud, 'hasServer'> };

export function createInstances(
  hetzner: CloudInstances,
  robot: Robot | undefined,
  clock: Pick<Clock, 'monotonic'>,
): Instances {
  const { servers } = hetzner;
  const latest = (): InstanceLists => ({ cloud: servers.latest(), robot: robot?.servers.latest() });

  /** A recent list unless it lacks the machine and is older than the question; each such miss costs a request. */
  const readRobot = async (node: KubeNode, cloud: ServerList | undefined, instant: number, o: CallOptions) => {
    if (robot === undefined) return undefined;
    const list = await robot.servers.recent(o);
    const isMissing = locate(node, { cloud, robot: list }).kind === 'missing';
    return isMissing && list.requestedAt < instant ? robot.servers.notBefore(instant, o) : list;
  };

  return {
    robotEnabled: robot !== undefined,
    latest,
    changes$: combineLatest([
      servers.changes$.pipe(startWith(undefined)),
      robot === undefined ? of(undefined) : robot.servers.changes$.pipe(startWith(undefined)),
    ]).pipe(map(([cloud, robotList]) => ({ cloud, robot: robotList }))),
    read: async (node, instant, o) => {
      const kind = node.providerID === '' ? 'either' : parseProviderID(node.providerID).kind;
      const cloud = kind === 'cloud' || kind === 'either' ? await servers.notBefore(instant, o) : servers.latest();
      const inRobot = kind === 'robot' || kind === 'either';
      return { cloud, robot: inRobot ? await readRobot(node, cloud, instant, o) : robot?.servers.latest() };
    },
    readAll: async (instant, o) => {
      const [cloud, robotList] = await Promise.all([servers.notBefore(instant, o), robot?.servers.recent(o)]);
      return { cloud, robot: robotList };
    },
    readBest: async (instant, o) => {
      const recent = robot?.servers.recent(o).catch(err => {
        if (o.signal.aborted) throw err;
        return robot.servers.latest();
      });
      const [cloud, robotList] = await Promise.all([servers.notBefore(instant, o), recent]);
      return { cloud, robot: robotList };
    },
    power: async (machine, listedAt, o) => {
      if (machine.kind === 'cloud') return { isOff: machine.server.status === 'off', requestedAt: listedAt };
      const requestedAt = clock.monotonic();
      return { isOff: (await robot?.isShutOff(machine.server.number, o)) ?? false, requestedAt };
    },
    exists: async ({ kind, id }, o) => {
      if (kind === 'cloud') return hetzner.cloud.hasServer(id, o);
      // Without a client nobody knows.
      return robot?.hasServer(id, o) ?? true;
    },
    credentialsSince: kind =>
      kind === 'cloud' ? hetzner.tokenSince() : (robot?.loginSince() ?? Number.POSITIVE_INFINITY),
  };
}

/** False for nodes that nothing Hetzner says can concern: another provider's, with a malformed ID, or Robot's without Robot. */
export function isOurs({ providerID }: KubeNode, robotEnabled: boolean): boolean {
  if (providerID === '') return true;
  const { kind } = parseProviderID(providerID);
  return kind === 'cloud' || (kind === 'robot' && robotEnabled);
}

/** Where nobody has listed the servers, nothing is missing (BUG-015). */
const unlisted: Located = { kind: 'foreign', problem: 'the servers of the project are not known yet' };

/**
 * Finds the machine of a node: by the number in its provider ID where it has one, else by its exact name, which is the
 * only tie there is at first contact. The name must be in one cloud only (BUG-062). A Robot server under another name
 * counts as missing: hosts are used again for other clusters under new names (BUG-063).
 */
export function locate(node: KubeNode, lists: InstanceLists): Located {
  if (node.providerID === '') return locateByName(node.name, lists);
  const id = parseProviderID(node.providerID);
  const missing = (requestedAt: number, problem: string, renamed = false): Located => ({
    kind: 'missing',
    requestedAt,
    problem,
    renamed,
  });
  switch (id.kind) {
    case 'cloud': {
      if (lists.cloud === undefined) return unlisted;
      const { requestedAt } = lists.cloud;
      const server = lists.cloud.byID(id.id);
      return server === undefined
        ? missing(requestedAt, `server ${id.id} does not exist in the Hetzner Cloud project`)
        : { kind: 'found', machine: { kind: 'cloud', server }, requestedAt };
    }
    case 'robot': {
      if (lists.robot === undefined) {
        return {
          kind: 'foreign',
          problem: `provider ID ${node.providerID} names a Robot server, but Robot support is not enabled`,
        };
      }
      const { requestedAt } = lists.robot;
      const server = lists.robot.byNumber(id.id);
      if (server === undefined) return missing(requestedAt, `server ${id.id} does not exist in the Robot account`);
      if (server.name === node.name) return { kind: 'found', machine: { kind: 'robot', server }, requestedAt };
      return missing(requestedAt, `Robot server ${id.id} is called ${server.name}, not ${node.name}`, true);
    }
    case 'malformed':
      return { kind: 'foreign', problem: `provider ID ${node.providerID} is malformed: ${id.problem}` };
    case 'foreign':
      return { kind: 'foreign', problem: `provider ID ${node.providerID} is not one of Hetzner` };
  }
}

function locateByName(name: string, { cloud, robot }: InstanceLists): Located {
  if (cloud === undefined) return unlisted;
  const inCloud = cloud.byName(name);
  const robots = robot?.byName(name) ?? [];
  const inRobot = robots[0];
  const requestedAt = Math.min(cloud.requestedAt, robot?.requestedAt ?? Number.POSITIVE_INFINITY);
  if (robots.length > 1) {
    const numbers = robots.map(server => server.number).join(', ');
    return { kind: 'ambiguous', problem: `Robot servers ${numbers} are all named ${name}` };
  }
  if (inCloud !== undefined && inRobot !== undefined) {
    return {
      kind: 'ambiguous',
      problem: `both a Cloud server (${inCloud.id}) and a Robot server (${inRobot.number}) are named ${name}`,
    };
  }
  if (inCloud !== undefined) return { kind: 'found', machine: { kind: 'cloud', server: inCloud }, requestedAt };
  if (inRobot !== undefined) return { kind: 'found', machine: { kind: 'robot', server: inRobot }, requestedAt };
  const where = robot === undefined ? 'Hetzner Cloud project' : 'Hetzner Cloud project or the Robot account';
  return { kind: 'missing', requestedAt, problem: `no server named ${name} exists in the ${where}`, renamed: false };
}
