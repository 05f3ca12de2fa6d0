import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deleteNode } from '../support/nodes.ts';
import { isInitialised } from '../support/scenario.ts';
import { virtualApp } from '../support/virtual-app.ts';

/**
 * A week in a large cluster that shares its quota with others. DAYS and NODES choose another size, SEED another course.
 * A list of 1,000 servers takes 20 requests, and at 3,600 an hour one request a second is refilled.
 */
const { DAYS = '7', NODES = '1000', SEED = '5' } = process.env;
const [days, count] = [Number(DAYS), Number(NODES)];
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Others leave nothing, not even what is refilled, for at most this long. */
const longestDrain = 10 * MINUTE;

/** Park and Miller. */
const numbers = (seed: number) => {
  let state = seed;
  return (most: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return Math.floor((state / 2_147_483_647) * most);
  };
};

it(`initialises nodes within a minute of the quota's return, all through ${days} days with ${count} nodes (SEED=${SEED})`, async t => {
  const v = virtualApp(t, { keepRequests: 1_000_000 });
  const upTo = numbers(Number(SEED));
  const servers = new Map<string, number>();
  const made = (i: number): string => {
    const name = `w${i}`;
    servers.set(name, v.hetzner.servers.create({ name }).id);
    return name;
  };
  const register = (name: string) => v.join(Number(name.slice(1)), { podCIDRs: [] });
  for (let i = 1; i <= count; i += 1) await register(made(i));
  const args = ['--configure-cloud-routes=false', '--node-status-update-frequency=30m'];
  const controller = v.start({ args, env: { HCLOUD_NETWORK: undefined } });
  const areInitialised = (names: readonly string[]): boolean =>
    names.every(name => {
      const node = v.node(name);
      return node !== undefined && isInitialised(node);
    });
  const first = await v.until('all are initialised', () => areInitialised([...servers.keys()]), 10 * MINUTE);
  await v.advance(HOUR);

  let [next, longest, afterReturn, bursts] = [count, 0, 0, 0];
  const from = v.now();
  while (v.now() - from < days * 24 * HOUR) {
    await v.advance(HOUR + upTo(4 * HOUR));
    // Others use the quota up, in half of the cases together with a burst of joins.
    let returns = v.now();
    if (upTo(2) === 0) {
      const forMs = upTo(longestDrain);
      v.hetzner.drain({ forMs });
      returns += forMs;
    } else {
      v.hetzner.drain({ tokens: upTo(3_600) });
    }
    const leaving = [...servers.keys()].slice(0, 1 + upTo(15));
    for (const name of leaving) {
      await deleteNode(v, name);
      v.hetzner.servers.remove(servers.get(name) as number);
      servers.delete(name);
    }
    const joining = leaving.map(() => made(++next));
    const since = v.now();
    for (const name of joining) await register(name);
    await v.until('those that joined are initialised', () => areInitialised(joining), HOUR);
    longest = Math.max(longest, v.now() - since);
    afterReturn = Math.max(afterReturn, v.now() - Math.max(since, returns));
    bursts += 1;
  }

  const refused = v.hetzner.requests.filter(({ status }) => status === 429).length;
  t.diagnostic(
    `${count} nodes at once: ${first} ms; ${bursts} bursts in ${days} days: longest wait ${longest} ms, ${afterReturn} ms after the quota's return; ` +
      `${v.spent().all} requests, ${refused} refused`,
  );
  assert.ok(afterReturn <= MINUTE, `a node waited ${afterReturn} ms after the quota had come back`);
  assert.ok(longest <= longestDrain + MINUTE);
  assert.ok(refused <= 8 * bursts, `${refused} requests were refused`);
  assert.equal(controller.error(), undefined);
  assert.equal((v.kubernetes.list('/api/v1/nodes') as unknown[]).length, count);
  assert.deepEqual(
    controller.lines().filter(({ level }) => level === 'error'),
    [],
  );
});
