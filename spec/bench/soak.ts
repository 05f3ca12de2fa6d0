import { readdirSync, readlinkSync } from 'node:fs';
import { runtimeFlags } from '../../lib/runtime-flags.ts';
import { freePorts } from '../support/free-ports.ts';
import { deleteNode, heartbeat, setReady } from '../support/nodes.ts';
import { createService, deleteService } from '../support/services.ts';
import type { Result } from './figures.ts';
import { type Inspector, inspect } from './inspector.ts';
import { type Bench, type Project, range, sleep, withProject } from './project.ts';

const nodes = 20;
const services = 5;
const second = 1_000;
const annotations = {
  'load-balancer.hetzner.cloud/location': 'fsn1',
  'load-balancer.hetzner.cloud/type': 'lb11',
  'load-balancer.hetzner.cloud/use-private-ip': 'true',
};

/** After a collection of garbage. */
interface Held {
  /** MiB */
  readonly heap: number;
  readonly resident: number;
  /** Timers, sockets and requests under way, as Node.js counts them. */
  readonly handles: number;
  readonly sockets: number;
}

const keys = ['heap', 'resident', 'handles', 'sockets'] as const;
const heldNow = `(({ heapUsed, rss }, handles) => ({ heap: heapUsed / 2 ** 20, resident: rss / 2 ** 20, handles }))(
  process.memoryUsage(), process.getActiveResourcesInfo().length)`;

const look = async (pid: number, inspector: Inspector): Promise<Held> => {
  await inspector.collectGarbage();
  const held = (await inspector.evaluate(heldNow)) as Omit<Held, 'sockets'>;
  const links = readdirSync(`/proc/${pid}/fd`).map(fd => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return { ...held, sockets: links.filter(link => link.startsWith('socket:')).length };
};

/** Least of each: what is held between the peaks that work makes. */
const least = (samples: readonly Held[]): Held =>
  Object.fromEntries(keys.map(key => [key, Math.min(...samples.map(one => one[key]))])) as unknown as Held;

/** Nodes and Services come and go, kubelets report, a node turns not ready, Hetzner fails for a while, watches are cut. */
const churn = async (project: Project, until: number): Promise<void> => {
  const { cluster, hetzner } = project;
  const live = range(1, nodes);
  const names = range(1, services).map(i => `web-${i}`);
  let [next, made] = [nodes, services];
  for (let round = 1; Date.now() < until; round += 1) {
    const name = `w${live.shift()}`;
    await deleteNode(cluster, name);
    hetzner.servers.remove(hetzner.servers.byName(name)?.id as number);
    next = (next % 200) + 1;
    live.push(next);
    project.addServer(next);
    await project.join(next);
    for (const i of live.slice(0, 5)) await heartbeat(cluster, `w${i}`);
    if (round % 5 === 0) {
      await deleteService(cluster, names.shift() as string);
      names.push(`web-${++made}`);
      await createService(cluster, { name: names.at(-1) as string, annotations });
    }
    if (round % 10 === 0) await setReady(cluster, `w${live.at(-1)}`, 'False');
    if (round % 10 === 5) hetzner.faults.add({ kind: 'error', status: 503, code: 'unavailable', times: 5 });
    if (round % 10 === 7) hetzner.faults.add({ kind: 'reset', times: 3 });
    await sleep(2 * second);
  }
};

/** What the program holds at the end of the time against the second quarter of it; with quota enough for all that churn. */
export const soak = (bench: Bench): Promise<Result[]> =>
  withProject(bench, { limit: 36_000 }, async project => {
    const first = range(1, nodes);
    for (const i of first) project.addServer(i);
    await project.joinAll(first);
    for (const i of range(1, services)) await createService(project.cluster, { name: `web-${i}`, annotations });
    const [port = 0] = await freePorts(1);
    const controller = await project.launch({ nodeArgs: [...runtimeFlags, `--inspect=127.0.0.1:${port}`] });
    await project.converged(first);
    const inspector = await inspect(port);
    const minutes = bench.quick ? 2 : 20;
    const from = Date.now();
    const until = from + minutes * 60 * second;
    const samples: (Held & { readonly at: number })[] = [];
    const watch = async (): Promise<void> => {
      while (Date.now() < until) {
        const at = Date.now() - from;
        samples.push({ at, ...(await look(controller.process.pid as number, inspector)) });
        await sleep((minutes * second) / 2);
      }
    };
    await Promise.all([churn(project, until), watch()]);

    inspector.close();
    const quarters = range(0, 3).map(n =>
      least(samples.filter(({ at }) => Math.floor((at * 4) / (until - from)) === n)),
    );
    const [, before, , after] = quarters as [Held, Held, Held, Held];
    const errors = controller.lines().filter(({ level }) => level === 'error').length;
    const shown = quarters.map(one => keys.map(key => Math.round(one[key] * 10) / 10).join(' / ')).join(', ');
    return [
      {
        row: 'soak',
        ours: keys.map(key => Math.max(0, Math.round((after[key] - before[key]) * 10) / 10)),
        note: `${minutes} min, least of each quarter: ${shown}; ${project.hetzner.count()} requests, ${errors} errors`,
      },
    ];
  });
