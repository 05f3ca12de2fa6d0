import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { EMPTY } from 'rxjs';
import type { RangeSettings } from '../../../lib/controllers/ipam/desired.ts';
import { ipamController } from '../../../lib/controllers/ipam/ipam-controller.ts';
import { nodeNetworks } from '../../../lib/controllers/networks.ts';
import type { Server } from '../../../lib/hetzner/types.ts';
import type { KubeRequest } from '../../../lib/kubernetes/client.ts';
import { KubeError } from '../../../lib/kubernetes/errors.ts';
import type { KubeNode } from '../../../lib/kubernetes/types.ts';
import { virtualClock } from '../../hetzner/support.ts';
import { recordingLogger } from '../../kubernetes/support.ts';
import { nodeAPI } from '../node-api.ts';
import { eventLog, networkID, noHooks, project, routedNode, runUntilEnd, server } from '../support.ts';

const [here, there] = [networkID, networkID + 1];
const networks = nodeNetworks(() => {
  const all = [
    { id: here, name: 'here', ipRange: '10.0.0.0/16' },
    { id: there, name: 'there', ipRange: '10.1.0.0/16' },
  ] as const;
  const podCIDRs = new Map([
    [here, '10.244.0.0/22'],
    [there, '10.244.4.0/22'],
  ]);
  return { primary: all[0], controlPlane: undefined, all, podCIDRs, gateways: [] };
});

const serverIn = (id: number, network: number): Server =>
  server(id, { privateNets: [{ network, ip: `10.0.1.${id}`, aliasIPs: [] }] });
const waiting = (id: number, fields: Partial<KubeNode> = {}): KubeNode => routedNode(id, { podCIDRs: [], ...fields });

const isAllocation = ({ body }: KubeRequest): boolean => JSON.stringify(body ?? '').includes('/spec/podCIDR');
const isFence = (request: KubeRequest): boolean => request.method === 'PATCH' && !isAllocation(request);

const lost = (): never => {
  throw new KubeError({ status: 0, reason: 'ECONNRESET', message: 'cut' });
};

/** The controller over an API and a project that are changed by hand. */
const setUp = (t: TestContext, settings: RangeSettings = { clusterCIDR: undefined, networks }) => {
  const hetzner = project(
    t,
    [1, 2, 3].map(id => serverIn(id, here)),
  );
  const api = nodeAPI();
  const events = eventLog();
  const logger = recordingLogger();
  const usage = new Map<string, string>();
  const list = () =>
    hetzner.servers.notBefore(Date.now(), { priority: 'refresh', signal: new AbortController().signal });
  const start = async (): Promise<void> => {
    // The first contact.
    await list();
    const run$ = ipamController({
      nodes: api.store,
      servers: hetzner.servers,
      client: api.client,
      settings,
      maskSize: 24,
      ranges$: EMPTY,
      maxAge: 10_000,
      onUsage: (range, { used, size }) => usage.set(range, `${used}/${size}`),
      events,
      clock: virtualClock,
      logger,
      hooks: noHooks,
      backoff: attempt => 1_000 * 2 ** attempt,
    });
    runUntilEnd(t, run$);
    await hetzner.time.advance(100, 10);
  };
  return {
    ...hetzner,
    api,
    start,
    usage,
    lines: () => logger.lines,
    eventsOf: (name: string) => events.told.filter(({ node }) => node === name).map(({ message }) => message),
    podCIDRs: (...ids: number[]) => ids.map(id => api.get(`w${id}`)?.podCIDRs.join()),
    /** What was sent: `w1 fence` or `w1 10.244.0.0/24`. */
    writes: () =>
      api.writes
        .filter(({ method }) => method === 'PATCH')
        .map(({ path, body }) => {
          const [, name] = /\/nodes\/(\w+)/.exec(path) ?? [];
          const [, podCIDR = 'fence'] = /"path":"\/spec\/podCIDR","value":"([^"]*)"/.exec(JSON.stringify(body)) ?? [];
          return `${name} ${podCIDR}`;
        }),
    /** Somebody lists the servers. */
    list,
  };
};

