import assert from 'node:assert/strict';
import { it } from 'node:test';
import { scenarios } from '../support/scenario.ts';

const scenario = scenarios();

it('initialises nodes that join and writes their routes, and info lines tell the story of each', async t => {
  const s = await scenario(t);
  s.addServer(1);
  s.addServer(2);
  await s.join(1);
  const controller = s.start();
  await s.waitInitialised('w1');
  await s.waitRouted(1);
  await s.join(2);
  const node = await s.waitInitialised('w2');
  await s.waitRouted(2);
  await controller.waitForLine(l => l.node === 'w2' && l.msg === 'Marked node network available', 'w2 available');

  assert.deepEqual(node.status?.addresses, [
    { type: 'Hostname', address: 'w2' },
    { type: 'ExternalIP', address: '203.0.113.2' },
    { type: 'InternalIP', address: '10.0.1.2' },
  ]);
  assert.deepEqual(s.routes(), ['10.244.1.0/24 10.0.1.1', '10.244.2.0/24 10.0.1.2']);
  const about = controller.lines().filter(line => line.node === 'w2');
  assert.deepEqual(
    about.map(line => line.msg),
    ['Noticed uninitialised node', 'Initialised node', 'Created route', 'Marked node network available'],
  );
  assert.deepEqual(
    controller.lines().filter(line => line.level !== 'info'),
    [],
  );
});
