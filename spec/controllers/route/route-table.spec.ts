import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defer, timer } from 'rxjs';
import { createRouteTable } from '../../../lib/controllers/route/route-table.ts';
import type { Network, Route } from '../../../lib/hetzner/types.ts';
import { fromAbortable } from '../../../lib/streams/from-abortable.ts';
import { rejection, virtualClock, virtualTime } from '../../hetzner/support.ts';
import { networkID } from '../support.ts';

const networkOf = (...routes: Route[]): Network => ({
  id: networkID,
  name: 'k8s',
  ipRange: '10.0.0.0/8',
  routes,
  servers: [],
});
const route = (n: number, gateway = `10.0.1.${n}`): Route => ({ destination: `10.244.${n}.0/24`, gateway });

const setUp = (t: Parameters<typeof virtualTime>[0], initial: Network) => {
  const time = virtualTime(t);
  const state = { network: initial, takes: 0, failWith: undefined as unknown, reads: 0 };
  const counts: number[] = [];
  const table = createRouteTable({
    read: () =>
      defer(() => {
        state.reads += 1;
        const { network, failWith, takes } = state;
        return fromAbortable(async () => {
          if (takes > 0) await new Promise(resolve => timer(takes).subscribe(resolve));
          if (failWith !== undefined) throw failWith;
          return network;
        });
      }),
    initial: { value: initial, requestedAt: Date.now() },
    clock: virtualClock,
    errorHoldOff: () => 1_000,
    onChange: count => counts.push(count),
  });
  const { signal } = new AbortController();
  const load = async () => Object.fromEntries(await table.load(signal));
  return { time, table, state, counts, load, signal };
};

describe('the routes of a network', () => {
  it('are known from the read that was made anyway, without another', async t => {
    const { table, state, load, counts } = setUp(
      t,
      networkOf(route(1), { destination: '10.244.2.9/24', gateway: '10.0.1.2' }),
    );
    assert.deepEqual(await load(), { '10.244.1.0/24': '10.0.1.1', '10.244.2.0/24': '10.0.1.2' });
    assert.equal(table.current()?.size, 2);
    assert.equal(table.readAt(), Date.now());
    assert.equal(state.reads, 0);
    assert.deepEqual(counts, [2]);
  });

  it('follow our own changes without a read', async t => {
    const { table, state, load, counts } = setUp(t, networkOf(route(1)));
    table.record('10.244.2.0/24', '10.0.1.2');
    table.record('10.244.1.0/24', undefined);
    assert.deepEqual(await load(), { '10.244.2.0/24': '10.0.1.2' });
    assert.equal(state.reads, 0);
    assert.deepEqual(counts, [1, 2, 1]);
  });

  it('are read again for destinations that are in doubt alone, once for all that were so before', async t => {
    const { time, table, state, load, signal } = setUp(t, networkOf(route(1)));
    await time.advance(100, 100);
    for (const n of [1, 2]) {
      table.doubt(`10.244.${n}.0/24`);
      await time.advance(100, 100);
    }
    state.network = networkOf(route(2));
    assert.deepEqual(await load(), { '10.244.1.0/24': '10.0.1.1' });
    assert.equal(state.reads, 0);
    for (const n of [1, 2, 3]) assert.equal((await table.load(signal, `10.244.${n}.0/24`)).size, 1);
    assert.equal(state.reads, 1);
    assert.deepEqual(await load(), { '10.244.2.0/24': '10.0.1.2' });
    table.doubt('10.244.1.0/24', table.readAt() + 50);
    await time.advance(100, 100);
    await table.load(signal, '10.244.2.0/24');
    assert.equal(state.reads, 1);
    await table.load(signal, '10.244.1.0/24');
    assert.equal(state.reads, 2);
  });

  it('are read again after they were called in question, once for all who ask', async t => {
    const { time, table, state, load } = setUp(t, networkOf(route(1)));
    await time.advance(100, 100);
    table.invalidate();
    state.network = networkOf(route(2));
    assert.deepEqual(Object.fromEntries(table.current() ?? []), { '10.244.1.0/24': '10.0.1.1' });
    const all = await Promise.all([load(), load(), load()]);
    for (const one of all) assert.deepEqual(one, { '10.244.2.0/24': '10.0.1.2' });
    assert.equal(state.reads, 1);
    assert.equal(table.readAt(), Date.now());
  });

  it('keep a change that ended while the read was under way, as the read may not show it', async t => {
    const { time, table, state, load } = setUp(t, networkOf(route(1), route(3)));
    await time.advance(100, 100);
    state.takes = 500;
    table.invalidate();
    const loading = load();
    await time.advance(200, 100);
    table.record('10.244.2.0/24', '10.0.1.2');
    table.record('10.244.3.0/24', undefined);
    await time.advance(500, 100);
    assert.deepEqual(await loading, { '10.244.1.0/24': '10.0.1.1', '10.244.2.0/24': '10.0.1.2' });
  });

  it('believe a read that was sent after our change had ended', async t => {
    const { time, table, state, load } = setUp(t, networkOf(route(1)));
    table.record('10.244.2.0/24', '10.0.1.2');
    await time.advance(100, 100);
    table.invalidate();
    state.network = networkOf(route(1));
    assert.deepEqual(await load(), { '10.244.1.0/24': '10.0.1.1' });
  });

  it('are not what a failed read says, and are asked for again by the next who needs them', async t => {
    const { time, table, state, load, signal } = setUp(t, networkOf(route(1)));
    await time.advance(100, 100);
    table.invalidate();
    state.failWith = new Error('down');
    assert.match(String(await rejection(table.load(signal))), /down/);
    assert.equal(table.current()?.size, 1);
    state.failWith = undefined;
    state.network = networkOf();
    const loading = load();
    await time.advance(900, 100);
    assert.equal(state.reads, 1);
    await time.advance(200, 100);
    assert.deepEqual(await loading, {});
  });

  it('need a read that is newer than the last doubt, not one under way', async t => {
    const { time, table, state, load } = setUp(t, networkOf(route(1)));
    await time.advance(100, 100);
    state.takes = 500;
    table.invalidate();
    const early = load();
    await time.advance(200, 100);
    table.invalidate();
    state.network = networkOf(route(2));
    const late = load();
    await time.advance(1_500, 100);
    assert.deepEqual(await early, { '10.244.1.0/24': '10.0.1.1' });
    assert.deepEqual(await late, { '10.244.2.0/24': '10.0.1.2' });
  });
});
