import type { FakeHetznerOptions } from '../../lib/simulator/hetzner/fake.ts';
import type { FigureName, Result } from './figures.ts';
import { type Latencies, observe, spread } from './observer.ts';
import { type Bench, type Project, type Requests, range, sleep, withProject } from './project.ts';

/** Workers that join a running cluster: node 1 is there, 2 to `last` join by `join`; their servers exist before. */
const grow = (
  bench: Bench,
  options: FakeHetznerOptions,
  last: number,
  join: (project: Project, workers: readonly number[]) => Promise<void>,
): Promise<{ requests: Requests; refused: number; times: Latencies }> =>
  withProject(bench, options, async project => {
    const { hetzner } = project;
    project.addServer(1);
    await project.join(1);
    await project.launch();
    await project.converged([1]);
    const workers = range(2, last);
    for (const i of workers) project.addServer(i);
    // A server is there well before its kubelet: no list of servers from before is young enough to be used.
    await sleep(11_000);
    await project.settledRequests();
    hetzner.clearRequests();
    const observer = await observe(project);
    await join(project, workers);
    await project.converged([1, ...workers], 300_000);
    const requests = await project.settledRequests();
    const refused = hetzner.requests.filter(({ status }) => status >= 400).length;
    return { requests, refused, times: observer.finish() };
  });

export const scaleUp = async (bench: Bench): Promise<Result[]> => {
  const { requests, times } = await grow(bench, {}, 11, async (project, workers) => {
    for (const i of workers) {
      await project.join(i);
      await sleep(2_000);
    }
  });
  return [
    { row: 'scale-10', ours: [requests.without, requests.all], note: requests.byRoute },
    { row: 'scale-10-initialised', ours: spread(times.initialised) },
    { row: 'scale-10-route', ours: spread(times.route) },
    { row: 'scale-10-available', ours: spread(times.available) },
  ];
};

export const burst = async (bench: Bench, mode: 'parallel' | 'locked'): Promise<Result[]> => {
  const join = (project: Project, workers: readonly number[]) => project.joinAll(workers);
  const { requests, refused, times } = await grow(bench, { networkChanges: mode }, 100, join);
  const row: FigureName = `burst-${mode}`;
  return [
    { row, ours: [requests.without, requests.all], note: `${refused} refused; ${requests.byRoute}` },
    { row: `${row}-route`, ours: spread(times.route) },
  ];
};
