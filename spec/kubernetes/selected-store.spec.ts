import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { BehaviorSubject, Subject } from 'rxjs';
import { type LabelSelector, parseLabelSelector } from '../../lib/kubernetes/label-selector.ts';
import type { ListWatchEvent } from '../../lib/kubernetes/list-watch.ts';
import { createReflector } from '../../lib/kubernetes/reflector.ts';
import { selectedStore } from '../../lib/kubernetes/selected-store.ts';
import type { StoreChange } from '../../lib/kubernetes/store.ts';
import type { KubeNode } from '../../lib/kubernetes/types.ts';
import { manualClock, node } from './support.ts';

const inA = parseLabelSelector('group=a') as LabelSelector;
const brief = ({ type, object, initial }: StoreChange<KubeNode>): string =>
  `${type} ${object.uid}@${object.resourceVersion}${initial ? ' initial' : ''}`;
const of = (name: string, group: string, rv: string, uid = name): KubeNode =>
  node(name, { uid, resourceVersion: rv, labels: { group } });

/** The nodes of group a of a reflected collection, as whoever watches the view from its start hears of them. */
const setUp = (selector: LabelSelector = inA) => {
  const clock = manualClock(1000);
  const events$ = new Subject<ListWatchEvent<KubeNode>>();
  const { store: source, run$ } = createReflector({ events$, clock });
  const selector$ = new BehaviorSubject(selector);
  const view = selectedStore(source, selector$, clock);
  const changes: string[] = [];
  view.store.watch().subscribe(change => changes.push(brief(change)));
  view.run$.subscribe();
  run$.subscribe();
  const list = (...objects: KubeNode[]): void => {
    events$.next({ type: 'init' });
    for (const object of objects) events$.next({ type: 'initApply', object });
    events$.next({ type: 'initDone', rv: '1' });
  };
  const apply = (object: KubeNode): void => events$.next({ type: 'apply', object });
  const remove = (object: KubeNode): void => events$.next({ type: 'delete', object });
  return { clock, source, selector$, store: view.store, list, apply, remove, heard: () => changes.splice(0) };
};

it('holds the objects that match, and is synced when its source is', () => {
  const { clock, store, list, heard } = setUp();
  assert.deepEqual([store.synced, store.list()], [false, []]);
  clock.advance(500);
  list(of('x', 'a', '1'), of('y', 'b', '1'));
  assert.equal(store.synced, true);
  assert.deepEqual(heard(), ['added x@1']);
  assert.deepEqual([store.get('x')?.uid, store.get('y'), store.list().length], ['x', undefined, 1]);
  assert.equal(store.observedAt('x'), 1_500);
  const late: string[] = [];
  store.watch().subscribe(change => late.push(brief(change)));
  assert.deepEqual(late, ['added x@1 initial']);
});

it('adds what gains the label and deletes what loses it; what is handed over counts as first seen then', () => {
  const { clock, source, store, list, apply, heard } = setUp();
  list(of('x', 'a', '1'), of('y', 'b', '1'));
  heard();
  clock.advance(8_000);
  apply(of('y', 'a', '2'));
  apply(of('x', 'b', '3'));
  assert.deepEqual(heard(), ['added y@2', 'deleted x@3']);
  assert.deepEqual([source.observedAt('y'), store.observedAt('y')], [1_000, 9_000]);
  assert.deepEqual([store.get('x'), store.observedAt('x')], [undefined, undefined]);
  clock.advance(500);
  apply(of('y', 'a', '4'));
  assert.deepEqual([heard(), store.observedAt('y')], [['updated y@4'], 9_000]);
});

it('passes on what happens to its own objects, and nothing of others', () => {
  const { list, apply, remove, heard } = setUp();
  list(of('x', 'a', '1'), of('y', 'b', '1'));
  heard();
  apply(of('y', 'b', '2'));
  remove(of('y', 'b', '3'));
  assert.deepEqual(heard(), []);
  apply(of('x', 'a', '4', 'x2'));
  assert.deepEqual(heard(), ['deleted x@1', 'added x2@4']);
  // The last state of an object may lack the label it had all along.
  remove(of('x', '', '5', 'x2'));
  assert.deepEqual(heard(), ['deleted x2@5']);
});

it('follows another selector at once', () => {
  const { selector$, store, list, heard } = setUp();
  list(of('x', 'a', '1'), of('y', 'b', '1'));
  heard();
  selector$.next(() => true);
  assert.deepEqual(heard(), ['added y@1']);
  selector$.next(labels => labels.group === 'b');
  assert.deepEqual(heard(), ['deleted x@1']);
  assert.deepEqual(
    store.list().map(({ name }) => name),
    ['y'],
  );
});

it('holds what matches after any history, and tells no more than the difference', () => {
  const step = fc.record({
    what: fc.constantFrom('apply', 'apply', 'remove', 'list', 'select'),
    name: fc.constantFrom('x', 'y', 'z'),
    group: fc.constantFrom('a', 'b'),
    uid: fc.constantFrom('1', '2'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      const { source, selector$, store, list, apply, remove } = setUp();
      const told = new Map<string, string>();
      store.watch().subscribe(({ type, object }) => {
        assert.equal(told.has(object.name), type !== 'added', `${type} ${object.name}`);
        if (type === 'deleted') told.delete(object.name);
        else told.set(object.name, object.uid);
      });
      list();
      let matches = inA;
      steps.forEach(({ what, name, group, uid }, i) => {
        const object = of(name, group, `${i + 2}`, `${name}${uid}`);
        if (what === 'apply') apply(object);
        else if (what === 'remove') remove(object);
        else if (what === 'list') list(...source.list().filter(one => one.name !== name), object);
        else {
          matches = labels => labels.group === group;
          selector$.next(matches);
        }
        const wanted = source.list().filter(({ labels }) => matches(labels));
        assert.deepEqual(new Set(store.list()), new Set(wanted));
        assert.deepEqual(told, new Map(wanted.map(one => [one.name, one.uid])));
      });
    }),
  );
});
