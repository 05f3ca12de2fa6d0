import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Block, blockText, contains, overlaps, parseIPv4CIDR } from '../../../lib/controllers/ip.ts';
import { createPool, type Holder } from '../../../lib/controllers/ipam/pool.ts';

const block = (text: string): Block => parseIPv4CIDR(text) as Block;

const holder = (uid: string, podCIDRs: readonly string[] = [], fields: Partial<Holder> = {}): Holder => ({
  name: `node-${uid}`,
  uid,
  resourceVersion: '1',
  creationTimestamp: 0,
  podCIDRs,
  ...fields,
});

const observed = (maskSize = 24) => {
  const usage = new Map<string, string>();
  const freed: string[] = [];
  const shared: string[] = [];
  const pool = createPool({
    maskSize,
    onUsage: (range, { used, size }) => usage.set(range, `${used}/${size}`),
    onFreed: range => freed.push(range),
    onShared: ({ uid }, others) => shared.push(`${uid} with ${others.map(other => other.uid).join()}`),
  });
  const allocate = (uid: string, range: Block): string | undefined => {
    const found = pool.next(range);
    if (found !== undefined) pool.reserve(uid, found);
    return found && blockText(found);
  };
  return { pool, usage, freed, shared, allocate };
};

const range = block('10.0.0.0/22');
const text = '10.0.0.0/22';

describe('the pool of pod CIDRs', () => {
  it('hands each block of a range out once, then none', () => {
    const { allocate, usage } = observed();
    const given = ['a', 'b', 'c', 'd', 'e'].map(uid => allocate(uid, range));
    assert.deepEqual(given, ['10.0.0.0/24', '10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24', undefined]);
    assert.equal(usage.get(text), '4/4');
  });

  it('leaves a freed block for last', () => {
    const { pool, allocate, freed } = observed();
    allocate('a', range);
    allocate('b', range);
    pool.forget('a');
    assert.deepEqual(freed, [text]);
    assert.deepEqual(
      ['c', 'd', 'e'].map(uid => allocate(uid, range)),
      ['10.0.2.0/24', '10.0.3.0/24', '10.0.0.0/24'],
    );
  });

  it('begins behind the block of the youngest node that it finds', () => {
    const { pool, allocate } = observed();
    pool.observe(holder('old', ['10.0.2.0/24'], { creationTimestamp: 1 }));
    pool.observe(holder('young', ['10.0.0.0/24'], { creationTimestamp: 2 }));
    pool.observe(holder('elsewhere', ['10.9.3.0/24'], { creationTimestamp: 3 }));
    assert.deepEqual([allocate('a', range), allocate('b', range)], ['10.0.1.0/24', '10.0.3.0/24']);
  });

  it('takes what nodes have of another size, across the border of the range and in another spelling', () => {
    const { pool, allocate, usage } = observed();
    pool.observe(holder('small', ['10.0.0.128/28']));
    pool.observe(holder('spelled', ['10.0.1.77/24', 'fd00::/64']));
    assert.equal(allocate('a', range), '10.0.2.0/24');
    pool.observe(holder('wide', ['10.0.0.0/16']));
    assert.equal(pool.next(range), undefined);
    assert.equal(usage.get(text), '4/4');
    pool.forget('wide');
    assert.equal(usage.get(text), '3/4');
  });

  it('takes a block in each range that it lies in', () => {
    const { pool, allocate } = observed();
    const wider = block('10.0.0.0/21');
    pool.open(wider);
    assert.equal(allocate('a', range), '10.0.0.0/24');
    assert.equal(allocate('b', wider), '10.0.1.0/24');
    assert.equal(allocate('c', range), '10.0.2.0/24');
  });

  it('keeps a block for a node until the node has one, whichever', () => {
    const { pool, allocate, usage, freed } = observed();
    const node = holder('a');
    pool.observe(node);
    allocate('a', range);
    pool.observe({ ...node, resourceVersion: '2' });
    assert.equal(usage.get(text), '1/4');
    pool.observe({ ...node, resourceVersion: '3', podCIDRs: ['10.0.0.0/24'] });
    assert.deepEqual([usage.get(text), freed, pool.reservedFor('a')], ['1/4', [], undefined]);

    allocate('b', range);
    pool.observe(holder('b', ['10.0.3.0/24']));
    assert.deepEqual([usage.get(text), freed], ['2/4', [text]]);
    pool.forget('b');
    pool.forget('a');
    assert.equal(usage.get(text), '0/4');
  });

  it('offers a node the same again, and knows whether a write is under way', () => {
    const { pool, allocate } = observed();
    allocate('a', range);
    pool.setUnsure('a', true);
    pool.reserve('a', block('10.0.0.0/24'));
    assert.deepEqual(pool.reservedFor('a'), { block: block('10.0.0.0/24'), unsure: true });
    pool.reserve('a', block('10.0.3.0/24'));
    assert.deepEqual(pool.reservedFor('a'), { block: block('10.0.3.0/24'), unsure: false });
  });

  it('ignores news of a node that are older than what it knows, unless told that they count', () => {
    const { pool, usage } = observed();
    pool.open(range);
    pool.observe(holder('a', ['10.0.0.0/24'], { resourceVersion: '10' }));
    pool.observe(holder('a', [], { resourceVersion: '9' }));
    assert.equal(usage.get(text), '1/4');
    pool.accept(holder('a', [], { resourceVersion: '3' }));
    assert.equal(usage.get(text), '0/4');
  });

  it('tells nodes whose addresses overlap, when one is observed or a range is opened, and no others', () => {
    const { pool, shared } = observed();
    pool.observe(holder('a', ['10.0.0.0/24']));
    pool.observe(holder('b', ['10.0.0.64/26']));
    assert.deepEqual(shared, []);
    pool.open(range);
    assert.deepEqual(shared, ['b with a']);
    pool.observe(holder('c', ['10.0.0.0/23']));
    pool.observe(holder('d', ['10.0.2.0/26']));
    pool.observe(holder('e', ['10.0.2.64/26']));
    assert.deepEqual(shared, ['b with a', 'c with a,b']);
  });

  it('costs little for the largest range, and no more for a node when many have one', () => {
    const { allocate, usage, pool } = observed();
    const largest = block('10.0.0.0/8');
    const startedAt = process.cpuUsage();
    for (let i = 0; i < 65_536; i += 1) assert.ok(allocate(`n${i}`, largest));
    assert.equal(allocate('more', largest), undefined);
    for (let i = 0; i < 1_000; i += 1) {
      pool.forget(`n${i * 7}`);
      assert.equal(allocate(`again${i}`, largest), blockText(block(`10.${(i * 7) >> 8}.${(i * 7) & 255}.0/24`)));
    }
    assert.equal(usage.get('10.0.0.0/8'), '65536/65536');
    // Some 0.2 s; by the square it would be minutes.
    assert.ok(process.cpuUsage(startedAt).user < 10_000_000);
  });
});

