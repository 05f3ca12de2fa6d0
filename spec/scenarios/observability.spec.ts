import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Agent, request } from 'undici';
import { eventually } from '../support/cluster.ts';
import type { ControllerProcess } from '../support/controller-process.ts';
import { heartbeat } from '../support/nodes.ts';
import { startProxy } from '../support/proxy.ts';
import { scenarios } from '../support/scenario.ts';
import { virtualApp } from '../support/virtual-app.ts';

const scenario = scenarios();
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const addRoute = '/networks/{id}/actions/add_route';

/** Where the metrics server of this process listens: the port is its own choice, so the operating system is asked. */
const freePort = async (): Promise<number> => {
  const proxy = await startProxy(1);
  await proxy.close();
  return proxy.port;
};

const metricsAt = async (port: number): Promise<string> => {
  const { statusCode, body } = await request(`http://127.0.0.1:${port}/metrics`);
  assert.equal(statusCode, 200);
  return body.text();
};

const about = (controller: ControllerProcess, level: string) =>
  controller
    .lines()
    .filter(line => line.level === level)
    .map(line => line.msg);

it('goes on where nobody takes the log any more, as a restart mends no disk, and says so to who asks', async t => {
  const s = await scenario(t);
  s.addServer(1);
  const [port, securePort] = [await freePort(), await freePort()];
  const controller = s.start({
    args: [`--secure-port=${securePort}`],
    env: { HCLOUD_METRICS_ADDRESS: `127.0.0.1:${port}` },
  });
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  t.after(() => dispatcher.destroy());
  const probe = async (path: string): Promise<[number, string]> => {
    const { statusCode, body } = await request(`https://127.0.0.1:${securePort}${path}`, { dispatcher });
    return [statusCode, await body.text()];
  };
  await controller.waitForLine(({ msg }) => msg === 'Became the leader', 'the leader');
  const lost = async (): Promise<number> =>
    Number(/^hcloud_reactive_log_lines_lost_total (\d+)$/m.exec(await metricsAt(port))?.[1]);
  assert.equal(await lost(), 0);
  controller.process.stdout?.destroy();
  await s.join(1);
  await s.waitRouted(1);
  await eventually('lost lines', async () => (await lost()) > 1 || undefined);
  const [status, text] = await probe('/healthz');
  assert.equal(status, 500);
  assert.match(text, /^\[-\]log failed$/m);
  assert.equal((await probe('/livez'))[0], 200);
  assert.equal((await probe('/readyz'))[0], 200);
  assert.equal(await controller.stop(), 0);
  const said = controller
    .output()
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('{'));
  assert.deepEqual(said, ['Lost the log, and goes on without: standard output: EPIPE: broken pipe, write']);
});

it('BUG-090: events are at the Kubernetes API, and the same one again counts up the one there is', async t => {
  const s = await scenario(t);
  const fault = s.hetzner.faults.add({
    kind: 'error',
    status: 422,
    code: 'invalid_input',
    message: 'refused',
    path: addRoute,
  });
  s.addServer(1);
  await s.join(1);
  s.start();
  const event = await eventually(
    'the same event twice',
    async () =>
      (await s.eventsOf('w1')).find(({ reason, count = 0 }) => reason === 'FailedToCreateRoute' && count >= 2),
    30_000,
  );
  assert.equal(event.type, 'Warning');
  assert.match(event.message ?? '', /10\.244\.1\.0\/24.*refused/);
  assert.equal(event.involvedObject?.uid, (await s.cluster.client.must('GET', '/api/v1/nodes/w1')).metadata.uid);
  const reasons = (await s.eventsOf('w1')).map(({ reason }) => reason).sort();
  assert.deepEqual(reasons, ['FailedToCreateRoute', 'Synced'], 'one object for each thing that happened');
  fault.remove();
  await s.waitRouted(1, 60_000);
});

it('BUG-091: twenty nodes are four lines each, then heartbeats are none; names and ids, no objects', async t => {
  const s = await scenario(t);
  for (const i of range(21)) s.addServer(i);
  for (const i of range(20)) await s.join(i);
  const controller = s.start();
  for (const i of range(20)) await s.waitRouted(i, 60_000);
  await controller.waitForLine(l => l.node === 'w20' && l.msg === 'Marked node network available', 'the last line');
  const count = controller.lines().length;
  assert.ok(count <= 4 * 20 + 4, `${count} lines`);
  const longest = Math.max(
    ...controller
      .lines()
      .slice(1)
      .map(line => JSON.stringify(line).length),
  );
  assert.ok(longest < 1_200, `a line of ${longest} characters`);
  for (const i of range(20)) await heartbeat(s.cluster, `w${i}`);
  await s.join(21);
  await s.waitRouted(21);
  const later = controller.lines().slice(count);
  assert.deepEqual(
    later.filter(line => line.node !== 'w21'),
    [],
  );
});

