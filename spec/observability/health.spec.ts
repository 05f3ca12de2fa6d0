import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createHealth, heartbeat } from '../../lib/observability/health.ts';
import { healthText } from '../../lib/observability/http-handlers.ts';

describe('health', () => {
  it('is fine without checks', () => {
    const health = createHealth();
    for (const result of [health.live(), health.ready(), health.all()]) {
      assert.deepEqual(result, { ok: true, checks: [{ name: 'ping', reason: undefined }] });
    }
  });

  it('asks each check only on its own probe, and all of them on healthz', () => {
    const health = createHealth();
    health.setCheck('election', () => 'stuck', 'live');
    health.setCheck('nodes', () => 'not synced');
    health.setCheck('lease', () => 'lost', 'health');
    const failing = (result: ReturnType<typeof health.live>) =>
      result.checks.filter(c => c.reason !== undefined).map(c => c.name);
    assert.deepEqual(failing(health.live()), ['election']);
    assert.deepEqual(failing(health.ready()), ['nodes']);
    assert.deepEqual(failing(health.all()), ['election', 'nodes', 'lease']);
    assert.equal(health.all().ok, false);
  });

  it('derives the answer at each question', () => {
    const health = createHealth();
    let synced = false;
    health.setCheck('nodes', () => (synced ? undefined : 'not synced'));
    assert.equal(health.ready().ok, false);
    synced = true;
    assert.equal(health.ready().ok, true);
  });

  it('counts a check that throws as failed', () => {
    const health = createHealth();
    health.setCheck('nodes', () => {
      throw new Error('no');
    });
    assert.equal(health.ready().ok, false);
    assert.equal(health.live().ok, true);
  });

  it('removes a check, but not the one that has taken its place', () => {
    const health = createHealth();
    const removeOld = health.setCheck('nodes', () => 'old');
    const removeNew = health.setCheck('nodes', () => 'new');
    removeOld();
    assert.equal(health.ready().checks[1]?.reason, 'new');
    removeNew();
    assert.equal(health.ready().ok, true);
  });

  it('answers ok, or one line a check with names only', () => {
    const health = createHealth();
    assert.equal(healthText('readyz', health.ready(), false), 'ok');
    assert.equal(healthText('readyz', health.ready(), true), '[+]ping ok\nreadyz check passed\n');
    health.setCheck('nodes', () => 'secret details');
    assert.equal(healthText('readyz', health.ready(), false), '[+]ping ok\n[-]nodes failed\nreadyz check failed\n');
  });

  it('sees a loop that has stopped turning, once it is older than allowed', () => {
    const clock = { now: 1_000, monotonic: () => clock.now };
    const loop = heartbeat(clock, 15_000);
    clock.now = 16_000;
    assert.equal(loop.check(), undefined);
    clock.now = 16_001;
    assert.match(loop.check() ?? '', /15001 ms.*15000 ms/);
    loop.beat();
    assert.equal(loop.check(), undefined);
  });
});
