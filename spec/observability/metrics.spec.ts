import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { metricDefinitions } from '../../lib/observability/metric-definitions.ts';
import { controllerHooks, hetznerHooks, kubeHooks, watchHooks } from '../../lib/observability/metric-hooks.ts';
import { createMetrics } from '../../lib/observability/metrics.ts';
import { again, done, failed } from '../../lib/streams/outcome.ts';

/** Sample lines of the exposition, in order. */
const samples = (text: string, name: string): string[] =>
  text.split('\n').filter(line => line.startsWith(name) && /^[{ ]/.test(line.slice(name.length)));

const virtualClock = (now = 0) => ({ now, monotonic: () => virtual.now });
const virtual = virtualClock();

describe('metrics', () => {
  it('has HELP and TYPE of each metric in the order of the table', async () => {
    const text = await createMetrics().render();
    const types = text.split('\n').filter(line => line.startsWith('# TYPE'));
    assert.deepEqual(
      types,
      Object.values(metricDefinitions).map(({ name, type }) => `# TYPE ${name} ${type}`),
    );
    for (const { name, help } of Object.values(metricDefinitions)) assert.ok(text.includes(`# HELP ${name} ${help}\n`));
  });

  it('BUG-092: keeps the names and labels of the peer and exports no kubernetes_build_info', async () => {
    const metrics = createMetrics();
    metrics.operations.inc({ op: 'hcloud/ListRoutes' });
    metrics.serverCacheRequests.inc({ subsystem: 'instances', mode: 'all', result: 'hit' });
    hetznerHooks(metrics).onRequest({ method: 'GET', route: '/servers/42?page=2', code: 200, durationMs: 30 });
    const text = await metrics.render();
    assert.deepEqual(samples(text, 'cloud_controller_manager_operations_total'), [
      'cloud_controller_manager_operations_total{op="hcloud/ListRoutes"} 1',
    ]);
    assert.deepEqual(samples(text, 'cloud_controller_manager_server_cache_requests_total'), [
      'cloud_controller_manager_server_cache_requests_total{subsystem="instances",mode="all",result="hit"} 1',
    ]);
    assert.deepEqual(samples(text, 'hcloud_api_requests_total'), [
      'hcloud_api_requests_total{code="200",method="get",api_endpoint="/servers/-"} 1',
    ]);
    assert.doesNotMatch(text, /kubernetes_build_info/);
  });

  it('BUG-092: two sets of metrics in one process do not collide', async () => {
    const [a, b] = [createMetrics(), createMetrics()];
    a.routeSyncs.inc({}, 2);
    assert.deepEqual(samples(await b.render(), 'route_controller_route_sync_total'), [
      'route_controller_route_sync_total 0',
    ]);
  });

  it('has unique valid names, labels and rising buckets', () => {
    const all = Object.values(metricDefinitions);
    assert.equal(new Set(all.map(d => d.name)).size, all.length);
    for (const d of all) {
      assert.match(d.name, /^[a-z][a-z0-9_]*$/);
      assert.equal(d.type === 'counter', d.name.endsWith('_total'), d.name);
      for (const label of d.labels) assert.match(label, /^[a-z][a-z_]*$/);
      if ('buckets' in d)
        assert.deepEqual(
          [...d.buckets].sort((x, y) => x - y),
          d.buckets,
        );
    }
  });

  it('escapes label values and writes labels in one order', async () => {
    const metrics = createMetrics();
    metrics.outcomes.inc({ outcome: 'done', controller: 'a"b\\c\nd' });
    metrics.outcomes.inc({ controller: 'a"b\\c\nd', outcome: 'done' });
    assert.deepEqual(samples(await metrics.render(), 'hcloud_reactive_outcomes_total'), [
      'hcloud_reactive_outcomes_total{controller="a\\"b\\\\c\\nd",outcome="done"} 2',
    ]);
  });

  it('bounds the number of series of a metric', async () => {
    const metrics = createMetrics();
    for (let i = 0; i < 1000; i++) metrics.operations.inc({ op: `op${i}` });
    metrics.operations.inc({ op: 'op0' });
    const lines = samples(await metrics.render(), 'cloud_controller_manager_operations_total');
    assert.equal(lines.length, 201);
    assert.ok(lines.includes('cloud_controller_manager_operations_total{op="op0"} 2'));
    assert.ok(lines.includes('cloud_controller_manager_operations_total{op="other"} 800'));
  });

  it('shows no gauge before its first value, and none after clear', async () => {
    const metrics = createMetrics();
    const budget = async () => samples(await metrics.render(), 'hcloud_reactive_api_budget_remaining');
    assert.deepEqual(await budget(), []);
    metrics.budgetRemaining.set({}, 0);
    assert.deepEqual(await budget(), ['hcloud_reactive_api_budget_remaining 0']);
    metrics.budgetRemaining.clear();
    assert.deepEqual(await budget(), []);
    metrics.routes.set({ network: 'old' }, 3);
    metrics.routes.clear();
    metrics.routes.set({ network: 'new' }, 4);
    assert.deepEqual(samples(await metrics.render(), 'hcloud_reactive_routes'), [
      'hcloud_reactive_routes{network="new"} 4',
    ]);
  });

  it('ignores values that are no number and negative counts', async () => {
    const metrics = createMetrics();
    metrics.routeSyncs.inc({}, -1);
    metrics.routeSyncs.inc({}, Number.NaN);
    metrics.budgetLimit.set({}, Number.POSITIVE_INFINITY);
    metrics.taintRemovalDelay.observe({}, Number.NaN);
    const text = await metrics.render();
    assert.deepEqual(samples(text, 'route_controller_route_sync_total'), ['route_controller_route_sync_total 0']);
    assert.deepEqual(samples(text, 'hcloud_reactive_api_budget_limit'), []);
    assert.deepEqual(samples(text, 'node_controller_cloud_provider_taint_removal_delay_seconds_count'), [
      'node_controller_cloud_provider_taint_removal_delay_seconds_count 0',
    ]);
  });

  it('reads gauges at each exposition until told to stop, and survives one that throws', async () => {
    const metrics = createMetrics();
    let age = 0;
    metrics.onRender(() => {
      throw new Error('no');
    });
    const stop = metrics.onRender(() => metrics.serverSnapshotAge.set({}, ++age));
    const read = async () => samples(await metrics.render(), 'hcloud_reactive_server_snapshot_age_seconds')[0];
    assert.equal(await read(), 'hcloud_reactive_server_snapshot_age_seconds 1');
    assert.equal(await read(), 'hcloud_reactive_server_snapshot_age_seconds 2');
    stop();
    assert.equal(await read(), 'hcloud_reactive_server_snapshot_age_seconds 2');
  });

  it('tells CPU time, memory, start and files of the process', async () => {
    const metrics = createMetrics();
    await metrics.render();
    const text = await metrics.render();
    const value = (name: string) => Number(samples(text, name)[0]?.split(' ')[1]);
    const { user, system } = process.cpuUsage();
    assert.ok(value('process_cpu_seconds_total') > 0 && value('process_cpu_seconds_total') <= (user + system) / 1e6);
    assert.ok(value('process_resident_memory_bytes') > 20e6);
    assert.ok(Math.abs(value('process_start_time_seconds') - (Date.now() / 1000 - process.uptime())) < 2);
    assert.ok(value('nodejs_heap_size_used_bytes') > 1e6);
    const busy = value('nodejs_eventloop_utilization');
    assert.ok(busy >= 0 && busy <= 1, `${busy}`);
    if (process.platform !== 'linux') return;
    assert.ok(value('process_open_fds') >= 3 && value('process_open_fds') < value('process_max_fds'));
  });
});

describe('metric hooks', () => {
  it('count requests to Hetzner with seconds, the budget and what is in flight', async () => {
    const metrics = createMetrics();
    const hooks = hetznerHooks(metrics);
    hooks.onRequest({ method: 'POST', route: '/networks/-/actions/add_route', code: 'timeout', durationMs: 2000 });
    hooks.onInFlight(3);
    hooks.onHeaders({ limit: 3600, remaining: 3599 });
    hooks.onHeaders({ limit: undefined, remaining: undefined });
    const text = await metrics.render();
    assert.ok(
      text.includes(
        'hcloud_api_requests_total{code="timeout",method="post",api_endpoint="/networks/-/actions/add_route"} 1\n',
      ),
    );
    assert.ok(text.includes('hcloud_api_request_duration_seconds_sum{method="post"} 2\n'));
    assert.ok(text.includes('hcloud_api_request_duration_seconds_bucket{le="1",method="post"} 0\n'));
    assert.ok(text.includes('hcloud_api_request_duration_seconds_bucket{le="2.5",method="post"} 1\n'));
    assert.ok(text.includes('\nhcloud_api_in_flight_requests 3\n'));
    assert.ok(text.includes('\nhcloud_reactive_api_budget_limit 3600\n'));
    assert.ok(text.includes('\nhcloud_reactive_api_budget_remaining 3599\n'));
  });

  it('count requests to Kubernetes, and events and restarts of watches', async () => {
    const metrics = createMetrics();
    const hooks = kubeHooks(metrics, '10.0.0.1:443');
    hooks.onRequest({ method: 'PATCH', code: 409, durationMs: 10 });
    hooks.onRequest({ method: 'GET', code: 0, durationMs: 10 });
    watchHooks(metrics, 'nodes').onEvent();
    watchHooks(metrics, 'nodes').onRestart('expired');
    const text = await metrics.render();
    assert.deepEqual(samples(text, 'rest_client_requests_total'), [
      'rest_client_requests_total{code="409",method="PATCH",host="10.0.0.1:443"} 1',
      'rest_client_requests_total{code="<error>",method="GET",host="10.0.0.1:443"} 1',
    ]);
    assert.ok(text.includes('rest_client_request_duration_seconds_count{verb="PATCH",host="10.0.0.1:443"} 1\n'));
    assert.ok(text.includes('hcloud_reactive_watch_events_total{resource="nodes"} 1\n'));
    assert.ok(text.includes('hcloud_reactive_watch_restarts_total{resource="nodes",cause="expired"} 1\n'));
  });

  it('count triggers, runs, retries and outcomes under the names of the work queues of the peer', async () => {
    const metrics = createMetrics();
    const hooks = controllerHooks(metrics, virtual);
    hooks.onTrigger('route');
    hooks.onTrigger('route');
    hooks.onStats('route', { ready: 1, running: 1 });
    hooks.onRun('route', { outcome: done, waited: 50, duration: 500 });
    hooks.onRun('route', { outcome: failed(new Error('x')), waited: 0, duration: 5 });
    hooks.onRun('node', { outcome: again(10), waited: 0, duration: 5 });
    const text = await metrics.render();
    for (const line of [
      'workqueue_adds_total{name="Routes"} 2',
      'workqueue_depth{name="Routes"} 1',
      'workqueue_work_duration_seconds_count{name="Routes"} 2',
      'workqueue_queue_duration_seconds_sum{name="Routes"} 0.05',
      'workqueue_work_duration_seconds_count{name="Nodes"} 1',
      'workqueue_retries_total{name="Routes"} 1',
      'route_controller_route_sync_total 2',
      'hcloud_reactive_outcomes_total{controller="route",outcome="failed"} 1',
      'hcloud_reactive_outcomes_total{controller="node",outcome="again"} 1',
    ]) {
      assert.ok(text.includes(`\n${line}\n`), line);
    }
  });

  it('tell how long unfinished runs have been going on', async () => {
    const metrics = createMetrics();
    const hooks = controllerHooks(metrics, virtual);
    const read = async () => {
      const text = await metrics.render();
      return ['unfinished_work_seconds', 'longest_running_processor_seconds'].map(name =>
        Number(samples(text, `workqueue_${name}`)[0]?.split(' ')[1]),
      );
    };
    virtual.now = 0;
    hooks.onStats('node', { ready: 0, running: 1 });
    virtual.now = 4_000;
    hooks.onStats('node', { ready: 0, running: 2 });
    virtual.now = 10_000;
    assert.deepEqual(await read(), [16, 10]);
    hooks.onRun('node', { outcome: done, waited: 0, duration: 6_000 });
    hooks.onStats('node', { ready: 0, running: 1 });
    assert.deepEqual(await read(), [10, 10], 'the younger run has ended');
    virtual.now = 11_000;
    // The next key starts in the same turn: the numbers stay the same and are not reported again.
    hooks.onRun('node', { outcome: done, waited: 0, duration: 11_000 });
    virtual.now = 12_000;
    assert.deepEqual(await read(), [1, 1]);
    hooks.onStats('node', { ready: 0, running: 0 });
    assert.deepEqual(await read(), [0, 0]);
  });
});
