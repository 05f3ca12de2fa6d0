import { mock } from 'node:test';
import { balanced } from '../support/balanced.ts';
import { deleteNode } from '../support/nodes.ts';
import { isInitialised } from '../support/scenario.ts';
import { deleteService } from '../support/services.ts';
import { virtualApp } from '../support/virtual-app.ts';
import { expire, type Held, look, type Soak } from './growth.ts';

/**
 * Days of churn in virtual time, DAYS a multiple of three: each hour a node is replaced, each six hours a Service, each day the
 * watches break and Hetzner answers 503 for ten minutes. Prints one line of JSON. A process of its own, without the hooks of the test runner:
 *
 *     node spec/scale/soak.ts DAYS NODES SERVICES
 */
const HOUR = 3_600_000;
const MINUTE = 60_000;
const parts = 3;
/** Nodes of a Service: lb11 takes 25 targets. */
const poolSize = 10;
/** More routes than this a network does not take. */
const mostRoutes = 100;

const [days = 9, nodes = 60, services = 12] = process.argv.slice(2).map(Number);

const soak = async (): Promise<Soak> => {
  const endings: (() => unknown)[] = [];
  const v = virtualApp({ mock, after: end => endings.push(end) }, { keepRequests: 10_000, keepActions: 100 });
  v.hetzner.settings.maxLoadBalancers = 1_000;
  const isRouted = nodes <= mostRoutes;
  const b = balanced(v);
  const pools = Math.ceil(nodes / poolSize);
  const live: number[] = [];
  const names: string[] = [];
  let [next, made] = [0, 0];

  const addNode = async (): Promise<void> => {
    // With routes names and addresses come again, as there is one pod network for each number.
    next = isRouted ? (next % 200) + 1 : next + 1;
    live.push(next);
    const labels = { pool: `p${next % pools}` };
    if (isRouted) v.addServer(next);
    else v.hetzner.servers.create({ name: `w${next}` });
    await v.join(next, isRouted ? { labels } : { labels, podCIDRs: [] });
  };
  const removeNode = async (): Promise<void> => {
    const name = `w${live.shift()}`;
    v.hetzner.servers.remove(v.hetzner.servers.byName(name)?.id as number);
    await deleteNode(v, name);
  };
  const addService = async (): Promise<void> => {
    const name = `web-${++made}`;
    names.push(name);
    const isPrivate: Record<string, string> = isRouted ? { 'use-private-ip': 'true' } : {};
    await b.create(name, { ...isPrivate, 'node-selector': `pool=p${made % pools}` });
  };

  for (let i = 0; i < nodes; i += 1) await addNode();
  for (let i = 0; i < services; i += 1) await addService();
  const controller = v.start({
    args: ['--node-status-update-frequency=30m', ...(isRouted ? [] : ['--configure-cloud-routes=false'])],
    ...(!isRouted && { env: { HCLOUD_NETWORK: undefined } }),
    forgets: true,
  });
  const samples: Held[] = [];
  const requests: number[] = [];
  let since = v.now();
  for (let hour = 1; hour <= days * 24; hour += 1) {
    await removeNode();
    await addNode();
    if (hour % 6 === 0) {
      await deleteService(v, names.shift() as string);
      await addService();
    }
    if (hour % 24 === 12) {
      v.kubernetes.cutWatches();
      const { remove } = v.hetzner.faults.add({ kind: 'error', status: 503, code: 'unavailable' });
      await v.advance(10 * MINUTE);
      remove();
    }
    await v.advance(HOUR);
    expire(v.kubernetes);
    if (hour % ((days * 24) / parts) !== 0) continue;
    requests.push(v.spent(since).all);
    since = v.now();
    v.hetzner.clearRequests();
    samples.push(await look(v, controller));
  }

  const wrong: string[] = [];
  if (controller.error() !== undefined) wrong.push(`ended with ${controller.error()}`);
  const late = live.filter(i => {
    const node = v.node(`w${i}`);
    return node === undefined || !isInitialised(node);
  });
  if (late.length > 0) wrong.push(`${late.length} nodes are not initialised`);
  if (isRouted && v.routes().length !== nodes) wrong.push(`${v.routes().length} routes`);
  for (const name of names) if (b.balancer(name).targets.length === 0) wrong.push(`${name} has no target`);
  if (v.hetzner.loadBalancers.list().length !== services)
    wrong.push(`${v.hetzner.loadBalancers.list().length} load balancers`);
  for (const end of endings) await end();
  return { days, nodes, services, samples, requests, wrong };
};

process.stdout.write(`${JSON.stringify(await soak())}\n`);
