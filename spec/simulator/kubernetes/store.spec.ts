import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { NODES } from '../../../lib/simulator/kubernetes/node-rules.ts';
import { createStore } from '../../../lib/simulator/kubernetes/store.ts';
import { microTime, secondTime, UndecodableValue } from '../../../lib/simulator/kubernetes/times.ts';
import { eventFor } from '../../../lib/simulator/kubernetes/watch.ts';

const node = (name: string, label = '') => ({ metadata: { name, labels: { l: label } } });

describe('the store', () => {
  it('shows the state of every revision in its history exactly as it was', () => {
    const writes = fc.array(
      fc.record({ name: fc.constantFrom('a', 'b', 'c'), gone: fc.boolean(), label: fc.constantFrom('1', '2') }),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(writes, steps => {
        const store = createStore(1000);
        const states = new Map([[store.revision(), store.all(NODES)]]);
        for (const { name, gone, label } of steps) {
          const present = store.get(NODES, `/${name}`);
          if (!gone) store.put(NODES, node(name, label));
          else if (present !== undefined) store.remove(NODES, present);
          states.set(store.revision(), store.all(NODES));
        }
        for (const [revision, state] of states) assert.deepEqual(store.at(NODES, revision), state);
      }),
    );
  });

  it('keeps a bounded history and says from where', () => {
    const store = createStore(3);
    for (let i = 0; i < 10; i++) store.put(NODES, node('a', String(i)));
    assert.equal(store.oldest(), store.revision() - 3);
    assert.equal(store.since(NODES, store.oldest()).length, 3);
  });

  it('gives all objects new versions when etcd was restored', () => {
    const store = createStore(10);
    for (const name of ['a', 'b', 'a', 'b']) store.put(NODES, node(name));
    store.reset({ revision: 1, keepObjects: true });
    assert.deepEqual(
      store.all(NODES).map(object => (object.metadata as { resourceVersion: string }).resourceVersion),
      ['2', '3'],
    );
    assert.equal(store.oldest(), 3);
    assert.deepEqual(store.since(NODES, 0), []);
  });

  it('tells a watch with a selector about arrivals, changes and departures', () => {
    const store = createStore(10);
    for (const label of ['x', 'y', 'y', 'x']) store.put(NODES, node('a', label));
    const matches = (object: object) => JSON.stringify(object).includes('"l":"y"');
    const types = store.since(NODES, 1).map(change => eventFor(change, matches)?.type);
    assert.deepEqual(types, [undefined, 'ADDED', 'MODIFIED', 'DELETED']);
  });
});

describe('API times', () => {
  const instant = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true });

  it('take any instant with six digits as MicroTime and none with three', () => {
    fc.assert(
      fc.property(instant, date => {
        const six = date.toISOString().replace('Z', '000Z');
        assert.equal(microTime(six), six);
        assert.throws(() => microTime(date.toISOString()), UndecodableValue);
      }),
    );
  });

  it('are moved to UTC and cut to whole seconds', () => {
    assert.equal(secondTime('2026-01-01T00:30:00.9+01:00'), '2025-12-31T23:30:00Z');
    assert.equal(microTime('2026-01-01T00:30:00.900000-01:00'), '2026-01-01T01:30:00.900000Z');
  });
});
