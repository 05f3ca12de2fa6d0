import type { Result } from './figures.ts';
import { type Bench, range, withProject } from './project.ts';

const lockedFor = 45_000;

/** Somebody else's change keeps the network locked while nodes join. */
export const refused = (bench: Bench): Promise<Result[]> =>
  withProject(bench, {}, async project => {
    const { hetzner, networkID } = project;
    const nodes = range(1, 6);
    for (const i of nodes) project.addServer(i);
    await project.join(1);
    await project.launch();
    await project.converged([1]);
    const tries = new Map<string, number>();
    hetzner.faults.add({
      kind: 'slow',
      ms: 0,
      path: '/networks/{id}/actions/add_route',
      // Counts only, and strikes never.
      when: ({ body }) => {
        const { destination } = JSON.parse(body ?? '') as { destination: string };
        tries.set(destination, (tries.get(destination) ?? 0) + 1);
        return false;
      },
    });
    const unlocked = Date.now() + lockedFor;
    hetzner.networks.lock(networkID, lockedFor);
    await project.joinAll(nodes.slice(1));
    await project.converged(nodes, lockedFor + 120_000);
    const last = Math.max(...hetzner.actions().map(({ ends }) => ends));
    return [
      {
        row: 'refused',
        ours: [Math.max(0, last - unlocked) / 1_000, Math.max(...tries.values())],
        note: `tries by route: ${[...tries.values()].join(', ')}`,
      },
    ];
  });
