import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { FakeHetznerOptions } from '../../lib/simulator/hetzner/fake.ts';
import { balanced, listenersOf, type PortWish, ports, targetsOf } from '../support/balanced.ts';
import { JSON_PATCH, MERGE_PATCH } from '../support/kube-client.ts';
import { deleteNode, nodePath } from '../support/nodes.ts';
import { servicePath } from '../support/services.ts';
import { virtualApp } from '../support/virtual-app.ts';

/** A Service with the ports 80 and 443 on nodes w1 and w2, with clients on both ports all the time. */
const open = async (
  t: TestContext,
  annotations: Readonly<Record<string, string>> = {},
  options: FakeHetznerOptions = {},
) => {
  const v = virtualApp(t, options);
  const b = balanced(v);
  v.hetzner.certificates.create({ id: 901, name: 'one' });
  const servers = await b.grow(1, 2);
  const controller = v.start();
  await b.create('web', annotations, { ports: ports(80, 443) });
  const complete = () =>
    v.hetzner.loadBalancers.list().some(({ targets, services }) => targets.length === 2 && services.length === 2);
  await v.until('the load balancer is complete', complete, 120_000);
  await v.advance(30_000);
  const { id } = b.balancer('web');
  const watch = v.hetzner.loadBalancers.watchTraffic(id, [80, 443]);
  return {
    v,
    b,
    id,
    servers,
    controller,
    setPorts: (...all: readonly PortWish[]) =>
      v.client.must(
        'PATCH',
        servicePath('web'),
        [{ op: 'replace', path: '/spec/ports', value: ports(...all) }],
        JSON_PATCH,
      ),
    /** Lets what was begun come to its end, and asserts that clients noticed nothing of it. */
    undisturbed: async () => {
      await v.advance(60_000);
      assert.ok(watch.samples > 1, 'something was done');
      assert.deepEqual(watch.gaps(), []);
    },
  };
};

