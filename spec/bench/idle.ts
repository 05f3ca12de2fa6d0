import type { SeenRequest } from '../support/cluster.ts';
import { heartbeat } from '../support/nodes.ts';
import type { Result } from './figures.ts';
import { type Bench, range, sleep, withProject } from './project.ts';

const minute = 60_000;

/** `update leases`, `watch nodes`, ...: verb and resource, without names. */
const kindOf = ({ verb, path }: SeenRequest): string => {
  const resource = /\/(nodes|leases|events|services)(?:[/?]|$)/.exec(path)?.[1];
  return `${verb} ${resource ?? path.split('?')[0]}`;
};

/** A cluster in which only kubelets work: each reports its status every 5 minutes. */
export const idle = (bench: Bench): Promise<Result[]> =>
  withProject(bench, {}, async project => {
    const { cluster, hetzner } = project;
    const nodes = range(1, 11);
    for (const i of nodes) project.addServer(i);
    await project.joinAll(nodes);
    const controller = await project.launch();
    await project.converged(nodes);
    await project.settledRequests();
    const ours = async (): Promise<readonly SeenRequest[]> =>
      (await cluster.requests()).filter(({ user }) => user === 'controller');

    hetzner.clearRequests();
    const before = { requests: (await ours()).length, cpu: controller.usage().cpuSeconds };
    const minutes = bench.quick ? 1 : 6;
    const beats = nodes.map(async i => {
      for (let at = (i * 5 * minute) / nodes.length; at < minutes * minute; at += 5 * minute) {
        setTimeout(() => void heartbeat(cluster, `w${i}`), at);
      }
    });
    await Promise.all(beats);
    await sleep(minutes * minute);

    const cpu = (controller.usage().cpuSeconds - before.cpu) / minutes;
    const requests = (await ours()).slice(before.requests);
    const kinds = Object.groupBy(requests, kindOf);
    const known = ({ verb, path }: SeenRequest): boolean =>
      verb === 'watch' || (verb === 'update' && path.includes('/leases/'));
    const counts = hetzner.counts();
    const all = hetzner.count();
    const actions = Object.entries(counts).filter(([route]) => route.startsWith('GET /actions'));
    const without = all - actions.reduce((sum, [, count]) => sum + count, 0);
    return [
      { row: 'idle', ours: [without, all], note: JSON.stringify(counts) },
      {
        row: 'idle-kubernetes',
        ours: [requests.filter(request => !known(request)).length],
        note: `in ${minutes} min: ${Object.entries(kinds)
          .map(([kind, found = []]) => `${found.length} ${kind}`)
          .join(', ')}`,
      },
      { row: 'idle-cpu', ours: [cpu], note: `over ${minutes} min` },
    ];
  });
