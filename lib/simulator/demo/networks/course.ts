import { systemClock as clock } from '../../../streams/clock.ts';
import type { PodHost } from '../../hetzner/reachability.ts';
import type { FakeKubernetes } from '../../kubernetes/fake.ts';
import { isDone } from '../journeys.ts';
import { joinNode } from '../kubelet.ts';
import type { NetworksOptions } from '../options.ts';
import { duration } from '../report.ts';
import { bar, type Screen } from '../screen.ts';
import { openStage } from '../stage.ts';
import type { NetworksSeen } from './result.ts';
import { type Built, build, clusterCIDR, environment, type Member, memberOf, members, zones } from './topology.ts';

/** ms that all nodes may take, and one. */
const patience = 180_000;
const shortPatience = 60_000;
/** ms for which a lost network is watched after the node of another one is ready. */
const aftermath = 3_000;

/** The zone that is lost, and the one that a node joins meanwhile. */
const [lost, other] = [2, 1];
const status = 503;

/** From nothing to all routed, then idle, then without one of the networks. @throws FatalError when a node does not get its route */
export async function runNetworks(options: NetworksOptions, screen: Screen): Promise<NetworksSeen> {
  const stage = await openStage(screen, () => {});
  const { project, kubernetes, journeys } = stage;
  const built = build(project);
  const join = ({ name, podCIDR, labels }: Member): void => joinNode(kubernetes, name, podCIDR, labels);
  for (const member of members) join(member);
  const pairsReached = (): number => reached(built, hosts => project.unreachablePods({ ...built.pods, hosts }).length);

  try {
    const names = zones.map(({ name, nodes }) => `${nodes} in ${name}`).join(', ');
    screen.say(`Initialising and routing ${members.length} nodes: ${names}`, 'bold');
    const from = clock.monotonic();
    const controller = stage.startController(clusterCIDR, environment);
    const done = (): number => journeys.all.values().filter(isDone).toArray().length;
    const progress = () => `${bar(done() / members.length)} ${done()}/${members.length} nodes ready`;
    const start = await stage.phase(() => stage.waitForAll(progress, patience));
    const first = [...journeys.all.values()];
    const all = built.pods.hosts.length * (built.pods.hosts.length - 1);
    const pairs = { all, reached: pairsReached(), withoutOneWay: withoutOneWay(project, built, pairsReached) };
    const seenZones = zones.map(({ name, nodes }, k) => {
      const routes = project.networks.get(built.networks[k] as number)?.routes ?? [];
      const ways = routes.filter(({ destination }) => zones.some(({ pods }) => pods === destination)).length;
      return { name, nodes, routes: routes.length, ways };
    });

    screen.say(`Idling for ${duration(options.idle)}`, 'bold');
    const idling = (left: number) => `idling, ${Math.ceil(left / 1_000)} s left`;
    const idle = await stage.phase(() => stage.rest(options.idle, idling));

    const network = zones[lost]?.name as string;
    screen.say(`Losing network ${network}: Hetzner answers ${status} to all that concerns it`, 'bold');
    const late = [other, lost].map(zone => memberOf(zone, (zones[zone]?.nodes ?? 0) + 1));
    const [joined = ''] = late.map(({ name }) => name);
    const loss = await stage.phase(async () => {
      kubernetes.journal.clear();
      project.faults.add({ kind: 'html', status, path: new RegExp(`^/networks/${built.networks[lost]}(/|$)`) });
      for (const member of late) {
        built.addServer(member);
        join(member);
      }
      const theOne = () => journeys.all.values().filter(({ name }) => name === joined);
      await stage.waitForAll(() => `waiting for ${joined}`, shortPatience, theOne);
      await stage.show(clock.monotonic() + aftermath, () => `watching the nodes of all networks`);
    });
    const journey = journeys.all.get(joined);
    return {
      options,
      zones: seenZones,
      phases: { start, idle, loss },
      journeys: first,
      from,
      pairs,
      loss: {
        network,
        status,
        joined,
        took: (journey?.available ?? Number.NaN) - (journey?.joined ?? Number.NaN),
        touched: writtenNodes(kubernetes).filter(name => late.every(one => one.name !== name)),
      },
      memoryMiB: controller.memory(),
    };
  } finally {
    await stage.close();
  }
}

function reached({ pods }: Built, unreachable: (hosts: readonly PodHost[]) => number): number {
  const count = pods.hosts.length;
  return count * (count - 1) - unreachable(pods.hosts);
}

/** What is left without the route from one zone to another, which is put back at once. */
function withoutOneWay({ networks }: Parameters<typeof build>[0], built: Built, pairsReached: () => number): number {
  const [id, destination, gateway] = [built.networks[other] as number, zones[lost]?.pods, zones[other]?.gateway] as [
    number,
    string,
    string,
  ];
  networks.removeRoute(id, destination, gateway);
  const left = pairsReached();
  networks.addRoute(id, destination, gateway);
  return left;
}

/** Names of the nodes that the controller wrote to. */
const writtenNodes = ({ journal }: FakeKubernetes): string[] => [
  ...new Set(journal.writes().flatMap(({ path }) => /^\/api\/v1\/nodes\/([^/?]+)/.exec(path)?.[1] ?? [])),
];
