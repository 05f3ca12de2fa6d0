import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createCertificateKeeper } from '../../../lib/controllers/load-balancer/certificate-keeper.ts';
import { ownerLabel } from '../../../lib/controllers/load-balancer/identity.ts';
import { createReport } from '../../../lib/controllers/load-balancer/report.ts';
import { ActionError } from '../../../lib/hetzner/actions.ts';
import type { Certificate, CertificateBody } from '../../../lib/hetzner/lb-types.ts';
import type { CallOptions } from '../../../lib/hetzner/types.ts';
import { calling, hetznerError, memoryLogger } from '../../hetzner/support.ts';
import { useVirtualTime } from '../../support/virtual-time.ts';
import { eventLog } from '../support.ts';
import { annotated, configFrom, kubeService } from './support.ts';

const HOUR = 3_600_000;
const wish = {
  protocol: 'https',
  'certificate-type': 'managed',
  'http-managed-certificate-domains': 'a.example',
} as const;
const service = kubeService({ annotations: annotated(wish) });

/** A keeper over certificates that are changed by hand; an action ends when it is told to. */
const open = (t: TestContext) => {
  const time = useVirtualTime(t);
  const calls: string[] = [];
  const state = {
    certificates: [] as Certificate[],
    refuse: undefined as unknown,
    /** ms an action takes. */
    takes: 400,
    actionError: undefined as unknown,
    inUse: false,
  };
  const set = (id: number, issuance: string): void => {
    const status = { issuance, renewal: 'unavailable', error: undefined };
    state.certificates = state.certificates.map(one => (one.id === id ? { ...one, status } : one));
  };
  const act = (name: string) => {
    calls.push(name);
    if (state.refuse !== undefined) throw state.refuse;
  };
  const action = { id: 1, command: 'create_certificate', status: 'running', progress: 0, error: undefined } as never;
  let latest: { requestedAt: number; certificates: readonly Certificate[] } | undefined;
  const log = eventLog();
  const tell = createReport({ events: log, nodes: { get: () => undefined, list: () => [] } }).about(service);
  const keeper = createCertificateKeeper({
    api: {
      createCertificate: async (body: CertificateBody) => {
        act(`create ${body.name}`);
        const id = 100 + state.certificates.length;
        const status = { issuance: 'pending', renewal: 'unavailable', error: undefined };
        const domainNames = body.type === 'managed' ? body.domainNames : [];
        const item = {
          id,
          name: body.name,
          labels: body.labels ?? {},
          type: 'managed',
          domainNames,
          notValidAfter: undefined,
          status,
          isUsed: false,
        };
        state.certificates.push(item);
        setTimeout(() => set(id, state.actionError === undefined ? 'completed' : 'failed'), state.takes);
        return { item, action };
      },
      retryCertificate: async (id: number) => {
        act(`retry ${id}`);
        set(id, 'pending');
        setTimeout(() => set(id, 'completed'), state.takes);
        return action;
      },
      deleteCertificate: async (id: number) => {
        if (state.inUse) throw hetznerError({ status: 422, code: 'service_error' });
        act(`delete ${id}`);
        state.certificates = state.certificates.filter(one => one.id !== id);
      },
    },
    snapshot: {
      notBefore: async (instant: number) => {
        if (latest === undefined || latest.requestedAt < instant) {
          calls.push('list');
          latest = { requestedAt: time.clock.monotonic(), certificates: state.certificates };
        }
        return latest;
      },
      latest: () => latest,
      changes$: undefined as never,
    },
    actions: {
      wait: (_: unknown, { signal }: CallOptions) =>
        new Promise<void>((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          setTimeout(() => (state.actionError === undefined ? resolve() : reject(state.actionError)), state.takes);
        }),
    },
    clock: time.clock,
    logger: memoryLogger(),
  });
  const resolve = (values: Parameters<typeof configFrom>[0] = wish) =>
    time.settled(keeper.resolve(service, configFrom(values), tell, calling()));
  return { time, state, calls, keeper, resolve, told: log.told, fresh: () => calls.splice(0) };
};

