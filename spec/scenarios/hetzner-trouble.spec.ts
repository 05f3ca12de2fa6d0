import assert from 'node:assert/strict';
import { it } from 'node:test';
import { balanced } from '../support/balanced.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { isInitialised, networkUnavailable } from '../support/scenario.ts';
import { createService } from '../support/services.ts';
import { type VirtualApp, type VirtualController, virtualApp } from '../support/virtual-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const addRoute = '/networks/{id}/actions/add_route';

/** Nodes 1 to `count`, routed, a while ago. */
const settled = async (v: VirtualApp, count: number): Promise<VirtualController> => {
  for (const i of range(count)) {
    v.addServer(i);
    await v.join(i);
  }
  const controller = v.start();
  for (const i of range(count)) await v.untilRouted(i);
  await v.advance(MINUTE);
  return controller;
};

const join = async (v: VirtualApp, i: number): Promise<void> => {
  v.addServer(i);
  await v.join(i);
};

const at = (controller: VirtualController, ...levels: string[]) =>
  controller.lines().filter(({ level }) => levels.includes(level));

it('BUG-068: an empty quota delays nodes that join and changes nothing else', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 2);
  const before = JSON.stringify(v.kubernetes.list('/api/v1/nodes'));
  v.hetzner.drain({ forMs: MINUTE });
  const since = v.now();
  for (const i of [3, 4, 5]) await join(v, i);
  await v.advance(MINUTE);
  const refused = v.hetzner.requests.filter(({ at, status }) => at >= since && status === 429).length;
  assert.ok(refused > 0 && refused < 10, `${refused} requests were refused`);
  assert.equal(JSON.stringify(v.kubernetes.list('/api/v1/nodes').slice(0, 2)), `${before.slice(0, -1)}]`);
  for (const i of [3, 4, 5]) await v.untilRouted(i, 2 * MINUTE);
  assert.deepEqual(at(controller, 'error'), []);
  assert.equal(
    at(controller, 'warn').filter(({ msg }) => msg === 'Paused requests to Hetzner, quota was used up').length,
    1,
  );
});

it('BUG-068: a node that joins while a periodic list waits for quota does not wait with it', async t => {
  const v = virtualApp(t);
  for (const i of range(300)) v.hetzner.servers.create({ name: `x${i}` });
  await settled(v, 1);
  // Enough for a join, too little for what is periodic; the list of 300 takes seven requests.
  v.hetzner.setRateLimit({ remaining: 40 });
  v.hetzner.faults.add({ kind: 'error', status: 503, code: 'unavailable', times: 1 });
  await v.until('a refresh waits', () => v.hetzner.requests.at(-1)?.status === 503, 10 * MINUTE);
  v.hetzner.setRateLimit({ remaining: 40 });
  await join(v, 2);
  const took = await v.until('it is initialised', () => isInitialised(v.node('w2') as never), 10 * MINUTE);
  assert.ok(took <= 15 * SECOND, `${took} ms`);
});

it('BUG-068: 403 is an error that is shown, backs off, and touches no node', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 2);
  const before = v.kubernetes.journal.writes().length;
  v.hetzner.faults.add({ kind: 'error', status: 403, code: 'forbidden', message: 'insufficient permissions' });
  const since = v.now();
  for (const i of range(20)) await join(v, 2 + i);
  await v.advance(HOUR);
  const shown = at(controller, 'warn', 'error').filter(({ err }) =>
    JSON.stringify(err).includes('insufficient permissions'),
  );
  assert.ok(shown.length > 0, 'the error is in the log');
  assert.equal(v.kubernetes.journal.writes().length, before, 'no node was written to');
  const { all } = v.spent(since);
  assert.ok(all <= 240, `${all} requests in an hour: the nodes share one every 15 s`);
});

it('BUG-069: a route that Hetzner refuses for good is told on the node and tried ever more rarely, others are not held up', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 1);
  const hit = v.hetzner.faults.add({
    kind: 'error',
    status: 422,
    code: 'invalid_input',
    message: 'no such luck',
    path: addRoute,
    when: r => r.body?.includes('10.244.2.') ?? false,
  });
  const since = v.now();
  await join(v, 2);
  await join(v, 3);
  await v.untilRouted(3);
  await v.advance(HOUR);
  assert.ok(hit.struck >= 5 && hit.struck < 25, `${hit.struck} tries in an hour`);
  assert.ok(v.spent(since).all < 90, JSON.stringify(v.hetzner.counts({ since })));
  assert.equal(networkUnavailable(v.node('w2')), 'True');
  const events = v.eventsOf('w2').filter(({ reason }) => reason === 'FailedToCreateRoute');
  assert.ok(events.length >= 1 && events.length <= 3, `${events.length} events`);
  assert.match(events[0]?.message ?? '', /no such luck/);
  assert.ok(
    at(controller, 'warn').some(
      ({ key, err }) => key === '10.244.2.0/24' && JSON.stringify(err).includes('invalid_input'),
    ),
  );
});

