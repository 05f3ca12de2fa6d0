import type { FigureName, Result } from './figures.ts';
import { type Bench, range, withProject } from './project.ts';

/** A controller that starts in a cluster whose nodes have neither provider ids nor routes. */
export const takeOver = (bench: Bench, row: FigureName, count: number): Promise<Result[]> =>
  withProject(bench, {}, async project => {
    const nodes = range(1, count);
    for (const i of nodes) project.addServer(i);
    await project.joinAll(nodes);
    await project.launch();
    await project.converged(nodes);
    const { without, all, byRoute } = await project.settledRequests();
    return [{ row, ours: [without, all], note: byRoute }];
  });
