import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { EmbeddedCluster } from '../support/embedded-cluster.ts';
import { scenarios } from '../support/scenario.ts';

const all = (apiGroup: string, resources: string[]) => ({ apiGroups: [apiGroup], resources, verbs: ['*'] });
const rules = [
  all('', ['nodes', 'nodes/status', 'services', 'services/status', 'secrets', 'configmaps']),
  all('coordination.k8s.io', ['leases']),
];
const scenario = scenarios({ real: { controllerRules: rules } });

it('BUG-090: without the permission for events everything else works, and one warning says so', async t => {
  const s = await scenario(t);
  if (s.cluster.kind === 'embedded') {
    const { fake } = s.cluster as EmbeddedCluster;
    t.after(fake.faults.add({ user: 'controller', path: /\/events/, fault: { kind: 'status', code: 403 } }));
  }
  for (const i of [1, 2, 3]) {
    s.addServer(i);
    await s.join(i);
  }
  const controller = s.start();
  for (const i of [1, 2, 3]) await s.waitRouted(i);
  await controller.waitForLine(({ msg }) => msg === 'Was not allowed to record events', 'the warning');
  assert.deepEqual(await s.eventsOf('w1'), []);
  await controller.stop();
  const notable = controller
    .lines()
    .filter(({ level }) => level !== 'info')
    .map(({ msg }) => msg);
  assert.deepEqual(notable, ['Was not allowed to record events']);
});
