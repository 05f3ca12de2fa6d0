import assert from 'node:assert/strict';
import { it } from 'node:test';
import { growth, type Soak } from './growth.ts';
import { simulate, sizes } from './simulate.ts';

const [days, nodes, services] = sizes(process.env.SOAK, [6, 60, 12]) as [number, number, number];

it(`holds after ${days} days of churn what it held after a third of them, ${nodes} nodes and ${services} Services (SOAK=${days},${nodes},${services})`, async t => {
  const soak = await simulate<Soak>('soak', [days, nodes, services]);
  for (const one of soak.samples) t.diagnostic(JSON.stringify(one));
  assert.deepEqual(soak.wrong, []);
  assert.deepEqual(growth(soak), []);
});