it('BUG-069: a route that somebody else has just made is taken for done after one look', async t => {
  const v = virtualApp(t);
  await settled(v, 1);
  v.addServer(2);
  v.hetzner.networks.addRoute(v.networkID, '10.244.2.0/24', '10.0.1.2');
  const since = v.now();
  await v.join(2);
  await v.untilRouted(2);
  const { all, writes } = v.spent(since);
  assert.ok(writes <= 1 && all <= 4, JSON.stringify(v.hetzner.counts({ since })));
  await v.advance(10 * MINUTE);
  assert.ok(v.spent(since).writes <= 1);
});

it('BUG-070: requests that are never answered end after 15 s, others go on, and work resumes by itself', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 1);
  const hang = v.hetzner.faults.add({ kind: 'hang', path: addRoute });
  await join(v, 2);
  await v.until('it is initialised', () => isInitialised(v.node('w2') as never), 5 * SECOND);
  await v.advance(MINUTE);
  assert.ok(
    at(controller, 'warn').some(
      ({ key, err }) => key === '10.244.2.0/24' && /no answer within 15000 ms/.test(JSON.stringify(err)),
    ),
  );
  assert.ok(hang.struck >= 2 && hang.struck <= 5, `${hang.struck} tries in a minute`);
  hang.remove();
  await v.untilRouted(2, MINUTE);

  const all = v.hetzner.faults.add({ kind: 'hang' });
  await join(v, 3);
  await v.advance(2 * MINUTE);
  assert.ok(!isInitialised(v.node('w3') as never));
  all.remove();
  await v.untilRouted(3, 2 * MINUTE);
});

it('BUG-070: a process that only waits says that Hetzner does not answer', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 1);
  v.hetzner.faults.add({ kind: 'hang' });
  await v.advance(10 * MINUTE);
  const warnings = at(controller, 'warn');
  assert.ok(warnings.length >= 1 && warnings.length <= 3, `${warnings.length} warnings`);
  assert.match(JSON.stringify(warnings[0]), /no answer within 15000 ms/);
});

it('BUG-070: a change whose answer is lost is made once', async t => {
  const v = virtualApp(t);
  await settled(v, 1);
  v.hetzner.faults.add({ kind: 'lost-after-effect', path: addRoute, times: 1 });
  const since = v.now();
  await join(v, 2);
  await v.untilRouted(2, 2 * MINUTE);
  assert.equal(v.hetzner.count({ since, method: 'POST', route: addRoute }), 1);
});

it('BUG-071: actions that take 20 s are polled together and ever more rarely', async t => {
  const v = virtualApp(t, { actionDuration: 20 * SECOND });
  v.start();
  await v.advance(MINUTE);
  const since = v.now();
  for (const i of range(10)) await join(v, i);
  for (const i of range(10)) await v.untilRouted(i, 5 * MINUTE);
  const { polls, writes } = v.spent(since);
  assert.equal(writes, 10);
  assert.ok(v.now() - since < 40 * SECOND, `the changes run side by side: ${v.now() - since} ms`);
  assert.ok(polls <= 20, `${polls} polls for 10 actions`);
  assert.ok(
    v.hetzner.requests.some(({ route, query }) => route === '/actions' && query.split('id=').length > 2),
    'one poll asks for several',
  );
});

it('BUG-071: an action that fails is told with its code and message, and tried again later', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 1);
  v.hetzner.faults.add({
    kind: 'action',
    path: addRoute,
    duration: 20 * SECOND,
    error: { code: 'action_failed', message: 'host is on fire' },
    times: 1,
  });
  const since = v.now();
  await join(v, 2);
  await v.advance(25 * SECOND);
  const warning = at(controller, 'warn').find(({ key }) => key === '10.244.2.0/24');
  assert.match(JSON.stringify(warning?.err), /host is on fire.*action_failed/);
  assert.match(
    v.eventsOf('w2').find(({ reason }) => reason === 'FailedToCreateRoute')?.message ?? '',
    /host is on fire/,
  );
  await v.untilRouted(2, MINUTE);
  assert.equal(v.hetzner.count({ since, method: 'POST', route: addRoute }), 2);
  assert.ok(v.spent(since).polls <= 12, JSON.stringify(v.spent(since)));
});

it('a token that is refused later ends nothing: an error that names it, no hot loop, and work resumes with a good one', async t => {
  const v = virtualApp(t);
  const controller = await settled(v, 1);
  // The event that tells of the refusal is no change of anything.
  const writes = () => v.kubernetes.journal.writes().filter(({ path }) => !path.includes('/events')).length;
  const before = writes();
  const refusal = v.hetzner.faults.add({
    kind: 'error',
    status: 401,
    code: 'unauthorized',
    message: 'the token you have provided is invalid',
  });
  const since = v.now();
  await join(v, 2);
  await v.advance(HOUR);
  assert.equal(controller.error(), undefined);
  assert.equal(writes(), before);
  assert.ok(v.spent(since).all <= 240, `${v.spent(since).all} requests in an hour`);
  const errors = at(controller, 'error');
  assert.deepEqual(
    errors.map(({ msg, setting }) => [msg, setting]),
    [['Had the token refused by Hetzner', 'HCLOUD_TOKEN']],
  );
  refusal.remove();
  await v.untilRouted(2, 2 * MINUTE);
  assert.ok(controller.lines().some(({ msg }) => msg === 'Got the token accepted by Hetzner again'));
});

