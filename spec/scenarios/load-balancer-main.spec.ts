import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../support/cluster.ts';
import { scenarios } from '../support/scenario.ts';
import { createService, deleteService, servicePath } from '../support/services.ts';

const scenario = scenarios();
const lb = 'load-balancer.hetzner.cloud';

it('makes a load balancer for a Service with all nodes as targets, follows changes and deletes it with the Service', async t => {
  const s = await scenario(t);
  for (const i of [1, 2]) {
    s.addServer(i);
    await s.join(i);
  }
  const controller = s.start();
  await s.waitRouted(1);
  await s.waitRouted(2);
  await createService(s.cluster, {
    name: 'web',
    annotations: { [`${lb}/location`]: 'fsn1', [`${lb}/use-private-ip`]: 'true', [`${lb}/name`]: 'web' },
  });
  const made = await eventually('load balancer', async () =>
    s.hetzner.loadBalancers.list().find(l => l.targets.length === 2),
  );
  assert.equal(made.name, 'web');
  const status = await eventually('status', async () => {
    const service = await s.cluster.client.must('GET', servicePath('web'));
    const { ingress } = service.status.loadBalancer as { ingress?: { ip: string; ipMode: string }[] };
    return ingress;
  });
  assert.equal(status.length, 3);
  s.addServer(3);
  await s.join(3);
  await eventually('third target', async () => s.hetzner.loadBalancers.get(made.id)?.targets.length === 3 || undefined);
  await deleteService(s.cluster, 'web');
  await eventually('deleted', async () => s.hetzner.loadBalancers.list().length === 0 || undefined);
  assert.deepEqual(
    controller
      .lines()
      .filter(l => l.level !== 'info')
      .map(l => l.msg),
    [],
  );
});
