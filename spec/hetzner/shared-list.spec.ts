import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSharedList } from '../../lib/hetzner/shared-list.ts';
import type { CallOptions, Priority } from '../../lib/hetzner/types.ts';
import { calling, rejection, virtualClock, virtualTime } from './support.ts';

it('tells a request under way how urgent those are who wait for it by now', async t => {
  virtualTime(t);
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const sent: CallOptions[] = [];
  const list = createSharedList({
    clock: virtualClock,
    fetch: o => {
      sent.push(o);
      return promise;
    },
    build: items => items,
  });
  const told: Priority[] = [];
  const now = Date.now();
  const refresh = list.notBefore(now, calling('refresh'));
  sent[0]?.raised$?.subscribe(priority => told.push(priority));
  const route = list.notBefore(now, calling('route'));
  const leaves = new AbortController();
  const left = rejection(list.notBefore(now, calling('initialise', leaves.signal)));
  // Needs a newer list, which is asked for when this one is there.
  const later = rejection(list.notBefore(now + 1, calling('initialise', leaves.signal)));
  leaves.abort(new Error('enough'));
  await Promise.all([left, later]);
  resolve(['a']);
  assert.deepEqual(await Promise.all([refresh, route]), [['a'], ['a']]);
  assert.equal(sent.length, 1);
  assert.equal(sent[0]?.priority, 'refresh');
  assert.deepEqual(told, ['refresh', 'route', 'initialise', 'route', 'refresh']);
});
