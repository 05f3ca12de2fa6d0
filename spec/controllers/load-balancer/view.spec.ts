import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLoadBalancerView } from '../../../lib/controllers/load-balancer/view.ts';
import type { LoadBalancer } from '../../../lib/hetzner/lb-types.ts';
import { calling } from '../../hetzner/support.ts';
import { manualClock } from '../../kubernetes/support.ts';
import { loadBalancer } from './support.ts';

describe('the view of load balancers', () => {
  const open = () => {
    const clock = manualClock(1_000);
    const state = { loadBalancers: [loadBalancer()] as readonly LoadBalancer[], lists: 0 };
    let latest: { requestedAt: number; loadBalancers: readonly LoadBalancer[] } | undefined;
    const notBefore = async (instant: number) => {
      if (latest === undefined || latest.requestedAt < instant) {
        state.lists += 1;
        latest = { requestedAt: clock.monotonic(), loadBalancers: [...state.loadBalancers] };
      }
      return latest;
    };
    const view = createLoadBalancerView({ notBefore, latest: () => latest, changes$: undefined as never }, clock);
    const names = async (instant = 0) => (await view.load(instant, calling())).map(({ name }) => name);
    return { clock, state, view, names };
  };

  it('is read once, follows own writes without a read, and is read anew when it can not be trusted', async () => {
    const { clock, state, view, names } = open();
    assert.deepEqual(await names(), ['lb']);
    clock.advance(10);
    view.record(loadBalancer({ name: 'new' }));
    view.record(loadBalancer({ id: 8, name: 'second' }));
    assert.deepEqual([await names(), state.lists], [['new', 'second'], 1]);
    view.forget(8);
    assert.deepEqual(await names(), ['new']);
    clock.advance(10);
    view.invalidate();
    assert.deepEqual([await names(), state.lists], [['lb'], 2], 'what was written before counts no more');
  });

  it('is read anew after a write that was worked out from what can not be trusted any more', async () => {
    const { clock, state, view, names } = open();
    const base = await view.load(0, calling());
    clock.advance(10);
    view.invalidate();
    clock.advance(10);
    await names();
    clock.advance(10);
    view.record(loadBalancer({ name: 'made of the old one' }), base);
    clock.advance(10);
    assert.deepEqual([await names(), state.lists], [['lb'], 3]);
    const newer = await view.load(0, calling());
    clock.advance(10);
    view.record(loadBalancer({ name: 'new' }), newer);
    assert.deepEqual([await names(), state.lists], [['new'], 3]);
  });

  it('is never older than it was made, which a term of leadership begins with', async () => {
    const { clock, names, state } = open();
    clock.advance(100);
    await names(-1_000_000);
    assert.equal(state.lists, 1);
  });
});