describe('certificates of Services', () => {
  it('BUG-055: are made once and then only found', async t => {
    const { resolve, fresh, time } = open(t);
    assert.deepEqual((await resolve()).ids, [100]);
    assert.deepEqual(fresh(), ['list', 'create ccm-managed-certificate-uid-web']);
    for (let i = 0; i < 10; i++) {
      await time.advance(1_000);
      assert.deepEqual((await resolve()).ids, [100]);
    }
    assert.deepEqual(fresh(), []);
    await time.advance(HOUR);
    assert.deepEqual((await resolve()).ids, [100]);
    assert.deepEqual(fresh(), ['list']);
  });

  it('cost nothing without https', async t => {
    const { resolve, fresh } = open(t);
    assert.deepEqual((await resolve({ protocol: 'http' })).complete, true);
    assert.deepEqual(fresh(), []);
  });

  it('BUG-055: are asked for once an hour while Hetzner\u2019s limit is reached, and nothing is given up for them', async t => {
    const { resolve, fresh, state, time } = open(t);
    state.refuse = hetznerError({ status: 422, code: 'resource_limit_exceeded' });
    const first = await resolve();
    assert.deepEqual([first.complete, first.obsolete, first.lookAgainIn], [false, [], HOUR]);
    fresh();
    await time.advance(20 * 60_000);
    const second = await resolve();
    assert.deepEqual([second.problem, second.lookAgainIn], [state.refuse, 40 * 60_000]);
    assert.deepEqual(
      fresh().filter(call => call !== 'list'),
      [],
    );
    state.refuse = undefined;
    await time.advance(second.lookAgainIn ?? 0);
    assert.deepEqual((await resolve()).ids, [100]);
  });

  it('are asked for again by the queue after any other refusal', async t => {
    const { resolve, state, told } = open(t);
    state.refuse = hetznerError({ status: 422, code: 'invalid_input', message: 'bad domain' });
    const { problem, lookAgainIn } = await resolve();
    assert.deepEqual([problem, lookAgainIn], [state.refuse, undefined]);
    assert.match(told.at(-1)?.message ?? '', /managed certificate ccm-managed-certificate-uid-web: bad domain/);
  });

  it('do not hold a run up while Hetzner issues them for minutes', async t => {
    const { resolve, state, time, fresh } = open(t);
    state.takes = 5 * 60_000;
    const before = time.now();
    const first = await resolve();
    assert.ok(time.now() - before <= 10_000);
    assert.deepEqual([first.complete, first.problem, first.lookAgainIn], [false, undefined, 30_000]);
    fresh();
    for (let i = 0; i < 5; i++) {
      await time.advance(30_000);
      assert.equal((await resolve()).complete, false);
    }
    assert.deepEqual(fresh(), Array(5).fill('list'));
    await time.advance(150_000);
    assert.deepEqual((await resolve()).ids, [100]);
  });

  it('are issued again an hour after that failed, not made again', async t => {
    const { resolve, state, time, fresh } = open(t);
    state.actionError = new ActionError(
      { id: 1, command: 'create_certificate' } as never,
      'dns_zone_not_found',
      'no zone',
    );
    const { problem, lookAgainIn } = await resolve();
    assert.deepEqual([problem, lookAgainIn], [state.actionError, HOUR]);
    await time.advance(60_000);
    assert.equal((await resolve()).complete, false);
    state.actionError = undefined;
    fresh();
    await time.advance(HOUR);
    assert.deepEqual((await resolve()).ids, [100]);
    assert.deepEqual(
      fresh().filter(call => call !== 'list'),
      ['retry 100'],
    );
  });

  it('are a problem while an uploaded one is not there, which a list a minute finds', async t => {
    const { resolve, state, time } = open(t);
    const uploaded = { protocol: 'https', 'http-certificates': 'one' } as const;
    const { problem, complete } = await resolve(uploaded);
    assert.match(String(problem), /no certificate with the name or id "one"/);
    assert.equal(complete, false);
    state.certificates.push({
      id: 5,
      name: 'one',
      labels: {},
      type: 'uploaded',
      domainNames: [],
      notValidAfter: undefined,
      status: undefined,
      isUsed: false,
    });
    await time.advance(60_001);
    assert.deepEqual(await resolve(uploaded), {
      ids: [5],
      complete: true,
      obsolete: [],
      problem: undefined,
      lookAgainIn: undefined,
    });
  });

  it('#1238: are replaced for other domains, and the old one goes when nothing uses it', async t => {
    const { resolve, keeper, state, fresh } = open(t);
    await resolve();
    const changed = await resolve({ ...wish, 'http-managed-certificate-domains': 'b.example' });
    assert.deepEqual([changed.ids, changed.obsolete.map(({ id }) => id)], [[101], [100]]);
    fresh();
    state.inUse = true;
    await keeper.cleanUp(changed.obsolete, calling());
    assert.deepEqual(state.certificates.length, 2, 'in use');
    state.inUse = false;
    await keeper.cleanUp(changed.obsolete, calling());
    assert.deepEqual(fresh(), ['delete 100']);
  });

  it('go with their Service, those that were made for it and no others', async t => {
    const { resolve, keeper, state, fresh, time } = open(t);
    await resolve();
    const other = { ...(state.certificates[0] as Certificate), id: 7, name: 'x', labels: { [ownerLabel]: 'another' } };
    state.certificates.push(other, { ...other, id: 8, type: 'uploaded', labels: { [ownerLabel]: 'uid-web' } });
    await time.advance(HOUR);
    fresh();
    await keeper.cleanUpAll(service, calling());
    assert.deepEqual(fresh(), ['list', 'delete 100']);
  });

  it('cost a Service that never had one nothing at its end, but are found without their annotations while they are known', async t => {
    const { resolve, keeper, fresh } = open(t);
    const bare = kubeService();
    await keeper.cleanUpAll(bare, calling());
    assert.deepEqual(fresh(), []);
    await resolve();
    await resolve({ protocol: 'https', 'http-certificates': 'x' });
    fresh();
    await keeper.cleanUpAll(bare, calling());
    assert.deepEqual(
      fresh().filter(call => call !== 'list'),
      ['delete 100'],
    );
  });
});
