import assert from 'node:assert/strict';
import { it } from 'node:test';
import { summedStats } from '../../lib/controllers/summed-stats.ts';
import { controllerHooks } from '../../lib/observability/metric-hooks.ts';
import { createMetrics } from '../../lib/observability/metrics.ts';
import { virtualClock, virtualTime } from '../hetzner/support.ts';

it('adds up what the queues of several networks tell, for as long as each is there', async t => {
  virtualTime(t);
  const metrics = createMetrics();
  const part = summedStats(controllerHooks(metrics, virtualClock));
  const [one, two] = [part(), part()];
  const depths = async () =>
    (await metrics.render()).split('\n').filter(line => /^workqueue_(depth|unfinished_work_seconds)\{/.test(line));
  one.onStats('route', { ready: 3, delayed: 1, running: 2 });
  two.onStats('route', { ready: 4, delayed: 0, running: 0 });
  assert.deepEqual(await depths(), [
    'workqueue_depth{name="Routes"} 7',
    'workqueue_unfinished_work_seconds{name="Routes"} 0',
  ]);
  one.end();
  assert.deepEqual((await depths())[0], 'workqueue_depth{name="Routes"} 4');
  two.onStats('route', { ready: 0, delayed: 0, running: 1 });
  assert.deepEqual((await depths())[0], 'workqueue_depth{name="Routes"} 0');
});
