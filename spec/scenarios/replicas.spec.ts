import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { Agent, request } from 'undici';
import { overlappingWrites, turns } from '../../lib/simulator/hetzner/writers.ts';
import { eventually } from '../support/cluster.ts';
import type { ControllerProcess } from '../support/controller-process.ts';
import { untilConverged } from '../support/converge.ts';
import { deleteNode } from '../support/nodes.ts';
import { startProxy, type TCPProxy } from '../support/proxy.ts';
import { routeWrites } from '../support/route-checks.ts';
import { type Scenario, type StartOptions, scenarios } from '../support/scenario.ts';

const scenario = scenarios();

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager';
const quick = [
  '--leader-elect-lease-duration=6s',
  '--leader-elect-renew-deadline=4s',
  '--leader-elect-retry-period=1s',
];

interface Replica extends ControllerProcess {
  readonly name: string;
}

/** Starts a replica whose requests the fake records under its name. */
const replica = async (s: Scenario, name: string, { args = quick, ...more }: StartOptions = {}): Promise<Replica> => {
  const controller = s.start({ ...more, args, env: { HCLOUD_ENDPOINT: await s.endpoint(name), ...more.env } });
  return { ...controller, name };
};

const leads = (r: Replica, nth = 1, timeout = 40_000) =>
  r.waitForLine(
    () => r.lines().filter(line => line.msg === 'Became the leader').length >= nth,
    `${r.name} leads for the ${nth}. time`,
    timeout,
  );
const follows = (r: Replica) => r.waitForLine(line => line.msg === 'Observed another leader', `${r.name} follows`);
const timeOf = (line: { readonly ts: string }): number => Date.parse(line.ts);
const callsOf = (s: Scenario, { name }: Replica) => s.hetzner.requests.filter(request => request.client === name);
const writesOf = (s: Scenario, { name }: Replica) => s.hetzner.requests.filter(request => request.writer === name);

/** A leads and has done the nodes 1 and 2; B is warm. */
const pair = async (s: Scenario, optionsOfA: StartOptions = {}, args = quick): Promise<[Replica, Replica]> => {
  for (const i of [1, 2, 3, 4, 5]) s.addServer(i);
  const a = await replica(s, 'a', { args, ...optionsOfA });
  await leads(a);
  const b = await replica(s, 'b', { args });
  await follows(b);
  for (const i of [1, 2]) await s.join(i);
  await untilConverged(s, [1, 2]);
  assert.deepEqual(callsOf(s, b), [], 'who follows makes no call');
  return [a, b];
};

/** One writer at a time, each write once. */
const assertOneWriter = (s: Scenario, order: readonly string[], added: number, deleted = 0): void => {
  assert.deepEqual(
    turns(s.hetzner.requests).map(turn => turn.writer),
    order,
  );
  assert.deepEqual(overlappingWrites(s.hetzner.requests), []);
  const writes = routeWrites(s);
  assert.deepEqual({ added: writes.added, deleted: writes.deleted }, { added, deleted });
};

/** A port for the health server of one replica, and its answers to the three probes. */
const probes = async (t: TestContext) => {
  const taken = await startProxy(1);
  await taken.close();
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  t.after(() => dispatcher.destroy());
  const probe = async (path: string): Promise<number> => {
    const { statusCode, body } = await request(`https://127.0.0.1:${taken.port}${path}`, { dispatcher });
    await body.dump();
    return statusCode;
  };
  const all = async () => Promise.all(['/livez', '/readyz', '/healthz'].map(probe));
  return { flag: `--secure-port=${taken.port}`, all };
};

const proxied = async (t: TestContext, s: Scenario): Promise<{ proxy: TCPProxy; kubernetesURL: string }> => {
  const { protocol, port } = new URL(s.cluster.url);
  const proxy = await startProxy(Number(port));
  t.after(() => proxy.close());
  return { proxy, kubernetesURL: `${protocol}//127.0.0.1:${proxy.port}` };
};

it('hands over within 2 s at SIGTERM, and the next has nothing to do over again', async t => {
  const s = await scenario(t);
  const [a, b] = await pair(s);
  const at = Date.now();
  assert.equal(await a.stop(), 0);
  const line = await leads(b);
  assert.ok(timeOf(b.lines().findLast(l => l.msg === 'Became the leader') ?? line) - at < 2000);
  await s.join(3);
  await untilConverged(s, [1, 2, 3]);
  assertOneWriter(s, ['a', 'b'], 3);
});

it('takes over within the lease after SIGKILL, with the default times', async t => {
  const s = await scenario(t);
  const [a, b] = await pair(s, {}, []);
  await s.join(3);
  await eventually('the third route', async () => (routeWrites(s).added === 3 ? true : undefined), 20_000);
  a.kill('SIGKILL');
  const at = Date.now();
  await leads(b);
  const took = timeOf(b.lines().findLast(l => l.msg === 'Became the leader') ?? { ts: '' }) - at;
  assert.ok(took < 16_000, `took ${took} ms`);
  await s.join(4);
  await untilConverged(s, [1, 2, 3, 4]);
  assertOneWriter(s, ['a', 'b'], 4);
});

