import { ingressOf, ports } from '../support/balanced.ts';
import { eventually } from '../support/cluster.ts';
import { STRATEGIC_PATCH } from '../support/kube-client.ts';
import { deleteNode } from '../support/nodes.ts';
import { createService, deleteService, servicePath } from '../support/services.ts';
import type { FigureName, Result } from './figures.ts';
import { type Bench, type Project, range, sleep, withProject } from './project.ts';

const names = range(1, 10).map(i => `web-${i}`);
const annotations = {
  'load-balancer.hetzner.cloud/location': 'fsn1',
  'load-balancer.hetzner.cloud/type': 'lb11',
  'load-balancer.hetzner.cloud/use-private-ip': 'true',
};

/** 11 nodes, 10 Services with 2 ports, private targets. */
export const loadBalancers = (bench: Bench): Promise<Result[]> =>
  withProject(bench, {}, async project => {
    const { cluster, hetzner } = project;
    const nodes = range(1, 11);
    for (const i of nodes) project.addServer(i);
    await project.joinAll(nodes);
    let controller = await project.launch();
    await project.converged(nodes);
    const results: Result[] = [];

    /** One piece of work until `done` holds, with its requests and, where the row has a limit for them, its seconds. */
    const measure = async (
      row: FigureName,
      work: () => Promise<unknown>,
      done: () => Promise<boolean>,
      time = false,
    ) => {
      await project.settledRequests();
      hetzner.clearRequests();
      const from = performance.now();
      await work();
      await eventually(row, async () => (await done()) || undefined, 120_000);
      const seconds = (performance.now() - from) / 1_000;
      const { without, all, byRoute } = await project.settledRequests();
      results.push({ row, ours: time ? [without, all, seconds] : [without, all], note: byRoute });
    };
    const haveTargets = async (count: number): Promise<boolean> => {
      const all = hetzner.loadBalancers.list();
      return all.length === names.length && all.every(({ targets }) => targets.length === count);
    };

    const create = () =>
      Promise.all(names.map(name => createService(cluster, { name, annotations, spec: { ports: ports(80, 443) } })));
    await measure('balancers-created', create, () => haveIngress(project), true);

    const add = async (): Promise<void> => {
      project.addServer(12);
      await project.join(12);
    };
    // A node that joins long after the last list of servers is what is measured.
    await sleep(11_000);
    await measure('balancers-node-added', add, () => haveTargets(12), true);
    await measure(
      'balancers-node-removed',
      () => deleteNode(cluster, 'w12'),
      () => haveTargets(11),
    );

    const restart = async (): Promise<void> => {
      await controller.stop();
      controller = await project.launch();
    };
    const isBack = async () => hetzner.count({ route: '/load_balancers' }) > 0;
    await measure('balancers-restart', restart, isBack);
    const writes = hetzner.count() - hetzner.count({ method: 'GET' });
    if (writes > 0) results.push({ ...(results.pop() as Result), broken: `${writes} writes` });

    const patch = { spec: { ports: [{ $patch: 'replace' }, ...ports(80, 8443)] } };
    const change = () => cluster.client.must('PATCH', servicePath('web-1'), patch, STRATEGIC_PATCH);
    const isChanged = async () =>
      hetzner.loadBalancers.list().some(({ services }) => services.map(one => one.listenPort).join() === '80,8443');
    await measure('balancers-port', change, isChanged);

    hetzner.clearRequests();
    await sleep(60_000);
    results.push({ row: 'balancers-idle', ours: [hetzner.count()] });

    const remove = () => Promise.all(names.map(name => deleteService(cluster, name)));
    await measure('balancers-deleted', remove, async () => hetzner.loadBalancers.list().length === 0);
    return results;
  });

const haveIngress = async ({ cluster }: Project): Promise<boolean> => {
  const { items } = await cluster.client.must('GET', '/api/v1/namespaces/default/services');
  return items.filter(service => ingressOf(service).length > 0).length === names.length;
};
