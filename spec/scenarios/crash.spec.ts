import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../support/cluster.ts';
import { untilConverged } from '../support/converge.ts';
import { deleteNode } from '../support/nodes.ts';
import { scenarios } from '../support/scenario.ts';

const scenario = scenarios();

const quick = [
  '--leader-elect-lease-duration=6s',
  '--leader-elect-renew-deadline=4s',
  '--leader-elect-retry-period=1s',
];

for (const networkChanges of ['locked', 'parallel'] as const) {
  it(`survives SIGKILL between two route changes, network ${networkChanges}: none is lost, none is made twice`, async t => {
    const s = await scenario(t, { networkChanges, actionDuration: 1000 });
    const workers = [1, 2, 3, 4];
    for (const i of workers) {
      s.addServer(i);
      await s.join(i);
    }
    const accepted = (kind: 'add_route' | 'delete_route') =>
      s.hetzner.requests.filter(
        ({ route, action }) => route === `/networks/{id}/actions/${kind}` && action !== undefined,
      );
    const first = s.start({ args: quick });
    await eventually('the first add_route', async () => accepted('add_route')[0], 20_000);
    first.kill('SIGKILL');
    assert.equal(await first.exited, 'SIGKILL');
    assert.ok(
      first.lines().every(line => line.msg !== 'Created route'),
      'killed before the first change had ended',
    );
    if (networkChanges === 'locked')
      assert.ok(accepted('add_route').length < workers.length, 'and before the last began');

    const second = s.start({ args: quick });
    await untilConverged(s, workers);
    assert.equal(accepted('add_route').length, workers.length, 'each route was accepted once');
    await deleteNode(s.cluster, 'w1');
    await deleteNode(s.cluster, 'w2');
    await eventually('the first delete_route', async () => accepted('delete_route')[0], 20_000);
    second.kill('SIGKILL');
    await second.exited;

    s.start({ args: quick });
    await untilConverged(s, [3, 4]);
    assert.equal(accepted('delete_route').length, 2, 'each deletion was accepted once');
    assert.equal(accepted('add_route').length, workers.length);
  });
}