it('writes nothing when it wakes after a pause longer than the lease (SIGSTOP, SIGCONT), and contends again', async t => {
  const s = await scenario(t);
  const [a, b] = await pair(s);
  // Work is under way when the process stops: in the queue, in flight, waiting for its action.
  await s.join(3);
  a.kill('SIGSTOP');
  await leads(b);
  await untilConverged(s, [1, 2, 3]);
  const before = writesOf(s, a).length;
  await s.join(4);
  await deleteNode(s.cluster, 'w1');
  a.kill('SIGCONT');
  await a.waitForLine(l => l.msg === 'Lost the leadership', 'a notices');
  await follows(a);
  await untilConverged(s, [2, 3, 4]);
  assert.equal(writesOf(s, a).length, before, 'nothing written after waking');
  assert.deepEqual(overlappingWrites(s.hetzner.requests), []);
  // In the same process it leads and works again.
  assert.equal(await b.stop(), 0);
  await leads(a, 2);
  await s.join(5);
  await untilConverged(s, [2, 3, 4, 5]);
  assert.equal(writesOf(s, a).length, before + 1);
  assert.deepEqual(routeWrites(s), { added: 5, deleted: 1, refused: 0 });
  assert.deepEqual(
    turns(s.hetzner.requests).map(turn => turn.writer),
    ['a', 'b', 'a'],
  );
});

it('stops before the other starts when the leader alone is cut off from the API server, and leads again afterwards', async t => {
  const s = await scenario(t);
  const { proxy, kubernetesURL } = await proxied(t, s);
  const { flag, all } = await probes(t);
  const [a, b] = await pair(s, { kubernetesURL, args: [...quick, flag] });
  assert.deepEqual(await all(), [200, 200, 200]);
  proxy.freeze();
  const lost = await a.waitForLine(l => l.msg === 'Lost the leadership', 'a gives up');
  await leads(b);
  const took = b.lines().findLast(l => l.msg === 'Became the leader');
  assert.ok(took !== undefined && timeOf(took) > timeOf(lost), 'the old term ends before the new one begins');
  assert.deepEqual(await all(), [200, 200, 500], 'a restart would not help, so it is alive; it has lost its lease');
  await s.join(3);
  await untilConverged(s, [1, 2, 3]);
  const calls = callsOf(s, a).length;
  proxy.thaw();
  await follows(a);
  assert.deepEqual(await all(), [200, 200, 200], 'a follower is healthy');
  assert.equal(callsOf(s, a).length, calls, 'no call while it does not lead');
  b.kill('SIGKILL');
  await leads(a, 2);
  await s.join(4);
  await untilConverged(s, [1, 2, 3, 4]);
  assertOneWriter(s, ['a', 'b', 'a'], 4);
});

it('keeps to one writer when the Lease is edited, emptied and deleted by hand', async t => {
  const s = await scenario(t);
  const [a, b] = await pair(s);
  const put = async (spec: object): Promise<void> => {
    const patch = { spec };
    await s.cluster.client.must('PATCH', LEASE, patch, 'application/merge-patch+json');
  };
  const holder = async () =>
    (await s.cluster.client.send('GET', LEASE)).body.spec?.holderIdentity as string | undefined;
  const someoneLeads = () =>
    eventually('a replica holds the lease', async () => ((await holder())?.includes('_') ? true : undefined), 30_000);
  await s.cluster.client.must('DELETE', LEASE);
  await someoneLeads();
  await s.join(3);
  await untilConverged(s, [1, 2, 3]);
  await put({ holderIdentity: '' });
  await someoneLeads();
  await s.join(4);
  await untilConverged(s, [1, 2, 3, 4]);
  // A holder that does not exist: both wait for it to lapse.
  await put({ holderIdentity: 'nobody', renewTime: '2099-01-01T00:00:00.000000Z' });
  await someoneLeads();
  await s.join(5);
  await untilConverged(s, [1, 2, 3, 4, 5]);
  assert.deepEqual(overlappingWrites(s.hetzner.requests), []);
  assert.deepEqual(routeWrites(s), { added: 5, deleted: 0, refused: 0 });
  assert.deepEqual([a.process.exitCode, b.process.exitCode], [null, null]);
});

it('survives ten fast restarts, by SIGTERM and by SIGKILL, with one writer at a time and each route written once', async t => {
  const s = await scenario(t);
  for (let i = 1; i <= 10; i++) s.addServer(i);
  let current = await replica(s, 'r0');
  for (let i = 1; i <= 10; i++) {
    await s.join(i);
    // Some live long enough to work, two of them until they are killed at it; others hardly start.
    if (i % 5 === 0 || i % 3 === 0) await current.waitForLine(l => l.msg === 'Created route', `${current.name} works`);
    const next = await replica(s, `r${i}`);
    current.kill(i % 5 === 0 ? 'SIGKILL' : 'SIGTERM');
    await current.exited;
    current = next;
  }
  await untilConverged(s, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.deepEqual(overlappingWrites(s.hetzner.requests), []);
  const names = turns(s.hetzner.requests).map(turn => turn.writer);
  assert.ok(names.length > 2, `several of them wrote: ${names}`);
  assert.equal(new Set(names).size, names.length, `nobody comes back: ${names}`);
  assert.equal(routeWrites(s).added, 10);
});
