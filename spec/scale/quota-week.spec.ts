import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type QuotaWeek, shortcomings } from './quota-week.ts';
import { simulate, sizes } from './simulate.ts';

const [days, nodes, seed] = sizes(process.env.QUOTA_WEEK, [2, 1_000, 5]) as [number, number, number];

it(`initialises nodes within a minute of the quota's return, all through ${days} days with ${nodes} nodes (QUOTA_WEEK=${days},${nodes},${seed})`, async t => {
  const week = await simulate<QuotaWeek>('quota-week', [days, nodes, seed]);
  t.diagnostic(JSON.stringify(week));
  assert.deepEqual(shortcomings(week), []);
});
