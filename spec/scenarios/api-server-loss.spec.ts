import assert from 'node:assert/strict';
import { it } from 'node:test';
import { untilConverged as converged, routeOf } from '../support/converge.ts';
import { deleteNode, heartbeat } from '../support/nodes.ts';
import { routeWrites } from '../support/route-checks.ts';
import { scenarios } from '../support/scenario.ts';

const scenario = scenarios();

const initialised = (lines: readonly { readonly msg: string; readonly node?: unknown }[]) =>
  lines.filter(line => line.msg === 'Initialised node').map(line => line.node);

/** s without API server; never less than the term of leadership lasts. */
const outage = Number(process.env.OUTAGE ?? 20);

it(`goes on after ${outage} s without API server: what was deleted and joined around it is done, once (BUG-074, BUG-076)`, async t => {
  const s = await scenario(t);
  for (const i of [1, 2, 3, 4]) s.addServer(i);
  const controller = s.start();
  for (const i of [1, 2]) await s.join(i);
  await converged(s, [1, 2]);
  // The write is in flight or just done when the API server goes.
  await s.join(3);
  await s.cluster.killAPIServer();
  const killedAt = Date.now();
  await controller.waitForLine(line => line.msg === 'Lost the leadership', 'end of the term', 60_000);
  const left = Math.max(5_000, outage * 1_000 - (Date.now() - killedAt));
  await new Promise(resolve => setTimeout(resolve, left));
  const before = s.routes();
  assert.ok(before.includes(routeOf(1)) && before.includes(routeOf(2)), 'nothing is deleted meanwhile');
  await s.cluster.startAPIServer();
  await deleteNode(s.cluster, 'w2');
  await s.join(4);
  await converged(s, [1, 3, 4]);

  assert.deepEqual(routeWrites(s), { added: 4, deleted: 1, refused: 0 });
  assert.deepEqual(initialised(controller.lines()).sort(), ['w1', 'w2', 'w3', 'w4']);
  assert.equal(controller.process.exitCode, null, 'the process is still the same');
  const lost = controller.lines().filter(line => line.msg === 'Lost the watch of the Kubernetes API, will try again');
  const waits = lost.map(line => Number(line.after));
  assert.ok(
    waits.every(after => after === 0 || (after >= 1000 && after <= 8000)),
    `BUG-075: at most one try a second, and only a changed history is looked at at once: ${waits}`,
  );
});

it('starts over when etcd has lost everything: one node comes back under its name, one is gone (BUG-076, BUG-077)', async t => {
  const s = await scenario(t);
  for (const i of [1, 2, 3]) s.addServer(i);
  const controller = s.start();
  for (const i of [1, 2]) await s.join(i);
  await converged(s, [1, 2]);
  await s.cluster.wipeEtcd();
  // The same name, but another Node: all of it is written again, its route is there.
  await s.join(2);
  await s.join(3);
  await converged(s, [2, 3]);
  assert.deepEqual(routeWrites(s), { added: 3, deleted: 1, refused: 0 });
  assert.deepEqual(initialised(controller.lines()).sort(), ['w1', 'w2', 'w2', 'w3']);
});

it('lists again when its versions have become too old, storm or not, and does nothing twice (BUG-076)', async t => {
  const s = await scenario(t);
  for (const i of [1, 2, 3]) s.addServer(i);
  s.start();
  for (const i of [1, 2]) await s.join(i);
  await converged(s, [1, 2]);
  for (let round = 0; round < 3; round++) {
    await s.cluster.expireHistory();
    await heartbeat(s.cluster, 'w1');
  }
  await deleteNode(s.cluster, 'w2');
  await s.join(3);
  await converged(s, [1, 3]);
  assert.deepEqual(routeWrites(s), { added: 3, deleted: 1, refused: 0 });
});
