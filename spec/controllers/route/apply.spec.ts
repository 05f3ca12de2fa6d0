import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pipeline } from '../../../lib/controllers/pipeline.ts';
import { applyRoute } from '../../../lib/controllers/route/apply.ts';
import type { RouteChange } from '../../../lib/controllers/route/plan.ts';
import type { RouteTable } from '../../../lib/controllers/route/route-table.ts';
import type { Action, Route } from '../../../lib/hetzner/types.ts';
import { hetznerError, rejection } from '../../hetzner/support.ts';
import { networkID } from '../support.ts';

const destination = '10.244.1.0/24';
const create: RouteChange = { kind: 'create', destination, gateway: '10.0.1.1', node: 'w1' };
const replace: RouteChange = {
  kind: 'replace',
  destination,
  gateway: '10.0.1.1',
  previousGateway: '10.0.1.9',
  node: 'w1',
};
const remove: RouteChange = { kind: 'delete', destination, gateway: '10.0.1.9' };
const notFound = hetznerError({ status: 404, code: 'not_found', message: 'route not found' });

const setUp = ({ claimed = false, refuse = {} as { add?: unknown; delete?: unknown } } = {}) => {
  const log: string[] = [];
  const call =
    (verb: 'add' | 'delete') =>
    async (id: number, route: Route): Promise<Action> => {
      log.push(`${verb} ${id} ${route.destination} ${route.gateway}`);
      if (refuse[verb] !== undefined) throw refuse[verb];
      return { id: 1, command: verb, status: 'running', error: undefined };
    };
  const pipeline: Pipeline = {
    run: async (steps, signal) => {
      for (const step of steps) log.push((await step(signal)) === undefined ? 'nothing to wait for' : 'wait');
    },
  };
  const table: Pick<RouteTable, 'record' | 'doubt'> = {
    record: (to, gateway) => log.push(`record ${to} ${gateway}`),
    doubt: to => log.push(`doubt ${to}`),
  };
  const deps = {
    cloud: { addRoute: call('add'), deleteRoute: call('delete') },
    networkID,
    table: table as RouteTable,
    pipeline,
    isClaimed: (to: string) => claimed && to === destination,
  };
  return { log, apply: (change: RouteChange) => applyRoute(change, deps, new AbortController().signal) };
};

describe('a change of a route', () => {
  const add = `add 7 ${destination} 10.0.1.1`;
  const del = `delete 7 ${destination} 10.0.1.9`;

  for (const [change, steps] of [
    [create, [add, 'wait', `record ${destination} 10.0.1.1`]],
    [replace, [del, 'wait', add, 'wait', `record ${destination} 10.0.1.1`]],
    [remove, [del, 'wait', `record ${destination} undefined`]],
  ] as const) {
    it(`${change.kind}: is sent and then recorded`, async () => {
      const { log, apply } = setUp();
      assert.equal(await apply(change), true);
      assert.deepEqual(log, steps);
    });
  }

  it('takes a route that is gone already for deleted', async () => {
    for (const [change, steps] of [
      [remove, [del, 'nothing to wait for', `record ${destination} undefined`]],
      [replace, [del, 'nothing to wait for', add, 'wait', `record ${destination} 10.0.1.1`]],
    ] as const) {
      const { log, apply } = setUp({ refuse: { delete: notFound } });
      assert.equal(await apply(change), true);
      assert.deepEqual(log, steps);
    }
  });

  it('calls the table in question after any error, and records nothing', async () => {
    for (const [change, refuse] of [
      [create, { add: hetznerError() }],
      [create, { add: notFound }],
      [replace, { add: hetznerError() }],
      [replace, { delete: hetznerError() }],
      [remove, { delete: hetznerError() }],
    ] as const) {
      const { log, apply } = setUp({ refuse });
      assert.ok((await rejection(apply(change))) instanceof Error);
      assert.equal(log.at(-1), `doubt ${destination}`);
      assert.ok(!log.some(line => line.startsWith('record')));
    }
  });

  it('drops a deletion whose destination a node claims by the time it is its turn', async () => {
    const { log, apply } = setUp({ claimed: true });
    assert.equal(await apply(remove), false);
    assert.deepEqual(log, ['nothing to wait for']);
    assert.equal(await apply(replace), true);
  });
});
