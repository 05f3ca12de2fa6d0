import assert from 'node:assert/strict';
import { it } from 'node:test';
import { balanced, ingressOf, ports } from '../support/balanced.ts';
import { isInitialised } from '../support/scenario.ts';
import { virtualApp } from '../support/virtual-app.ts';

/** Load balancers when the quota is used up, and when the leader dies, in virtual time. */

const MINUTE = 60_000;

it('sends next to nothing while the quota is empty, then initialises the joining nodes first and completes all', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  await b.grow(1, 1);
  v.start();
  await v.untilRouted(1);
  await v.advance(MINUTE);

  const from = v.now();
  v.hetzner.drain({ forMs: MINUTE });
  await b.grow(2, 4);
  const names = Array.from({ length: 6 }, (_, i) => `web-${i + 1}`);
  for (const name of names) await b.create(name, { 'use-private-ip': 'true' }, { ports: ports(80, 443) });
  await v.advance(MINUTE);
  const during = v.hetzner.requests.filter(({ at }) => at >= from);
  assert.ok(during.length < 8, `${during.length} requests while the quota was empty`);

  const refilled = v.now();
  let joined: number | undefined;
  const complete = (name: string): boolean =>
    ingressOf(b.service(name)).length === 3 &&
    b.balancer(name).targets.length === 4 &&
    b.balancer(name).services.length === 2;
  const areComplete = (): boolean => {
    const areJoined = [2, 3, 4].every(i => isInitialised(v.node(`w${i}`) as NonNullable<ReturnType<typeof v.node>>));
    if (areJoined) joined ??= v.now();
    return areJoined && names.every(complete) && v.routes().length === 4;
  };
  const took = await v.until('all complete', areComplete, 3 * MINUTE);
  await v.advance(MINUTE);
  const after = v.hetzner.requests.filter(({ at }) => at >= refilled);
  const refused = after.filter(({ status }) => status === 429).length;
  t.diagnostic(
    `${during.length} requests during, ${refused} refused of ${after.length} after; nodes after ${(joined ?? 0) - refilled} ms, all after ${took} ms`,
  );
  const firstMade = after.find(({ method, route }) => method === 'POST' && route === '/load_balancers')?.at ?? 0;
  assert.ok(joined !== undefined && joined < firstMade, `nodes at ${joined}, load balancers from ${firstMade} on`);
  assert.ok(refused < 10, `${refused} refused`);
});

/** ms after the creation of the Services: before the first request, while they are under way, in their actions, after. */
const moments = [1, 12, 20, 25, 30, 40, 60, 200, 440, 470, 700, 2_000];
const ends = [
  ...moments.map(after => ({ end: 'kill', what: 'dies', after }) as const),
  ...[30, 40, 440].map(after => ({ end: 'stop', what: 'is stopped', after }) as const),
];
for (const { end, what, after } of ends) {
  it(`makes exactly one load balancer a Service when the leader ${what} ${after} ms after five were asked for`, async t => {
    const v = virtualApp(t);
    const b = balanced(v);
    const args = ['--leader-elect=true'];
    await b.grow(1, 2);
    const first = v.start({ args });
    await v.untilRouted(2);
    const second = v.start({ args });
    await v.advance(MINUTE);

    const names = Array.from({ length: 5 }, (_, i) => `web-${i + 1}`);
    for (const name of names) await b.create(name, { 'use-private-ip': 'true' }, { ports: ports(80, 443) });
    await v.advance(after);
    const before = v.hetzner.count({ method: 'POST', route: '/load_balancers' });
    await first[end]();
    await v.until('all complete', () => names.every(name => ingressOf(b.service(name)).length === 3), 5 * MINUTE);
    await v.advance(MINUTE);
    t.diagnostic(`${before} were made before its end`);

    assert.equal(v.hetzner.loadBalancers.list().length, 5);
    assert.equal(v.hetzner.count({ method: 'POST', route: '/load_balancers' }), 5);
    for (const name of names) {
      const { targets, services } = b.balancer(name);
      assert.deepEqual([targets.length, services.length], [2, 2], name);
    }
    assert.ok(second.lines().some(({ msg }) => msg === 'Became the leader'));
  });
}