describe('clients of a load balancer notice nothing', () => {
  for (const mode of ['parallel', 'locked', 'conflict'] as const) {
    it(`when all nodes are replaced one after the other (changes ${mode})`, async t => {
      const { v, b, servers, undisturbed } = await open(t, {}, { loadBalancerChanges: mode });
      for (const [i, gone] of [
        [3, 1],
        [4, 2],
      ] as const) {
        await b.grow(i, i);
        await v.advance(10_000);
        await deleteNode(v, `w${gone}`);
        await v.advance(10_000);
        v.hetzner.servers.remove(servers[gone - 1] as number);
      }
      await undisturbed();
      assert.equal(targetsOf(b.balancer('web')).length, 2);
    });
  }

  it('when all nodes are exchanged for others at once', async t => {
    const { v, b, undisturbed } = await open(t);
    await b.grow(3, 4);
    await v.until('they are known', () => b.balancer('web').targets.length === 4, 60_000);
    await Promise.all([deleteNode(v, 'w1'), deleteNode(v, 'w2')]);
    await undisturbed();
    assert.deepEqual(targetsOf(b.balancer('web')), ['103', '104']);
  });

  it('when the node selector takes other nodes, even if these can not be had at first', async t => {
    const { v, b, undisturbed } = await open(t);
    await b.grow(3, 4);
    await v.until('they are known', () => b.balancer('web').targets.length === 4, 60_000);
    await b.change('web', { 'node-selector': 'kubernetes.io/hostname in (w1,w2)' });
    await v.until('they are gone', () => b.balancer('web').targets.length === 2, 60_000);
    v.hetzner.faults.add({ kind: 'error', status: 422, code: 'invalid_input', path: /add_target/, times: 4 });
    await b.change('web', { 'node-selector': 'kubernetes.io/hostname in (w3,w4)' });
    await undisturbed();
    assert.deepEqual(targetsOf(b.balancer('web')), ['103', '104']);
  });

  it('when nodes are cordoned and drained, the last one included', async t => {
    const { v, b, undisturbed } = await open(t);
    for (const name of ['w1', 'w2']) {
      await v.client.must('PATCH', nodePath(name), { spec: { unschedulable: true } }, MERGE_PATCH);
      await v.advance(10_000);
    }
    await undisturbed();
    assert.ok(b.balancer('web').targets.length > 0);
  });

  for (const [from, to] of [
    ['false', 'true'],
    ['true', 'false'],
  ] as const) {
    it(`BUG-059: when use-private-ip turns from ${from} to ${to}`, async t => {
      const { b, undisturbed } = await open(t, { 'use-private-ip': from });
      await b.change('web', { 'use-private-ip': to });
      await undisturbed();
      const suffix = to === 'true' ? ' private' : '';
      assert.deepEqual(targetsOf(b.balancer('web')), [`101${suffix}`, `102${suffix}`]);
    });
  }

  it('when use-private-ip turns true and Hetzner refuses one target, then the other', async t => {
    for (const skip of [0, 1]) {
      await t.test(`the one after ${skip}`, async inner => {
        const { v, b, undisturbed } = await open(inner);
        v.hetzner.faults.add({ kind: 'error', status: 422, code: 'service_error', path: /add_target/, skip, times: 1 });
        await b.change('web', { 'use-private-ip': 'true' });
        await undisturbed();
        assert.deepEqual(targetsOf(b.balancer('web')), ['101 private', '102 private'], 'tried again');
      });
    }
  });

  it('when the process dies in the middle of a flip and another takes over', async t => {
    const { v, b, controller, undisturbed } = await open(t);
    await b.change('web', { 'use-private-ip': 'true' });
    await v.until('the flip has begun', () => b.balancer('web').targets.length < 2, 60_000);
    await controller.kill();
    v.start();
    await undisturbed();
    assert.deepEqual(targetsOf(b.balancer('web')), ['101 private', '102 private']);
  });

  it('when the public interface is switched off and on again', async t => {
    const { v, b, undisturbed } = await open(t);
    await b.change('web', { 'use-private-ip': 'true', 'disable-public-network': 'true' });
    await v.advance(60_000);
    assert.equal(b.balancer('web').publicNet.enabled, false);
    await b.change('web', { 'use-private-ip': 'false', 'disable-public-network': 'false' });
    await undisturbed();
    assert.deepEqual(targetsOf(b.balancer('web')), ['101', '102']);
  });

  it('when other ports come and go, and node ports change', async t => {
    const { v, b, setPorts, undisturbed } = await open(t);
    await setPorts(80, 443, 8080);
    await v.advance(10_000);
    await setPorts(80, 443, 9000, 9001);
    await v.advance(10_000);
    await setPorts({ port: 80, nodePort: 31_080 }, { port: 443, nodePort: 31_443 });
    await undisturbed();
    assert.deepEqual(listenersOf(b.balancer('web')), ['443 -> 31443', '80 -> 31080']);
  });

  it('when ports change on a load balancer that has no room for more', async t => {
    const { v, b, setPorts, undisturbed } = await open(t);
    await setPorts(80, 443, 1, 2, 3);
    await v.advance(10_000);
    await setPorts(80, 443, 4, 5, 6);
    await undisturbed();
    assert.equal(b.balancer('web').services.length, 5);
  });

  it('when the type grows and shrinks', async t => {
    const { v, b, undisturbed } = await open(t);
    for (const type of ['lb21', 'lb11']) {
      await b.change('web', { type });
      await v.advance(30_000);
      assert.equal(b.balancer('web').type.name, type);
    }
    await undisturbed();
  });

  it('when the protocol turns to https with a redirect on port 80, and back', async t => {
    const { v, b, undisturbed } = await open(t);
    await b.change('web', { protocol: 'https', 'http-certificates': 'one' });
    await v.advance(30_000);
    assert.deepEqual(
      b.balancer('web').services.map(({ protocol }) => protocol),
      ['https', 'https'],
    );
    await b.change('web', { protocol: 'tcp', 'http-certificates': null });
    await undisturbed();
    assert.deepEqual(
      b.balancer('web').services.map(({ protocol }) => protocol),
      ['tcp', 'tcp'],
    );
  });

  it('when nobody can tell what is wanted, or certificates can not be had', async t => {
    const { v, b, undisturbed } = await open(t);
    for (const wrong of [
      { protocol: 'quic' },
      { protocol: 'https', 'http-certificates': 'nine' },
      { 'node-selector': '((' },
      { 'use-private-ip': 'maybe' },
    ]) {
      await b.change('web', wrong);
      await v.advance(20_000);
      await b.change('web', Object.fromEntries(Object.keys(wrong).map(name => [name, null])));
      await v.advance(20_000);
    }
    await undisturbed();
  });

  it('of a controller that restarts, nor of a day on which nothing happens', async t => {
    const { v, controller, undisturbed } = await open(t);
    await controller.stop();
    v.start();
    await v.advance(25 * 3_600_000);
    await undisturbed();
  });
});

it('BUG-048: private targets come back at once when the wanted private address is refused, and it is tried ever more rarely', async t => {
  const { v, b, id } = await open(t, { 'use-private-ip': 'true' });
  // Taken by something that no list tells of, such as a host behind a vSwitch.
  const fault = v.hetzner.faults.add({
    kind: 'error',
    status: 422,
    code: 'ip_not_available',
    message: 'IP not available',
    path: /attach_to_network/,
    when: ({ body }) => String(body).includes('10.0.7.7'),
  });
  const before = b.balancer('web').privateNets;
  await b.change('web', { 'private-ipv4': '10.0.7.7' });
  await v.advance(5_000);
  assert.equal(fault.struck, 1);
  assert.ok(v.hetzner.loadBalancers.serves(id, 80));
  assert.deepEqual(
    [b.balancer('web').privateNets, targetsOf(b.balancer('web'))],
    [before, ['101 private', '102 private']],
  );
  await v.advance(49 * 3_600_000);
  assert.ok(fault.struck <= 6, `${fault.struck} tries, each of which drops the private targets for a moment`);
  assert.deepEqual(targetsOf(b.balancer('web')), ['101 private', '102 private']);
  assert.ok(b.events('web').some(text => text.includes('10.0.7.7')));
});
