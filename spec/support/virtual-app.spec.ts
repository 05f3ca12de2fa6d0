import assert from 'node:assert/strict';
import { it } from 'node:test';
import { networkUnavailable } from './scenario.ts';
import { virtualApp } from './virtual-app.ts';
import { useVirtualTime } from './virtual-time.ts';

const HOUR = 3_600_000;

it('fires timers in their order, lets promises go on between them, and cancels them', async t => {
  const time = useVirtualTime(t, 1_000);
  const seen: string[] = [];
  const say = (what: string) => seen.push(`${what} ${Date.now()}`);
  setTimeout(say, 20, 'second');
  setTimeout(async () => {
    say('first');
    await Promise.resolve();
    setTimeout(() => say('nested'), 5);
  }, 10);
  const interval = setInterval(() => say('tick'), 12);
  clearTimeout(setTimeout(() => say('never'), 15));
  await time.advance(30);
  clearInterval(interval);
  await time.advance(HOUR);
  assert.deepEqual(seen, ['first 1010', 'tick 1012', 'nested 1015', 'second 1020', 'tick 1024']);
  assert.equal(Date.now(), 1_030 + HOUR);

  time.setWallClock(-HOUR);
  assert.deepEqual([Date.now(), time.now(), time.clock.monotonic()], [1_030, 1_030 + HOUR, 30 + HOUR]);
  await assert.rejects(
    time.until('nothing', () => false, 500),
    /nothing: not within 500 virtual ms/,
  );
});

it('runs the whole application through a day in seconds, and counts its requests', async t => {
  const v = virtualApp(t);
  v.addServer(1);
  await v.join(1);
  const controller = v.start();
  const took = await v.untilRouted(1);

  assert.ok(took > 400 && took < 2_000, `routed after ${took} ms: an action takes 400`);
  assert.deepEqual(v.spent(), { all: 4, polls: 1, writes: 1 });
  assert.deepEqual(v.routes(), ['10.244.1.0/24 10.0.1.1']);
  assert.equal(networkUnavailable(v.node('w1')), 'False');
  assert.equal(v.eventsOf('w1').length, 1);

  const routed = v.now();
  v.startHeartbeats();
  await v.advance(24 * HOUR);
  assert.equal(v.now(), routed + 24 * HOUR);
  assert.equal(v.spent(routed).writes, 0);
  assert.equal(controller.error(), undefined);
  assert.deepEqual(new Set(controller.lines().map(line => line.level)), new Set(['info']));
  assert.match(await controller.metrics(), /^hcloud_reactive_outcomes_total\{.*controller="node"/m);
});

it('runs replicas side by side, and one takes over from another that is killed', async t => {
  const v = virtualApp(t);
  const args = ['--leader-elect=true'];
  const first = v.start({ args });
  await v.advance(5_000);
  const second = v.start({ args });
  await v.advance(60_000);
  await first.kill();
  v.addServer(1);
  await v.join(1);
  const took = await v.untilRouted(1, 60_000);
  assert.ok(took > 5_000, `nobody may lead before the lease lapses: ${took} ms`);
  assert.ok(second.lines().some(line => line.msg === 'Became the leader'));
  const writers = v.kubernetes.journal.writes().filter(({ path }) => path.includes('/nodes/w1'));
  assert.deepEqual(new Set(writers.map(({ user }) => user)), new Set([second.user]));

  const stopped = v.now();
  await second.stop();
  assert.ok(v.now() - stopped < 2_000, 'a stop is quick');
  assert.equal(second.lines().at(-1)?.msg, 'Released the lease');
});
