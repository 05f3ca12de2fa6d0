import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../support/cluster.ts';
import { routeOf, untilConverged } from '../support/converge.ts';
import { deleteNode } from '../support/nodes.ts';
import { startProxy } from '../support/proxy.ts';
import { routeWrites } from '../support/route-checks.ts';
import { scenarios } from '../support/scenario.ts';
import { createService } from '../support/services.ts';

const scenario = scenarios();

it('notices connections that went dead without a sign, keeps the lease meanwhile, and catches up (BUG-073)', async t => {
  const s = await scenario(t);
  const { protocol, port } = new URL(s.cluster.url);
  const proxy = await startProxy(Number(port));
  t.after(() => proxy.close());
  for (const i of [1, 2, 3]) s.addServer(i);
  const controller = s.start({ kubernetesURL: `${protocol}//127.0.0.1:${proxy.port}` });
  for (const i of [1, 2]) await s.join(i);
  await untilConverged(s, [1, 2]);
  const before = proxy.accepted();
  proxy.strand();
  const at = Date.now();
  await deleteNode(s.cluster, 'w2');
  await s.join(3);
  // Of Services nothing was heard before, so their watch has to learn of its death from others.
  await createService(s.cluster, { name: 'web', annotations: { 'load-balancer.hetzner.cloud/location': 'fsn1' } });
  assert.deepEqual(s.routes(), [routeOf(1), routeOf(2)]);
  await untilConverged(s, [1, 3], 180_000);
  await eventually('the load balancer', async () => s.hetzner.loadBalancers.list()[0], 180_000);
  assert.ok(Date.now() - at < 150_000, `noticed after ${Date.now() - at} ms`);
  assert.ok(proxy.accepted() > before);
  assert.deepEqual(routeWrites(s), { added: 3, deleted: 1, refused: 0 });
  assert.equal(
    controller.lines().filter(line => line.msg === 'Became the leader').length,
    1,
    'renewals that hang leave time for others before the deadline',
  );
});

it('goes on after a freeze of the network that outlives the lease, with the writes of before neither lost nor doubled', async t => {
  const s = await scenario(t);
  const { protocol, port } = new URL(s.cluster.url);
  const proxy = await startProxy(Number(port));
  t.after(() => proxy.close());
  for (const i of [1, 2, 3]) s.addServer(i);
  const controller = s.start({
    kubernetesURL: `${protocol}//127.0.0.1:${proxy.port}`,
    args: ['--leader-elect-lease-duration=6s', '--leader-elect-renew-deadline=4s', '--leader-elect-retry-period=1s'],
  });
  for (const i of [1, 2]) await s.join(i);
  await untilConverged(s, [1, 2]);
  await s.join(3);
  proxy.freeze();
  await controller.waitForLine(line => line.msg === 'Lost the leadership', 'end of the term');
  await deleteNode(s.cluster, 'w2');
  proxy.thaw();
  await untilConverged(s, [1, 3], 150_000);
  const { added, deleted } = routeWrites(s);
  assert.deepEqual({ added, deleted }, { added: 3, deleted: 1 });
});
