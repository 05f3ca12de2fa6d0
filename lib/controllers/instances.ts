import { combineLatest, map, type Observable, of, startWith } from 'rxjs';
import { parseProviderID } from '../hetzner/provider-id.ts';
import type { Robot } from '../hetzner/robot.ts';
import type { RobotServer, RobotServerList } from '../hetzner/robot-server.ts';
import type { ServerList, Servers } from '../hetzner/servers.ts';
import type { CallOptions, Server } from '../hetzner/types.ts';
import type { KubeNode } from '../kubernetes/types.ts';

/** One machine, from Cloud or from Robot. */
export type Machine =
  | { readonly kind: 'cloud'; readonly server: Server }
  | { readonly kind: 'robot'; readonly server: RobotServer };

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
  latest(): InstanceLists;
  readonly changes$: Observable<InstanceLists>;
  /** True when the machine is switched off. */
  isOff(machine: Machine, o: CallOptions): Promise<boolean>;
}

export function createInstances(servers: Servers, robot: Robot | undefined): Instances {
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
    isOff: async (machine, o) => {
      if (machine.kind === 'cloud') return machine.server.status === 'off';
      return robot?.isShutOff(machine.server.number, o) ?? false;
    },
  };
}

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
      if (lists.cloud === undefined)
        return { kind: 'foreign', problem: 'the servers of the project are not known yet' };
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
  const inCloud = cloud?.byName(name);
  const robots = robot?.byName(name) ?? [];
  const inRobot = robots[0];
  const requestedAt = Math.min(
    cloud?.requestedAt ?? Number.POSITIVE_INFINITY,
    robot?.requestedAt ?? Number.POSITIVE_INFINITY,
  );
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
