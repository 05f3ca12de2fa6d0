import assert from 'node:assert/strict';
import { it } from 'node:test';
import { longestDrain, type QuotaWeek } from './quota-week.ts';
import { simulate, sizes } from './simulate.ts';

const MINUTE = 60_000;
const [days, nodes, seed] = sizes(process.env.QUOTA_WEEK, [2, 1_000, 5]) as [number, number, number];

it(`initialises nodes within a minute of the quota's return, all through ${days} days with ${nodes} nodes (QUOTA_WEEK=${days},${nodes},${seed})`, async t => {
  const week = await simulate<QuotaWeek>('quota-week', [days, nodes, seed]);
  t.diagnostic(JSON.stringify(week));
  assert.deepEqual(week.wrong, []);
  assert.ok(week.bursts >= 4 * days, `${week.bursts} bursts`);
  assert.ok(week.afterReturn <= MINUTE, `a node waited ${week.afterReturn} ms after the quota had come back`);
  assert.ok(week.longest <= longestDrain + MINUTE, `a node waited ${week.longest} ms`);
  assert.ok(week.longest > MINUTE, 'the quota was never empty');
  assert.ok(week.refused <= 8 * week.bursts, `${week.refused} requests were refused`);
});
