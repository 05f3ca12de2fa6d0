import type { ControllerProcess } from '../support/controller-process.ts';
import type { Result } from './figures.ts';
import { percentile } from './observer.ts';
import { type Bench, type Project, range, sleep, withProject } from './project.ts';

const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
const lease = 'cloud-controller-manager';

const holder = async ({ cluster }: Project): Promise<unknown> =>
  (await cluster.client.must('GET', `${leases}/${lease}`)).spec.holderIdentity;

/** Seconds until the lease is ours and the last answer that the start asked for is there. */
const start = async (project: Project): Promise<{ controller: ControllerProcess; seconds: number; writes: number }> => {
  const { cluster, hetzner } = project;
  const { metadata } = await cluster.client.must('GET', leases);
  const watch = await cluster.client.watch(`${leases}?watch=true&resourceVersion=${metadata.resourceVersion}`);
  hetzner.clearRequests();
  const spawned = Date.now();
  const controller = await project.launch();
  let leading = 0;
  while (leading === 0) {
    const event = await watch.next(30_000);
    if (event === undefined) throw new Error('the watch of the leases ended');
    if (event.object.metadata.name === lease && event.object.spec.holderIdentity) leading = Date.now();
  }
  watch.close();
  await sleep(4_000);
  const answered = (hetzner.requests.at(-1)?.at ?? Number.NaN) + hetzner.settings.answerDelay;
  const writes = hetzner.requests.filter(({ method }) => method !== 'GET').length;
  return { controller, seconds: (Math.max(leading, answered) - spawned) / 1_000, writes };
};

/** Starts and stops of a controller that finds everything in order; the medians. */
export const startAndStop = (bench: Bench): Promise<Result[]> =>
  withProject(bench, {}, async project => {
    const nodes = range(1, 11);
    for (const i of nodes) project.addServer(i);
    await project.joinAll(nodes);
    const first = await project.launch();
    await project.converged(nodes);
    await first.stop();
    const starts: number[] = [];
    const stops: number[] = [];
    const broken = new Set<string>();
    for (let run = 0; run < (bench.quick ? 1 : 5); run++) {
      const { controller, seconds, writes } = await start(project);
      starts.push(seconds);
      if (writes > 0) broken.add(`${writes} writes at start`);
      const asked = Date.now();
      const code = await controller.stop();
      stops.push((Date.now() - asked) / 1_000);
      if (code !== 0) broken.add(`ended with ${code}`);
      if ((await holder(project)) !== '') broken.add('lease not released');
    }
    const median = (values: readonly number[]): number =>
      percentile(
        values.toSorted((a, b) => a - b),
        0.5,
      );
    const note = `median of ${starts.length}`;
    const verdict = broken.size === 0 ? {} : { broken: [...broken].join(', ') };
    return [
      { row: 'start', ours: [median(starts)], note, ...verdict },
      { row: 'stop', ours: [median(stops)], note, ...verdict },
    ];
  });
