import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applyPlan } from '../../../lib/controllers/load-balancer/apply.ts';
import { newListener } from '../../../lib/controllers/load-balancer/listener-difference.ts';
import { planLoadBalancer } from '../../../lib/controllers/load-balancer/plan.ts';
import type { Step } from '../../../lib/controllers/pipeline.ts';
import type { LoadBalancer, LoadBalancerTarget } from '../../../lib/hetzner/lb-types.ts';
import type { LoadBalancers } from '../../../lib/hetzner/load-balancers.ts';
import { hetznerError, memoryLogger } from '../../hetzner/support.ts';
import { desired, loadBalancer, server } from './support.ts';

const there = (serverID: number, usePrivateIP = false): LoadBalancerTarget => ({
  ...server(serverID, usePrivateIP),
  ip: undefined,
  health: [],
});
const listener = (listenPort: number, more = {}) => ({ listenPort, destinationPort: 30_000, protocol: 'tcp', ...more });
const invalid = (message = 'invalid input') => hetznerError({ status: 422, code: 'invalid_input', message });
const taken = hetznerError({ status: 422, code: 'ip_not_available', message: 'IP not available' });

/** Applies what leads from one state to another; `refuse` answers calls (`name argument`) with an error. */
const bring = async (
  present: Partial<LoadBalancer>,
  wanted: Parameters<typeof desired>[0],
  refuse: (call: string, nth: number) => unknown = () => undefined,
  signal: AbortSignal = new AbortController().signal,
) => {
  const calls: string[] = [];
  const short = (value: unknown): string => {
    if (typeof value !== 'object' || value === null) return String(value);
    const { serverID, usePrivateIP, listenPort, ip, network } = value as Record<string, unknown>;
    if (serverID !== undefined) return `${serverID}${usePrivateIP === true ? ' private' : ''}`;
    return String(listenPort ?? ip ?? network);
  };
  const api = new Proxy({} as LoadBalancers, {
    get: (_, name: string) => async (__: number, argument: unknown) => {
      const call = `${name} ${short(argument)}`;
      calls.push(call);
      const err = refuse(call, calls.filter(one => one === call).length);
      if (err !== undefined) throw err;
    },
  });
  const pipeline = {
    run: async (steps: readonly Step[], s: AbortSignal) => {
      for (const step of steps) await step(s);
    },
  };
  const recorded: LoadBalancer[] = [];
  const log = memoryLogger();
  const from = loadBalancer(present);
  const plan = planLoadBalancer(from, desired(wanted), () => false);
  const applied = await applyPlan(from, plan, { api, pipeline, record: lb => recorded.push(lb), log }, signal);
  return {
    ...applied,
    calls,
    recorded,
    log,
    targets: applied.loadBalancer.targets.map(one => short(one)),
    failed: applied.failures.map(({ change }) => change.kind),
  };
};

const attached = { privateNets: [{ network: 9, ip: '10.0.0.9' }] };
const attachment = (ip?: string) => ({ attachment: { networkID: 9, ip, subnet: undefined } });
const when = (wanted: string, err: unknown) => (call: string) => (call === wanted ? err : undefined);