it('BUG-091: ten quiet minutes with heartbeats every 10 seconds write nothing', async t => {
  const v = virtualApp(t);
  for (const i of range(20)) {
    v.addServer(i);
    await v.join(i);
  }
  const controller = v.start();
  for (const i of range(20)) await v.untilRouted(i);
  const count = controller.lines().length;
  const since = v.now();
  v.startHeartbeats(10_000);
  await v.advance(600_000);
  assert.deepEqual(controller.lines().slice(count), []);
  assert.ok(v.spent(since).all <= 2, JSON.stringify(v.hetzner.counts({ since })));
});

it('BUG-091: HCLOUD_DEBUG writes requests and answers, and never the token', async t => {
  const s = await scenario(t);
  s.addServer(1);
  await s.join(1);
  const echo = (answer: unknown): unknown => ({ ...(answer as object), echo: `Bearer ${s.token}` });
  s.hetzner.faults.add({ kind: 'rewrite', path: '/servers', body: echo, headers: { 'X-Echo': s.token } });
  const controller = s.start({ env: { HCLOUD_DEBUG: 'true' }, args: ['--v=10'] });
  await s.waitRouted(1);
  const traces = controller.lines().filter(line => line.body !== undefined || line.headers !== undefined);
  assert.ok(traces.length >= 4, `${traces.length} traces`);
  assert.ok(controller.output().includes('[redacted]'));
  assert.ok(!controller.output().includes(s.token));
});

it('BUG-092: metrics tell of an initialisation, a route and the requests, without series of Kubernetes itself', async t => {
  const s = await scenario(t);
  s.addServer(1);
  await s.join(1);
  const port = await freePort();
  s.start({ env: { HCLOUD_METRICS_ADDRESS: `127.0.0.1:${port}` } });
  await s.waitRouted(1);
  const text = await metricsAt(port);
  for (const series of [
    /^cloud_controller_manager_operations_total\{op="cloud\.addRoute"\} 1$/m,
    /^cloud_controller_manager_server_cache_requests_total\{subsystem="instances_v2",mode="all",result="hit"\} \d+$/m,
    /^hcloud_api_requests_total\{code="200",method="get",api_endpoint="\/servers"\} 1$/m,
    /^hcloud_api_requests_total\{code="201",method="post",api_endpoint="\/networks\/-\/actions\/add_route"\} 1$/m,
    /^node_controller_initial_node_sync_delay_seconds_count 1$/m,
    /^route_controller_route_sync_total \d+$/m,
    /^leader_election_master_status\{name="cloud-controller-manager"\} 1$/m,
  ])
    assert.match(text, series);
  assert.doesNotMatch(text, /kubernetes_build_info|NaN|undefined/);
  const samples = text
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => line.replace(/ \S+$/, ''));
  assert.equal(new Set(samples).size, samples.length, 'no series twice');
});

it('BUG-092: with HCLOUD_METRICS_ENABLED=false nobody listens', async t => {
  const s = await scenario(t);
  s.addServer(1);
  await s.join(1);
  const port = await freePort();
  const controller = s.start({ env: { HCLOUD_METRICS_ADDRESS: `127.0.0.1:${port}`, HCLOUD_METRICS_ENABLED: 'false' } });
  await s.waitRouted(1);
  await assert.rejects(metricsAt(port), /ECONNREFUSED/);
  assert.ok(!about(controller, 'info').includes('Started metrics server'));
});

it('BUG-092: a metrics port that is taken ends the start with a message', async t => {
  const s = await scenario(t);
  const taken = await startProxy(1);
  t.after(() => taken.close());
  const controller = s.start({ env: { HCLOUD_METRICS_ADDRESS: `127.0.0.1:${taken.port}` } });
  assert.equal(await controller.exited, 1);
  const [error, ...others] = controller.lines().filter(({ level }) => level === 'error');
  assert.deepEqual(others, []);
  assert.match(JSON.stringify(error?.err), new RegExp(`HCLOUD_METRICS_ADDRESS|127.0.0.1:${taken.port}`));
});

it('BUG-070: requests that hang give their sockets back, and work goes on when Hetzner answers again', async t => {
  const s = await scenario(t);
  const proxy = await startProxy(Number(new URL(s.hetznerURL).port));
  t.after(() => proxy.close());
  for (const i of [1, 2]) s.addServer(i);
  await s.join(1);
  const controller = s.start({ env: { HCLOUD_ENDPOINT: `http://127.0.0.1:${proxy.port}/v1` } });
  await s.waitRouted(1);
  proxy.freeze();
  await s.join(2);
  const failure = await controller.waitForLine(
    ({ level, key }) => level === 'warn' && key === '10.244.2.0/24',
    'a failure',
    60_000,
  );
  assert.match(JSON.stringify(failure.err), /no answer within 15000 ms/);
  assert.ok(proxy.connections() <= 8, `${proxy.connections()} connections`);
  proxy.cut();
  proxy.thaw();
  await s.waitRouted(2, 60_000);
  assert.ok(proxy.connections() <= 8, `${proxy.connections()} connections`);
});
