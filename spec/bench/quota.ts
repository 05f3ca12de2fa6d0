import { ingressOf } from '../support/balanced.ts';
import { eventually } from '../support/cluster.ts';
import { createService } from '../support/services.ts';
import type { Result } from './figures.ts';
import { type Bench, type Project, range, withProject } from './project.ts';

const emptyFor = 60_000;
const nodes = range(1, 4);
const names = range(1, 6).map(i => `web-${i}`);
const annotations = {
  'load-balancer.hetzner.cloud/location': 'fsn1',
  'load-balancer.hetzner.cloud/type': 'lb11',
  'load-balancer.hetzner.cloud/use-private-ip': 'true',
};

/** Load balancers with all targets, Services with addresses. */
const areBalanced = async ({ cluster, hetzner }: Project): Promise<true | undefined> => {
  const all = hetzner.loadBalancers.list();
  if (all.length !== names.length || all.some(({ targets }) => targets.length !== nodes.length)) return undefined;
  const { items } = await cluster.client.must('GET', '/api/v1/namespaces/default/services');
  return items.filter(service => ingressOf(service).length > 0).length === names.length || undefined;
};

/** Others leave nothing of the quota for a minute, in which nodes join and Services are made. */
export const quota = (bench: Bench): Promise<Result[]> =>
  withProject(bench, {}, async project => {
    const { cluster, hetzner } = project;
    for (const i of nodes) project.addServer(i);
    await project.join(1);
    await project.launch();
    await project.converged([1]);
    await project.settledRequests();
    hetzner.clearRequests();
    const from = Date.now();
    hetzner.drain({ forMs: emptyFor });
    await Promise.all(names.map(name => createService(cluster, { name, annotations })));
    await project.joinAll(nodes.slice(1));
    await project.converged(nodes, 300_000);
    await eventually('six load balancers', () => areBalanced(project), 300_000);
    const seconds = (Date.now() - from) / 1_000;

    const during = hetzner.requests.filter(({ at }) => at < from + emptyFor);
    const refused = hetzner.requests.filter(({ at, status }) => at >= from + emptyFor && status === 429);
    const accepted = hetzner.requests.filter(({ method, status }) => method === 'POST' && status < 300);
    const lastRoute = accepted.findLastIndex(({ route }) => route.endsWith('/add_route'));
    const firstBalancer = accepted.findIndex(({ route }) => route === '/load_balancers');
    return [
      {
        row: 'quota',
        ours: [during.length, refused.length, seconds],
        note: `${hetzner.count()} requests in all`,
        ...(firstBalancer < lastRoute && { broken: 'a load balancer came before the last node' }),
      },
    ];
  });
