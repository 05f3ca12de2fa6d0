import assert from 'node:assert/strict';
import { it } from 'node:test';
import { playCourse } from './course.ts';

/**
 * Courses of events in which a seed decides about each order: of events, of what is due at the same instant, of answers and
 * watch events. SEED plays one again, SEEDS so many that nobody has seen; `make interleavings` is the latter.
 */
const { SEED, SEEDS, STEPS = '60' } = process.env;
const steps = Number(STEPS);
const fresh = (Date.now() % 1_000_000_000) * 1_000;
const known = [1, 2, 4, 500_056, 1_500_049];
const unseen = Array.from({ length: Number(SEEDS ?? 1) }, (_, i) => fresh + i);
const seeds = SEED !== undefined ? [Number(SEED)] : SEEDS !== undefined ? unseen : [...known, ...unseen];

for (const seed of seeds) {
  it(`comes to rest at what is wanted, with no harm on the way (SEED=${seed} STEPS=${steps})`, async () => {
    await playCourse(seed, steps);
  });
}

it('plays the same course twice', async () => {
  assert.equal(await playCourse(seeds[0] as number, 20), await playCourse(seeds[0] as number, 20));
});
