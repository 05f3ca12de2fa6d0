import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Subject } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { ListWatchEvent } from '../../lib/kubernetes/list-watch.ts';
import { createReflector } from '../../lib/kubernetes/reflector.ts';
import type { StoreChange } from '../../lib/kubernetes/store.ts';
import type { KubeNode } from '../../lib/kubernetes/types.ts';
import { manualClock, node } from './support.ts';

type Event = ListWatchEvent<KubeNode>;

const brief = (change: StoreChange<KubeNode>): string =>
  `${change.type} ${change.object.uid}@${change.object.resourceVersion}${change.initial ? ' initial' : ''}`;
const of = (name: string, uid: string, rv: string): KubeNode => node(name, { uid, resourceVersion: rv });

const setUp = () => {
  const clock = manualClock(1000);
  const events$ = new Subject<Event>();
  const { store, run$ } = createReflector({ events$, clock });
  const errors: unknown[] = [];
  const subscription = run$.subscribe(error => errors.push(error));
  const send = (...events: Event[]): void => {
    for (const event of events) events$.next(event);
  };
  const list = (rv: string, ...objects: KubeNode[]): void =>
    send({ type: 'init' }, ...objects.map(object => ({ type: 'initApply', object }) as const), {
      type: 'initDone',
      rv,
    });
  const changes: string[] = [];
  const record = (): void => {
    store.watch().subscribe(change => changes.push(brief(change)));
  };
  return { clock, events$, store, send, list, errors, changes, record, subscription };
};

