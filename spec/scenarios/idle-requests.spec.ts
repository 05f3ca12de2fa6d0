import assert from 'node:assert/strict';
import { it } from 'node:test';
import { untilConverged } from '../support/converge.ts';
import { heartbeat } from '../support/nodes.ts';
import { scenarios } from '../support/scenario.ts';

const scenario = scenarios();

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager';
const seconds = 110;

it('asks the Kubernetes API for nothing but watches and lease renewals while idle, one replica leading and one warm, and Hetzner for nothing', async t => {
  const s = await scenario(t);
  const workers = [1, 2, 3];
  for (const i of workers) {
    s.addServer(i);
    await s.join(i);
  }
  const leader = s.start();
  await untilConverged(s, workers);
  const follower = s.start();
  await follower.waitForLine(line => line.msg === 'Observed another leader', 'follower');
  await new Promise(resolve => setTimeout(resolve, 3000));
  const before = (await s.cluster.requests()).length;
  const callsBefore = s.hetzner.count();

  // Longer than a watch may be silent. Kubelets report now and then, as they do.
  for (let second = 0; second < seconds; second += 10) {
    await heartbeat(s.cluster, `w${1 + ((second / 10) % workers.length)}`);
    await new Promise(resolve => setTimeout(resolve, 10_000));
  }

  const requests = (await s.cluster.requests()).slice(before).filter(({ user }) => user === 'controller');
  const renewals = requests.filter(({ verb, path }) => verb === 'update' && path === LEASE).length;
  const watches = requests.filter(({ verb }) => verb === 'watch').map(({ path }) => path.split('?')[0]);
  assert.equal(requests.length, renewals + watches.length, JSON.stringify(requests));
  assert.deepEqual(watches, [], 'watches go on, also that of Services, to which nothing happens');
  // Every 1.5 to 2 s.
  assert.ok(renewals >= (0.8 * seconds) / 2 && renewals <= (1.2 * seconds) / 1.5, `${renewals} renewals`);
  assert.equal(s.hetzner.count(), callsBefore);
  assert.deepEqual(
    [leader, follower].map(({ process }) => process.exitCode),
    [null, null],
  );
});
