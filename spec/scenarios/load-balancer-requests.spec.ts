import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { balanced, ports } from '../support/balanced.ts';
import { deleteNode } from '../support/nodes.ts';
import { deleteService } from '../support/services.ts';
import { type Spent, type VirtualApp, virtualApp } from '../support/virtual-app.ts';

/** The figures of targets.md, "Load balancers": 11 nodes, 10 Services with 2 ports, private targets. */

const names = Array.from({ length: 10 }, (_, i) => `web-${i + 1}`);
const quiet = 30_000;

/** Requests of one piece of work, against the most it may take. */
const check = (t: TestContext, work: string, v: VirtualApp, since: number, most: { all: number; polls: number }) => {
  const spent: Spent = v.spent(since);
  const figure = `${spent.all - spent.polls} / ${spent.all}`;
  t.diagnostic(`${work}: ${figure}, target ${most.all} / ${most.polls}`);
  const log = JSON.stringify(v.hetzner.counts({ since }));
  assert.ok(spent.all - spent.polls <= most.all && spent.all <= most.polls, `${work} took ${figure}: ${log}`);
  return spent;
};

const eleven = async (t: TestContext) => {
  const v = virtualApp(t);
  const b = balanced(v);
  await b.grow(1, 11);
  const controller = v.start();
  await v.untilRouted(11);
  await v.advance(quiet);
  return { v, b, controller };
};

const createAll = async ({ v, b }: Pick<Awaited<ReturnType<typeof eleven>>, 'v' | 'b'>) => {
  for (const name of names) await b.create(name, { 'use-private-ip': 'true' }, { ports: ports(80, 443) });
  const isDone = () =>
    names.every(name => (b.service(name)?.status.loadBalancer as { ingress?: [] })?.ingress !== undefined);
  const took = await v.until('ten load balancers', isDone, 60_000);
  return took;
};

it('creates ten load balancers with one request each', async t => {
  const s = await eleven(t);
  const { v, b } = s;
  const since = v.now();
  const took = await createAll(s);
  await v.advance(quiet);
  check(t, `10 Services created in ${took} ms`, v, since, { all: 12, polls: 16 });
  assert.ok(took <= 3_000, `${took} ms`);
  for (const name of names) {
    const { services, targets, privateNets } = b.balancer(name);
    assert.deepEqual([services.length, targets.length, privateNets.length], [2, 11, 1]);
  }
});

for (const [args, least, most] of [
  [[], 5_000, 15_000],
  [['--concurrent-service-syncs=2'], 25_000, 30_000],
] as const) {
  it(`works on many Services at once unless --concurrent-service-syncs says less: ${args.join() || 'by default'}`, async t => {
    const v = virtualApp(t);
    const b = balanced(v);
    await b.grow(1, 1);
    v.start({ args });
    await v.untilRouted(1);
    await v.advance(quiet);
    v.hetzner.faults.add({ kind: 'slow', ms: 5_000, method: 'POST', path: '/load_balancers' });
    const took = await createAll({ v, b });
    assert.ok(took >= least && took < most, `${took} ms`);
  });
}

it('adds a node as a target of all, and takes it out again', async t => {
  const s = await eleven(t);
  const { v, b } = s;
  await createAll(s);
  await v.advance(600_000);

  let since = v.now();
  const [id] = await b.grow(12, 12);
  const took = await v.until('a target everywhere', () => names.every(name => b.balancer(name).targets.length === 12));
  await v.untilRouted(12);
  await v.advance(quiet);
  check(t, `node added, with its route, in ${took} ms`, v, since, { all: 13, polls: 18 });
  assert.ok(took <= 2_000, `${took} ms`);

  await v.advance(600_000);
  since = v.now();
  await deleteNode(v, 'w12');
  await v.until('a target nowhere', () => names.every(name => b.balancer(name).targets.length === 11));
  await v.advance(quiet);
  v.hetzner.servers.remove(id as number);
  await v.advance(quiet);
  check(t, 'node removed, with its route', v, since, { all: 14, polls: 20 });
  assert.equal(v.routes().length, 11);
});

it('takes a node out whose server was deleted first', async t => {
  const s = await eleven(t);
  const { v, b } = s;
  await createAll(s);
  await v.advance(600_000);
  const since = v.now();
  v.hetzner.servers.remove(v.hetzner.servers.byName('w11')?.id as number);
  await deleteNode(v, 'w11');
  await v.advance(quiet);
  check(t, 'node removed after its server', v, since, { all: 14, polls: 20 });
  assert.deepEqual(new Set(names.map(name => b.balancer(name).targets.length)), new Set([10]));
  assert.equal(v.routes().length, 10);
});

it('writes nothing after a restart, with one list for all', async t => {
  const s = await eleven(t);
  const { v } = s;
  await createAll(s);
  await v.advance(quiet);
  await s.controller.stop();
  const since = v.now();
  v.start();
  await v.advance(600_000);
  const { writes } = check(t, 'restart, nothing changed', v, since, { all: 4, polls: 4 });
  assert.equal(writes, 0);
});

it('changes one port with the requests of that port', async t => {
  const s = await eleven(t);
  const { v, b } = s;
  await createAll(s);
  await v.advance(quiet);
  const since = v.now();
  await b.change('web-3', {}, { ports: ports(80, 8443) });
  await v.advance(quiet);
  check(t, 'one port changed', v, since, { all: 2, polls: 4 });
  assert.deepEqual(
    b.balancer('web-3').services.map(({ listenPort }) => listenPort),
    [80, 8443],
  );
});

it('deletes ten load balancers with one request each', async t => {
  const s = await eleven(t);
  const { v, b } = s;
  await createAll(s);
  await v.advance(600_000);
  const since = v.now();
  for (const name of names) await deleteService(v, name);
  await v.advance(quiet);
  check(t, '10 Services deleted', v, since, { all: 11, polls: 11 });
  assert.deepEqual(v.hetzner.loadBalancers.list(), []);
  assert.deepEqual(
    names.map(b.service),
    names.map(() => undefined),
  );
});

it('sends nothing while idle, for heartbeats, foreign labels and annotations, and the status of others', async t => {
  const s = await eleven(t);
  const { v, b } = s;
  await createAll(s);
  await v.advance(600_000);
  let since = v.now();
  await v.advance(60_000);
  check(t, 'idle minute', v, since, { all: 0, polls: 0 });

  since = v.now();
  v.startHeartbeats(10_000);
  for (let round = 0; round < 6; round++) {
    v.kubernetes.patch('/api/v1/nodes/w1', { metadata: { labels: { round: String(round) } } });
    v.kubernetes.patch('/api/v1/namespaces/default/services/web-1', {
      metadata: { labels: { round: String(round) }, annotations: { 'example.com/round': String(round) } },
    });
    await v.advance(10_000);
  }
  check(t, 'heartbeats, unrelated labels', v, since, { all: 0, polls: 0 });
  assert.ok(b.service('web-1')?.metadata.labels?.round === '5');
});