it('a token that may only read is told once, however often a change is refused', async t => {
  const v = virtualApp(t, { readOnly: true });
  const controller = v.start();
  for (const i of [1, 2]) await join(v, i);
  await v.advance(HOUR);
  for (const i of [1, 2]) assert.ok(isInitialised(v.node(`w${i}`) as never));
  assert.match(
    JSON.stringify(at(controller, 'error')),
    /^\[\{[^{]*the token can only read[^{]*HCLOUD_TOKEN[^{]*Read & Write[^{]*\{[^{]*only allowed to perform GET[^{]*\}\]$/,
  );
  const events = v.kubernetes.list('/api/v1/namespaces/kube-system/events') as unknown as KubeObject[];
  assert.deepEqual(
    events.filter(({ reason }) => reason === 'CredentialsRefused').map(({ message = '' }) => message.split(',')[0]),
    ['HCLOUD_TOKEN can only read'],
  );
  assert.match(
    v
      .eventsOf('w1')
      .map(({ message }) => message)
      .join(),
    /only allowed to perform GET requests/,
  );
  assert.ok(v.spent().writes < 60, `${v.spent().writes} tries for two routes`);
});

it('a token whose changes are forbidden for want of permissions is told as one that can only read, and on the Service', async t => {
  const v = virtualApp(t);
  const message = 'insufficient permissions for this request';
  for (const method of ['POST', 'PUT', 'DELETE'] as const)
    v.hetzner.faults.add({ kind: 'error', status: 403, code: 'forbidden', message, method });
  const controller = v.start();
  await join(v, 1);
  await createService(v, { name: 'web', annotations: { 'load-balancer.hetzner.cloud/location': 'fsn1' } });
  await v.advance(HOUR);
  assert.deepEqual(
    at(controller, 'error').map(({ msg }) => msg),
    ['Had a change refused by Hetzner, as the token can only read'],
  );
  for (const name of ['web', 'w1']) {
    const events = v.eventsOf(name).map(one => one.message);
    assert.match(events.join(), /insufficient permissions/, name);
  }
  assert.ok(v.spent().writes < 60, `${v.spent().writes} tries`);
});

it('an outage of both APIs at the start is waited out', async t => {
  const v = virtualApp(t);
  await join(v, 1);
  const trouble = v.kubernetes.faults.add({ user: 'controller-1', fault: { kind: 'status', code: 503 } });
  v.hetzner.faults.add({ kind: 'html', status: 502, forMs: 3 * MINUTE });
  const controller = v.start({ args: ['--leader-elect=true'] });
  await v.advance(2 * MINUTE);
  assert.deepEqual(v.hetzner.count(), 0);
  trouble();
  await v.untilRouted(1, 4 * MINUTE);
  assert.equal(controller.error(), undefined);
  const tries = v.kubernetes.journal.all().length;
  assert.ok(tries < 400, `${tries} requests to the Kubernetes API`);
  assert.ok(at(controller, 'warn').length < 40, `${at(controller, 'warn').length} warnings`);
});

it('reads the network once for all routes that are tried again at about the same time', async t => {
  const v = virtualApp(t);
  v.start();
  await v.advance(MINUTE);
  const since = v.now();
  v.hetzner.faults.add({ method: 'POST', path: /add_route$/, kind: 'html', status: 503, forMs: MINUTE });
  await balanced(v).grow(1, 50);
  await v.until('all have their routes', () => v.routes().length === 50, 5 * MINUTE);
  await v.advance(2 * MINUTE);
  const reads = v.hetzner.count({ since, method: 'GET', route: '/networks/{id}' });
  assert.ok(reads >= 2 && reads <= 30, `${reads} reads`);
});

it('reads load balancers at most once a minute for those that are over the limit of the project', async t => {
  const v = virtualApp(t);
  const b = balanced(v);
  await b.grow(1, 1);
  v.start();
  await v.untilRouted(1);
  for (const i of range(35)) await b.create(`s${i}`);
  await v.advance(HOUR);
  const since = v.now();
  await v.advance(HOUR);
  const reads = v.hetzner.count({ since, method: 'GET', route: '/load_balancers' });
  assert.ok(reads <= 61, `${reads} reads`);
  v.hetzner.loadBalancers.remove(v.hetzner.loadBalancers.list()[0]?.id ?? 0);
  await v.until('one more', () => v.hetzner.loadBalancers.list().length === 20, 5 * MINUTE);
});
