import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBudget } from '../../lib/hetzner/budget.ts';
import { createCloud } from '../../lib/hetzner/cloud.ts';
import { fencedCloud, fencedLoadBalancers, readsOfCloud, readsOfLoadBalancers } from '../../lib/hetzner/fence.ts';
import type { HetznerRequest } from '../../lib/hetzner/http.ts';
import { createLoadBalancerAPI } from '../../lib/hetzner/load-balancers.ts';
import { type Call, createCall } from '../../lib/hetzner/retry.ts';
import { calling, memoryLogger, refusal, rejection, virtualClock, virtualTime } from './support.ts';

type Functions = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** Both APIs, with and without a fence that lets nothing through. Arguments that suit every function. */
const apis: [name: string, make: (call: Call, isValid?: () => boolean) => object, reads: readonly string[]][] = [
  [
    'the cloud',
    (call, isValid) => (isValid === undefined ? createCloud({ call }) : fencedCloud(createCloud({ call }), isValid)),
    readsOfCloud,
  ],
  [
    'load balancers and certificates',
    (call, isValid) => {
      const api = createLoadBalancerAPI({ call });
      return isValid === undefined ? api : fencedLoadBalancers(api, isValid);
    },
    readsOfLoadBalancers,
  ],
];

/** Calls a function with plausible arguments, by the number it declares: the last are always the options. */
const callIt = async (f: (...args: unknown[]) => Promise<unknown>): Promise<unknown> => {
  const body = { name: '1', type: 'server', destination: 'x', gateway: 'y', network: 1, listenPort: 1 };
  const shapes = [[calling()], [1, calling()], [body, calling()], [1, body, calling()], [1, 'x', 'y', calling()]];
  for (const args of shapes.filter(({ length }) => length === f.length)) await f(...args).catch(() => {});
  return f.length;
};

const sentBy = async (f: (call: Call) => Promise<unknown>): Promise<HetznerRequest[]> => {
  const sent: HetznerRequest[] = [];
  await f(async request => {
    sent.push(request);
    return {};
  });
  return sent;
};

for (const [name, make, reads] of apis)
  describe(`The fence around ${name}`, () => {
    const functions = make(async () => ({})) as Functions;

    it('knows only functions that exist', () => {
      assert.deepEqual(
        reads.filter(read => !(read in functions)),
        [],
      );
    });

    for (const key of Object.keys(functions)) {
      const isRead = reads.includes(key);
      it(`${isRead ? 'may leave out' : 'checks'} ${key}, which ${isRead ? 'only reads' : 'writes'}`, async () => {
        const plain = await sentBy(call => callIt((make(call) as Functions)[key] as Functions[string]));
        if (key !== 'getActions') assert.ok(plain.length > 0, 'the spec calls it in a way that sends nothing');
        assert.equal(
          plain.every(({ method }) => method === 'GET'),
          isRead,
        );
        if (isRead) return;
        const behind = (call: Call, valid: boolean) => (make(call, () => valid) as Functions)[key] as Functions[string];
        const refused = await sentBy(call => rejection(behind(call, false)(1, {}, {}, calling())));
        assert.deepEqual(refused, []);
        const rejected = await rejection(behind(async () => ({}), false)(1, {}, calling()));
        assert.match(String(rejected), /no longer ours/);
        const passed = await sentBy(
          call =>
            (make(call, () => true) as Functions)
              [key]?.(1, { network: 1, type: 'ip' }, 'y', calling())
              .catch(() => {}) ?? Promise.resolve(),
        );
        assert.equal(passed.length, 1);
      });
    }
  });

describe('The fence', () => {
  it('holds back a change that waited for the budget while the lease lapsed', async t => {
    const time = virtualTime(t);
    let sent = 0;
    const http = {
      request: async () => {
        sent += 1;
        throw refusal();
      },
      close: async () => {},
    };
    const budget = createBudget({ clock: virtualClock, logger: memoryLogger() });
    let valid = true;
    const cloud = fencedCloud(createCloud({ call: createCall({ http, budget }) }), () => valid);
    const route = { destination: '10.244.1.0/24', gateway: '10.0.1.1' };
    const refused = rejection(cloud.addRoute(7, route, calling()));
    await time.advance(100, 10);
    assert.equal(sent, 1);
    valid = false;
    assert.match(String(await time.until(refused, 1_000)), /lease is no longer ours/);
    assert.equal(sent, 1);
  });
});
