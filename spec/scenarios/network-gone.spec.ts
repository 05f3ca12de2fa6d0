import assert from 'node:assert/strict';
import { it } from 'node:test';
import { balanced } from '../support/balanced.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { virtualApp } from '../support/virtual-app.ts';

/** The network of HCLOUD_NETWORK is deleted while the controller runs. */

const MINUTE = 60_000;

it('tells once that its network is gone, sends little meanwhile, and goes on with a new one of the name', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  const servers = await b.grow(1, 3);
  const controller = v.start();
  await v.untilRouted(3);
  await v.advance(MINUTE);

  v.hetzner.networks.remove(v.networkID);
  const since = v.now();
  await v.advance(60 * MINUTE);
  const { all } = v.spent(since);
  assert.ok(all < 240, `${all} requests in an hour`);
  const lines = (msg: string) => controller.lines().filter(line => line.msg === msg);
  assert.equal(lines('Found the network gone').length, 1);
  assert.equal(lines('Found the network gone')[0]?.level, 'error');
  const events = v.kubernetes.list('/api/v1/namespaces/kube-system/events') as unknown as KubeObject[];
  assert.match(
    events.find(({ reason }) => reason === 'NetworkNotFound')?.message ?? '',
    /network k8s \(\d+\) does not exist/,
  );
  assert.match(await controller.metrics(), /hcloud_reactive_network_missing\{network="k8s"\} 1/);
  assert.equal(controller.error(), undefined);

  const { id } = v.hetzner.networks.create({ name: 'k8s', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/16'] });
  for (const [i, server] of servers.entries()) v.hetzner.servers.attach(server, id, { ip: `10.0.1.${i + 1}` });
  const isRouted = (): boolean => v.hetzner.networks.get(id)?.routes.length === 3;
  const took = await v.until('the routes are in the new network', isRouted, 12 * MINUTE);
  t.diagnostic(`routed after ${Math.round(took / 1_000)} s`);
  assert.match(await controller.metrics(), /hcloud_reactive_network_missing\{network="k8s"\} 0/);
  assert.equal(controller.error(), undefined);
});

it('asks for its network only where something speaks for its loss', async t => {
  const v = virtualApp(t);
  await balanced(v).grow(1, 1);
  v.start();
  await v.untilRouted(1);
  const since = v.now();
  await v.advance(60 * MINUTE);
  assert.equal(v.hetzner.count({ since, method: 'GET', route: '/networks' }), 0);
});

it('takes a network that was renamed for the one it was', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  const [server = 0] = await b.grow(1, 1);
  const controller = v.start();
  await v.untilRouted(1);
  v.hetzner.networks.rename(v.networkID, 'renamed');
  v.hetzner.servers.detach(server, v.networkID);
  v.addServer(2, { ip: false });
  await v.join(2);
  const since = v.now();
  await v.advance(20 * MINUTE);
  assert.equal(v.hetzner.count({ since, method: 'GET', route: '/networks' }), 1);
  await b.grow(3, 3);
  await v.untilRouted(3);
  assert.deepEqual(
    controller.lines().filter(({ level }) => level === 'error'),
    [],
  );
  assert.equal(controller.error(), undefined);
});
