import type { Result } from './figures.ts';
import { type Bench, range, sleep, withProject } from './project.ts';

/** Resident memory after the work of taking over 11 nodes, and after 89 more have joined at once. */
export const memory = (bench: Bench): Promise<Result[]> =>
  withProject(bench, {}, async project => {
    const first = range(1, 11);
    const all = range(1, 100);
    for (const i of all) project.addServer(i);
    await project.joinAll(first);
    const controller = await project.launch();
    const settle = async (): Promise<number> => {
      await sleep(bench.quick ? 10_000 : 60_000);
      return controller.usage().memoryMiB;
    };
    await project.converged(first);
    const with11 = await settle();
    await project.joinAll(all.slice(first.length));
    await project.converged(all, 120_000);
    const with100 = await settle();
    return [
      { row: 'memory-11', ours: [with11] },
      { row: 'memory-100', ours: [with100] },
    ];
  });