describe('applying a plan', () => {
  it('makes each change once, records each state and logs each with what it was about', async () => {
    const {
      calls,
      recorded,
      log,
      changes,
      failures,
      loadBalancer: left,
    } = await bring({}, { targets: [server(1)], listeners: [listener(80)] });
    assert.deepEqual(calls, ['addTarget 1', 'addService 80']);
    assert.deepEqual([changes, failures], [2, []]);
    assert.equal(recorded.at(-1), left);
    assert.deepEqual(
      log.lines.map(({ msg, fields }) => `${msg} ${fields.subject}`),
      ['Added target server 1', 'Added listener port 80'],
    );
  });

  it('BUG-042: does not stop at one bad target', async () => {
    const { targets, failed } = await bring(
      { targets: [there(9)] },
      { targets: [1, 2, 3].map(id => server(id)) },
      when('addTarget 2', invalid()),
    );
    assert.deepEqual([targets, failed], [['1', '3'], ['addTarget']]);
  });

  it('puts a target back as it was when the other way to it is refused', async () => {
    const { calls, targets, failed } = await bring(
      { ...attached, targets: [there(1), there(2)] },
      { targets: [server(1, true), server(2, true)], ...attachment() },
      when('addTarget 1 private', invalid()),
    );
    assert.deepEqual(calls, [
      'removeTarget 1',
      'addTarget 1 private',
      'addTarget 1',
      'removeTarget 2',
      'addTarget 2 private',
    ]);
    assert.deepEqual(targets.sort(), ['1', '2 private']);
    assert.deepEqual(failed, ['flipTarget']);
  });

  it('says so when it can not be put back, and does not take it for there', async () => {
    const { targets, log } = await bring(
      { ...attached, targets: [there(1), there(2)] },
      { targets: [server(1, true), server(2)], ...attachment() },
      call => (call.startsWith('addTarget') ? invalid() : undefined),
    );
    assert.deepEqual(targets, ['2']);
    assert.deepEqual(
      log.lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg),
      ['Could not undo change of load balancer'],
    );
  });

  it('BUG-048: comes back to the old address with all private targets when the new one is taken', async () => {
    const {
      calls,
      targets,
      loadBalancer: left,
      failed,
    } = await bring(
      { ...attached, targets: [there(1, true), there(2, true)] },
      { targets: [server(1, true), server(2, true)], ...attachment('10.0.0.5') },
      when('attachToNetwork 10.0.0.5', taken),
    );
    assert.deepEqual(calls, [
      'detachFromNetwork 9',
      'attachToNetwork 10.0.0.5',
      'attachToNetwork 10.0.0.9',
      'addTarget 1 private',
      'addTarget 2 private',
    ]);
    assert.deepEqual(left.privateNets, attached.privateNets);
    assert.deepEqual([targets, failed], [['1 private', '2 private'], ['reattach']]);
  });

  it('asks for nothing that can not be had without the network', async () => {
    const publicOff = { publicInterface: false } as const;
    const { calls } = await bring(
      { targets: [there(1)] },
      { targets: [server(1, true), server(2, true)], ...attachment(), ...publicOff, listeners: [listener(80)] },
      when('attachToNetwork 9', taken),
    );
    assert.deepEqual(calls, ['attachToNetwork 9', 'addService 80']);
  });

  it('asks for no public targets without the public interface', async () => {
    const publicNet = { ...loadBalancer().publicNet, enabled: false };
    const { calls } = await bring({ publicNet }, { targets: [server(1)], publicInterface: true }, call =>
      call.startsWith('enable') ? invalid() : undefined,
    );
    assert.deepEqual(
      calls.map(call => call.split(' ')[0]),
      ['enablePublicInterface'],
    );
  });

  it('keeps the last target while none could come', async () => {
    const { calls, targets } = await bring({ targets: [there(1), there(2)] }, { targets: [server(3)] }, call =>
      call.startsWith('addTarget') ? invalid() : undefined,
    );
    assert.deepEqual([calls, targets], [['addTarget 3', 'removeTarget 1'], ['2']]);
  });

  it('sends no more than the type has room for when it could not grow', async () => {
    const wanted = {
      type: { name: 'lb21', maxTargets: 75 },
      targets: Array.from({ length: 30 }, (_, i) => server(i + 1)),
    };
    const { calls, failed } = await bring(
      { targets: wanted.targets.slice(0, 25).map(one => there(one.serverID)) },
      wanted,
      when('changeType lb21', invalid()),
    );
    assert.deepEqual([calls, failed], [['changeType lb21'], ['changeType']]);
  });

  it('BUG-060: goes on with what traffic needs when Hetzner refuses an option', async () => {
    const wanted = listener(80, {
      protocol: 'http',
      destinationPort: 31_000,
      http: { timeoutIdle: 5 },
      healthCheck: { protocol: 'tcp', port: 31_000, interval: 1 },
    });
    const once = (_: string, nth: number) => (nth === 1 ? invalid() : undefined);
    const added = await bring({}, { listeners: [wanted] }, once);
    assert.deepEqual(added.calls, ['addService 80', 'addService 80']);
    assert.deepEqual(added.failed, ['addService']);
    const [made] = added.loadBalancer.services;
    assert.deepEqual([made?.destinationPort, made?.healthCheck.port, made?.http?.timeoutIdle], [31_000, 31_000, 50]);
    const updated = await bring(
      { services: [newListener(listener(80, { protocol: 'http' }))] },
      { listeners: [wanted] },
      once,
    );
    assert.deepEqual([updated.loadBalancer.services[0]?.destinationPort, updated.failed], [31_000, ['updateService']]);
    const other = await bring({}, { listeners: [wanted] }, () => hetznerError());
    assert.deepEqual(other.calls, ['addService 80'], 'not when Hetzner has trouble');
  });

  it('takes for done what is done, and says that it was surprised', async () => {
    const defined = hetznerError({ status: 422, code: 'target_already_defined' });
    const { failures, surprised, targets } = await bring({}, { targets: [server(1)] }, () => defined);
    assert.deepEqual([failures, surprised, targets], [[], true, ['1']]);
    const gone = hetznerError({ status: 404, code: 'not_found' });
    assert.equal((await bring({ services: [newListener(listener(80))] }, {}, () => gone)).surprised, true);
    assert.equal((await bring({}, { targets: [server(1)] })).surprised, false);
  });

  it('ends at once when the term of leadership does', async () => {
    const controller = new AbortController();
    const refuse = () => {
      controller.abort(new Error('over'));
      return hetznerError();
    };
    await assert.rejects(bring({}, { targets: [server(1)], listeners: [listener(80)] }, refuse, controller.signal));
  });
});