describe('reflector', () => {
  it('shows nothing of a list before it is complete', () => {
    const { store, send, changes, record } = setUp();
    record();
    send({ type: 'init' }, { type: 'initApply', object: of('a', 'u1', '1') });
    assert.deepEqual([store.list(), store.synced, changes], [[], false, []]);
    send({ type: 'initDone', rv: '9' });
    assert.deepEqual([store.list().length, store.synced, changes], [1, true, ['added u1@1 initial']]);
  });

  it('throws away what an unfinished list has brought', () => {
    const { store, send, list } = setUp();
    send({ type: 'init' }, { type: 'initApply', object: of('a', 'u1', '1') });
    list('9', of('b', 'u2', '1'));
    assert.deepEqual(
      store.list().map(object => object.name),
      ['b'],
    );
  });

  it('tells live changes with the object before', () => {
    const { store, send, list } = setUp();
    const got: StoreChange<KubeNode>[] = [];
    list('9');
    store.watch().subscribe(change => got.push(change));
    const [a1, a2] = [of('a', 'u1', '1'), of('a', 'u1', '2')];
    send({ type: 'apply', object: a1 }, { type: 'apply', object: a2 }, { type: 'delete', object: of('a', 'u1', '3') });
    assert.deepEqual(got, [
      { key: 'a', type: 'added', object: a1, initial: false },
      { key: 'a', type: 'updated', object: a2, previous: a1, initial: false },
      { key: 'a', type: 'deleted', object: of('a', 'u1', '3'), initial: false },
    ]);
    assert.equal(store.get('a'), undefined);
  });

  it('BUG-076: a relist tells what was deleted meanwhile', () => {
    const { store, list, changes, record } = setUp();
    list('9', of('a', 'u1', '1'), of('b', 'u2', '1'));
    record();
    list('19', of('b', 'u2', '1'));
    assert.deepEqual(changes.slice(2), ['deleted u1@1']);
    assert.equal(store.get('a'), undefined);
    assert.equal(store.observedAt('a'), undefined);
  });

  it('BUG-076: holds no more than the latest list after 1000 relists', () => {
    const { store, list } = setUp();
    for (let i = 0; i < 1000; i++) list(String(i), of(`n${i}`, `u${i}`, '1'));
    assert.equal(store.list().length, 1);
  });

  it('BUG-077: a new uid under an old name is a delete and an add, in a relist and in a watch', () => {
    const { clock, store, send, list, changes, record } = setUp();
    list('9', of('a', 'u1', '1'));
    record();
    clock.advance(500);
    list('19', of('a', 'u2', '1'));
    assert.deepEqual(changes.slice(1), ['deleted u1@1', 'added u2@1']);
    assert.equal(store.observedAt('a'), 1500);
    clock.advance(500);
    send({ type: 'apply', object: of('a', 'u3', '5') });
    assert.deepEqual(changes.slice(3), ['deleted u2@1', 'added u3@5']);
    assert.equal(store.observedAt('a'), 2000);
  });

  it('BUG-078: the same version again is no change, in a relist and in a watch', () => {
    const { send, list, changes, record } = setUp();
    list('9', of('a', 'u1', '1'));
    record();
    list('19', of('a', 'u1', '1'));
    send({ type: 'apply', object: of('a', 'u1', '1') });
    assert.deepEqual(changes, ['added u1@1 initial']);
  });

  it('dates the objects of the first list to its request, later ones to when they came', () => {
    const { clock, store, send } = setUp();
    send({ type: 'init' });
    clock.advance(100);
    send({ type: 'initApply', object: of('a', 'u1', '1') }, { type: 'initDone', rv: '9' });
    assert.equal(store.observedAt('a'), 1000);
    clock.advance(100);
    send({ type: 'apply', object: of('a', 'u1', '2') }, { type: 'apply', object: of('b', 'u2', '2') });
    assert.deepEqual([store.observedAt('a'), store.observedAt('b')], [1000, 1200]);
    send({ type: 'init' }, { type: 'initApply', object: of('a', 'u1', '2') });
    clock.advance(100);
    send({ type: 'initApply', object: of('c', 'u3', '2') }, { type: 'initDone', rv: '19' });
    assert.deepEqual([store.observedAt('a'), store.observedAt('c')], [1000, 1300]);
  });

  it('has changed the store before it tells anyone', () => {
    const { store, list } = setUp();
    const seen: (string | undefined)[] = [];
    store.watch().subscribe(({ key, type }) => {
      seen.push(`${type} ${key}: ${store.get(key)?.uid ?? '-'}, ${store.list().length}`);
    });
    list('9', of('a', 'u1', '1'), of('b', 'u2', '1'));
    list('19', of('c', 'u3', '1'));
    assert.deepEqual(seen, [
      'added a: u1, 2',
      'added b: u2, 2',
      'deleted a: -, 1',
      'deleted b: -, 1',
      'added c: u3, 1',
    ]);
  });

  it('tells a change once to who subscribes in the middle of changes', () => {
    const { store, list } = setUp();
    const late: string[] = [];
    let subscribed = false;
    store.watch().subscribe(() => {
      if (!subscribed) store.watch().subscribe(change => late.push(brief(change)));
      subscribed = true;
    });
    list('9', of('a', 'u1', '1'), of('b', 'u2', '1'));
    assert.deepEqual(late, ['added u1@1 initial', 'added u2@1 initial']);
  });

  it('passes errors on, changes nothing for them, and stops with its subscriber', () => {
    const { store, send, list, errors, events$, subscription } = setUp();
    list('9', of('a', 'u1', '1'));
    const error = { type: 'error', err: new Error('x'), willRetryIn: 5 } as const;
    send(error);
    assert.deepEqual(errors, [error]);
    assert.equal(store.list().length, 1);
    subscription.unsubscribe();
    assert.equal(events$.observed, false);
  });

  it('becomes synced once and stays so', () => {
    const { store, send, list } = setUp();
    const seen: boolean[] = [];
    store.synced$.subscribe(synced => seen.push(synced));
    list('9');
    send({ type: 'init' });
    list('19');
    assert.deepEqual([seen, store.synced], [[false, true], true]);
  });

  it('runs the list and watch exactly while run$ is subscribed', () => {
    new TestScheduler((actual, expected) => assert.deepEqual(actual, expected)).run(helpers => {
      const error: Event = { type: 'error', err: 'x', willRetryIn: 1 };
      const events$ = helpers.cold<Event>('-i-e--', { i: { type: 'init' }, e: error });
      const { run$ } = createReflector({ events$, clock: manualClock() });
      helpers.expectObservable(run$, '--^----!').toBe('-----e', { e: error });
      helpers.expectSubscriptions(events$.subscriptions).toBe('--^----!');
    });
  });

  it('ends with the content that the events describe, and changes that add up to it', () => {
    const object = fc
      .tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('u1', 'u2'), fc.constantFrom('1', '2'))
      .map(([name, uid, rv]) => of(name, uid, rv));
    const step = fc.oneof(
      fc.record({ type: fc.constant('list' as const), objects: fc.array(object) }),
      fc.record({ type: fc.constantFrom('apply' as const, 'delete' as const), object }),
    );
    fc.assert(
      fc.property(fc.array(step), steps => {
        const { store, send, list } = setUp();
        const replayed = new Map<string, KubeNode>();
        store.watch().subscribe(({ key, type, object, previous }) => {
          const held = replayed.get(key);
          if (type === 'added') assert.equal(held, undefined);
          else assert.equal(held?.uid, object.uid);
          if (type === 'updated') assert.equal(previous?.resourceVersion, held?.resourceVersion);
          if (type === 'deleted') replayed.delete(key);
          else replayed.set(key, object);
        });
        const expected = new Map<string, KubeNode>();
        list('1');
        for (const s of steps) {
          if (s.type === 'list') {
            expected.clear();
            for (const o of s.objects) expected.set(o.name, o);
            list('2', ...s.objects);
          } else if (s.type === 'apply') {
            expected.set(s.object.name, s.object);
            send(s);
          } else {
            expected.delete(s.object.name);
            send(s);
          }
        }
        const sorted = (objects: Iterable<KubeNode>) =>
          [...objects].map(o => `${o.name} ${o.uid} ${o.resourceVersion}`).sort();
        assert.deepEqual(sorted(store.list()), sorted(expected.values()));
        assert.deepEqual(sorted(replayed.values()), sorted(expected.values()));
      }),
    );
  });
});
