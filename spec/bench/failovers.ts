import type { RequestEntry } from '../../lib/simulator/hetzner/journal.ts';
import { eventually } from '../support/cluster.ts';
import type { ControllerProcess } from '../support/controller-process.ts';
import { deleteNode } from '../support/nodes.ts';
import type { Result } from './figures.ts';
import { type Bench, range, withProject } from './project.ts';

const quick = [
  '--leader-elect-lease-duration=4s',
  '--leader-elect-renew-deadline=2500ms',
  '--leader-elect-retry-period=500ms',
];
/** How a leader ends, in turn: told to, killed, and paused for longer than its lease. */
const ways = ['SIGTERM', 'SIGKILL', 'SIGSTOP'] as const;
/** Nodes there are at a time. */
const size = 12;

interface Replica {
  readonly name: string;
  readonly process: ControllerProcess;
  /** Instants at which it became the leader, as far as they were waited for. */
  readonly terms: number[];
}

/** Writes that came, or were not answered yet, when another replica led. */
const outsideTerms = (
  requests: readonly RequestEntry[],
  replicas: readonly Replica[],
  answerDelay: number,
): RequestEntry[] => {
  const terms = replicas.flatMap(({ name, terms }) => terms.map(from => ({ name, from })));
  terms.sort((a, b) => a.from - b.from);
  const leaderAt = (at: number): string | undefined => terms.findLast(({ from }) => from <= at)?.name;
  return requests.filter(({ writer, at }) => writer !== undefined && writer !== leaderAt(at + answerDelay));
};

/** Two replicas; the leader is ended while it writes routes, again and again. */
export const failovers = (bench: Bench): Promise<Result[]> =>
  withProject(bench, {}, async project => {
    const { cluster, hetzner } = project;
    let [started, last] = [0, 0];
    const live: number[] = [];
    const replicas: Replica[] = [];
    const launch = async (): Promise<Replica> => {
      const name = `r${++started}`;
      const env = { HCLOUD_ENDPOINT: await project.endpoint(name) };
      const replica = { name, process: await project.launch({ args: quick, env }), terms: [] };
      replicas.push(replica);
      return replica;
    };
    const leads = async (replica: Replica): Promise<void> => {
      const found = () =>
        replica.process.lines().filter(({ msg }) => msg === 'Became the leader')[replica.terms.length];
      await replica.process.waitForLine(() => found() !== undefined, `${replica.name} leads`, 60_000);
      replica.terms.push(Date.parse(found()?.ts ?? ''));
    };
    const replaceNodes = async (): Promise<void> => {
      for (const _ of range(1, 3)) {
        last = (last % 200) + 1;
        live.push(last);
        project.addServer(last);
        await project.join(last);
        if (live.length <= size) continue;
        const name = `w${live.shift()}`;
        await deleteNode(cluster, name);
        hetzner.servers.remove(hetzner.servers.byName(name)?.id as number);
      }
    };

    let leader = await launch();
    await leads(leader);
    let follower = await launch();
    const wanted = bench.quick ? 9 : 100;
    const times: number[] = [];
    for (const i of range(0, wanted - 1)) {
      const way = ways[i % ways.length] ?? 'SIGTERM';
      const before = hetzner.requests.length;
      await replaceNodes();
      const writes = async () =>
        hetzner.requests.slice(before).some(({ writer }) => writer === leader.name) || undefined;
      await eventually(`${leader.name} writes`, writes, 60_000);
      await follower.process.waitForLine(({ msg }) => msg === 'Observed another leader', `${follower.name} follows`);
      const from = Date.now();
      leader.process.kill(way);
      await leads(follower);
      times.push((Date.now() - from) / 1_000);
      if (way === 'SIGSTOP') leader.process.kill('SIGCONT');
      const next = way === 'SIGSTOP' ? leader : await launch();
      [leader, follower] = [follower, next];
    }
    await project.converged(live, 120_000);
    const outside = outsideTerms(hetzner.requests, replicas, hetzner.settings.answerDelay as number);
    const writes = hetzner.requests.filter(({ writer }) => writer !== undefined).length;
    const note = `${wanted} failovers by ${ways.join(', ')} while routes are written, ${writes} writes; the next one leads after ${Math.max(...times).toFixed(1)} s at most`;
    return [{ row: 'failovers', ours: [outside.length], note }];
  });