/** One thing that happens to the nodes of a cluster. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('allocate' as const), node: fc.nat(19), wide: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('confirm' as const), node: fc.nat(19) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('leave' as const), node: fc.nat(19) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('foreign' as const),
      node: fc.nat(19),
      prefix: fc.integer({ min: 20, max: 28 }),
      at: fc.nat(2 ** 12 - 1),
    }),
  },
);

describe('whatever happens', () => {
  it('gives nothing twice or from outside, hands the whole range out, and counts right', () => {
    const ranges = [block('10.0.0.0/21'), block('10.0.8.0/22')] as const;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), steps => {
        const { pool, usage, freed } = observed();
        for (const one of ranges) pool.open(one);
        /** What nodes have or are offered; foreign ones may overlap anything. */
        const has = new Map<string, { readonly block: Block; readonly foreign: boolean; sure: boolean }>();
        let version = 1;
        for (const each of steps) {
          const uid = `n${each.node}`;
          const mine = has.get(uid);
          const others = [...has].filter(([other]) => other !== uid).map(([, { block: theirs }]) => theirs);
          if (each.do === 'leave') {
            pool.forget(uid);
            has.delete(uid);
          } else if (each.do === 'confirm') {
            if (mine === undefined) continue;
            version += 1;
            pool.observe(holder(uid, [blockText(mine.block)], { resourceVersion: String(version) }));
            mine.sure = true;
          } else if (each.do === 'foreign') {
            if (mine !== undefined) continue;
            version += 1;
            const first = block(`10.0.${each.at >> 8}.${each.at & 255}/${each.prefix}`);
            pool.observe(holder(uid, [blockText(first)], { resourceVersion: String(version) }));
            has.set(uid, { block: first, foreign: true, sure: true });
          } else {
            if (mine !== undefined) continue;
            const wanted = ranges[each.wide ? 0 : 1];
            const given = pool.next(wanted);
            const slots = 2 ** (24 - wanted.prefix);
            const free = Array.from({ length: slots }, (_, i) => ({
              first: wanted.first + i * 256,
              last: wanted.first + i * 256 + 255,
              prefix: 24,
            })).filter(slot => !others.some(other => overlaps(other, slot)));
            assert.equal(given === undefined, free.length === 0, 'exhausted only when nothing is free');
            if (given === undefined) continue;
            assert.ok(contains(wanted, given) && given.prefix === 24 && given.first % 256 === 0, 'inside and aligned');
            assert.ok(
              free.some(slot => slot.first === given.first),
              'free',
            );
            pool.reserve(uid, given);
            has.set(uid, { block: given, foreign: false, sure: false });
          }
          for (const one of ranges) {
            const all = [...has.values()].map(({ block: theirs }) => theirs);
            const size = 2 ** (24 - one.prefix);
            const used = Array.from({ length: size }, (_, i) => i).filter(i =>
              all.some(other =>
                overlaps(other, { first: one.first + i * 256, last: one.first + i * 256 + 255, prefix: 24 }),
              ),
            );
            assert.equal(usage.get(blockText(one)), `${used.length}/${size}`);
          }
        }
        for (const uid of has.keys()) pool.forget(uid);
        for (const one of ranges) assert.match(usage.get(blockText(one)) as string, /^0\//);
        assert.ok(has.size === 0 || freed.length > 0 || [...has.values()].every(({ foreign }) => foreign));
      }),
      { numRuns: 300 },
    );
  });

  it('never offers a block again before all others were offered', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(7), { maxLength: 60 }), leaves => {
        const { pool, allocate } = observed();
        const wide = block('10.0.0.0/20');
        const last = new Map<string, number>();
        const held = new Map<string, string>();
        let n = 0;
        for (const leave of leaves) {
          const uid = `n${n}`;
          n += 1;
          const given = allocate(uid, wide) as string;
          const before = last.get(given);
          // 8 of 16 at most are held at a time, so the search passes at least 8 others in between.
          assert.ok(before === undefined || n - before >= 8, `${given} again after ${n - (before ?? 0)}`);
          last.set(given, n);
          held.set(uid, given);
          if (held.size < 8) continue;
          const gone = [...held.keys()][leave] as string;
          held.delete(gone);
          pool.forget(gone);
        }
      }),
    );
  });
});
