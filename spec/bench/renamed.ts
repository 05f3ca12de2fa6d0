import { eventually } from '../support/cluster.ts';
import type { Result } from './figures.ts';
import { type Bench, range, withProject } from './project.ts';

const nodes = range(1, 3);

/** The name of a live server changes; passes over all routes and refreshes of all nodes come each second. */
export const renamed = (bench: Bench): Promise<Result[]> =>
  withProject(bench, {}, async project => {
    const { hetzner } = project;
    const ids = nodes.map(i => project.addServer(i));
    await project.joinAll(nodes);
    const often = ['--min-resync-period=1s', '--node-status-update-frequency=1s'];
    const controller = await project.launch({ args: often });
    await project.converged(nodes);
    hetzner.servers.rename(ids[0] as number, 'another-name');
    hetzner.clearRequests();
    const seen = async () => (hetzner.count({ route: '/servers' }) >= 5 ? true : undefined);
    await eventually('five lists with the new name', seen, 60_000);
    // The one that starts knows nothing of the old name.
    await controller.stop();
    const before = hetzner.count({ route: '/servers' });
    await project.launch({ args: often });
    const again = async () => (hetzner.count({ route: '/servers' }) >= before + 5 ? true : undefined);
    await eventually('five more after a restart', again, 60_000);
    const writes = hetzner.requests.filter(({ method }) => method !== 'GET');
    const note = `${hetzner.count({ route: '/servers' })} looks at the servers, one restart`;
    const isThere = project.routes().includes('10.244.1.0/24 10.0.1.1');
    return [{ row: 'renamed', ours: [writes.length], note, ...(!isThere && { broken: 'the route is gone' }) }];
  });