describe('the allocation of pod CIDRs', () => {
  it('does not decide by a store that is behind the list of the start', async t => {
    const { api, start, time, state, list, podCIDRs, writes } = setUp(t);
    api.add(waiting(1));
    api.add(waiting(2));
    api.state.watching = false;
    // What the leader before did last.
    api.add(routedNode(3, { podCIDRs: ['10.244.4.0/24'] }));
    let refusals = 1;
    api.state.before = request => {
      if (isFence(request) && request.path.endsWith('/w2') && refusals-- > 0) lost();
    };
    await start();
    assert.deepEqual(writes(), ['w1 fence', 'w2 fence']);
    // w1 is looked at while w2 is not fenced yet.
    state.servers = [serverIn(1, there), serverIn(2, here)];
    await list();
    await time.advance(10_000, 100);
    assert.deepEqual(writes(), ['w1 fence', 'w2 fence', 'w2 fence']);
    api.state.watching = true;
    api.watch();
    await time.advance(10_000, 100);
    assert.deepEqual(podCIDRs(1, 2, 3), ['10.244.5.0/24', '10.244.0.0/24', '10.244.4.0/24']);
  });

  it('does not hand out what a list in the store is about to tell', async t => {
    const { api, start, time, podCIDRs } = setUp(t, { clusterCIDR: '10.244.0.0/22' });
    await start();
    api.state.watching = false;
    // One list brings both, the one that waits first.
    api.add(waiting(1));
    api.add(routedNode(2, { podCIDRs: ['10.244.0.0/24'] }));
    api.state.watching = true;
    api.watch();
    await time.advance(10_000, 100);
    assert.deepEqual(podCIDRs(1, 2), ['10.244.1.0/24', '10.244.0.0/24']);
  });

  it('makes sure that a lost write cannot land any more before it takes another range', async t => {
    const { api, start, time, state, list, podCIDRs, writes, usage } = setUp(t);
    await start();
    api.state.before = request => {
      if (isAllocation(request)) lost();
    };
    api.add(waiting(1));
    await time.advance(100, 10);
    assert.deepEqual(writes(), ['w1 10.244.0.0/24']);
    state.servers = [serverIn(1, there)];
    api.state.before = () => {};
    await list();
    await time.advance(10_000, 100);
    assert.deepEqual(writes(), ['w1 10.244.0.0/24', 'w1 fence', 'w1 10.244.4.0/24']);
    assert.deepEqual(podCIDRs(1), ['10.244.4.0/24']);
    assert.deepEqual([...usage.values()], ['0/4', '1/4']);
  });

  it('needs no fence where the write was refused', async t => {
    const { api, start, time, state, list, writes } = setUp(t);
    await start();
    api.state.before = request => {
      if (isAllocation(request)) throw new KubeError({ status: 403, reason: 'Forbidden', message: 'no' });
    };
    api.add(waiting(1));
    await time.advance(2_000, 100);
    state.servers = [serverIn(1, there)];
    api.state.before = () => {};
    await list();
    await time.advance(10_000, 100);
    assert.deepEqual([...new Set(writes())], ['w1 10.244.0.0/24', 'w1 10.244.4.0/24']);
  });

  it('waits for a node that is gone, or another one by now, with its fences no longer', async t => {
    const { api, start, time, podCIDRs, writes } = setUp(t);
    for (const id of [1, 2, 3]) api.add(waiting(id));
    let refusals = 3;
    api.state.before = request => {
      if (isFence(request) && refusals-- > 0) lost();
    };
    await start();
    api.remove('w1');
    api.add(waiting(1));
    api.remove('w2');
    await time.advance(10_000, 100);
    assert.deepEqual(podCIDRs(1, 2, 3).filter(Boolean).sort(), ['10.244.0.0/24', '10.244.1.0/24']);
    assert.equal(writes().filter(write => write === 'w2 fence').length, 1);
  });

  it('says of a node that can not be fenced off that all wait for it, until anybody else has changed it', async t => {
    const { api, start, time, podCIDRs, eventsOf, lines } = setUp(t);
    api.add(waiting(1));
    api.add(waiting(2));
    api.state.before = request => {
      if (isFence(request) && request.path.endsWith('/w2'))
        throw new KubeError({ status: 403, reason: 'Forbidden', message: 'a webhook says no' });
    };
    await start();
    api.add(waiting(3));
    await time.advance(60_000, 1_000);
    assert.deepEqual(podCIDRs(1, 2, 3), ['', '', '']);
    const why = 'Could not allocate a pod CIDR: all wait until node w2 can be written to';
    for (const name of ['w1', 'w2', 'w3']) assert.match(eventsOf(name).join(), new RegExp(why), name);
    assert.deepEqual(
      lines()
        .filter(({ level }) => level === 'error')
        .map(({ msg, fields }) => `${msg}: ${fields.node}`),
      ['Held back all pod CIDRs, as a node can not be written to: w2'],
    );
    // As a kubelet does.
    api.patchStatus('w2', { nodeInfo: { kubeletVersion: 'v1.37.1' } });
    await time.advance(10_000, 100);
    assert.equal(new Set(podCIDRs(1, 2, 3)).size, 3);
    assert.ok(podCIDRs(1, 2, 3).every(Boolean));
  });

  it('has what a node was given again that was deleted before the answer came', async t => {
    const { api, start, time, usage } = setUp(t);
    await start();
    api.add(waiting(1));
    api.state.after = request => {
      if (isAllocation(request)) api.remove('w1');
    };
    await time.advance(10_000, 100);
    assert.equal(api.get('w1'), undefined);
    assert.deepEqual([...usage.values()], ['0/4', '0/4']);
  });

  it('begins anew where the history of the API server is another one', async t => {
    const { api, start, time, podCIDRs, writes } = setUp(t);
    api.add(waiting(1));
    await start();
    assert.deepEqual(podCIDRs(1), ['10.244.0.0/24']);
    api.restore();
    await time.advance(1_000, 10);
    api.add(waiting(2));
    await time.advance(10_000, 100);
    assert.deepEqual(podCIDRs(1, 2), ['10.244.0.0/24', '10.244.1.0/24']);
    assert.deepEqual(writes(), ['w1 fence', 'w1 10.244.0.0/24', 'w2 10.244.1.0/24']);
  });

  it('writes nothing twice, however late the watch tells of its own writes', async t => {
    const { api, start, time, list, podCIDRs, writes } = setUp(t);
    await start();
    api.add(waiting(1));
    api.state.watching = false;
    await time.advance(100, 10);
    await list();
    await time.advance(60_000, 1_000);
    assert.deepEqual([podCIDRs(1), writes()], [['10.244.0.0/24'], ['w1 10.244.0.0/24']]);
  });
});
