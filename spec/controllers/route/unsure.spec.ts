import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createUnsure } from '../../../lib/controllers/route/unsure.ts';
import { again, done, failed } from '../../../lib/streams/outcome.ts';
import { manualClock } from '../../kubernetes/support.ts';

describe('a destination whose change got no answer', () => {
  const open = () => {
    const clock = manualClock(1_000);
    const reads: unknown[] = [];
    const doubt = (destination: string, instant?: number) => void reads.push([destination, instant]);
    return { clock, reads, unsure: createUnsure(clock, { doubt }) };
  };

  it('is looked at once more, by a new read, when the change is surely over', () => {
    const { clock, reads, unsure } = open();
    unsure.add('10.244.1.0/24');
    clock.advance(5_000);
    unsure.begin('10.244.1.0/24');
    assert.deepEqual(unsure.conclude('10.244.1.0/24', done), again(25_000), 'it may still vanish');
    assert.deepEqual(reads, []);
    clock.advance(26_000);
    unsure.begin('10.244.1.0/24');
    assert.deepEqual([reads, unsure.conclude('10.244.1.0/24', done)], [[['10.244.1.0/24', 31_000]], done]);
  });

  it('leaves failures and all other destinations as they are', () => {
    const { clock, reads, unsure } = open();
    unsure.add('10.244.1.0/24');
    const outcome = failed(new Error('no'));
    assert.equal(unsure.conclude('10.244.1.0/24', outcome), outcome);
    clock.advance(60_000);
    unsure.begin('10.244.2.0/24');
    assert.deepEqual([reads, unsure.conclude('10.244.2.0/24', done)], [[], done]);
  });
});
