import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { eventually } from '../support/cluster.ts';
import { MERGE_PATCH } from '../support/kube-client.ts';
import { setReady } from '../support/nodes.ts';
import { createScenario, type Scenario } from '../support/scenario.ts';
import { createService, servicePath } from '../support/services.ts';
import { createSecret, deploymentPath, helmCluster, skipWithoutCluster, valuesFor } from './installation.ts';
import { type Pod, startPods } from './pod.ts';
import { type Rendered, render } from './render.ts';

const RELEASE = 'ccm';
const lb = 'load-balancer.hetzner.cloud';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const args = {
  'leader-elect-lease-duration': '6s',
  'leader-elect-renew-deadline': '4s',
  'leader-elect-retry-period': '1s',
  'node-monitor-period': '1s',
};

type Rule = NonNullable<Rendered['rules']>[number];

/** Each verb on each resource, one by one. */
const rightsOf = (rules: readonly Rule[]): string[] =>
  rules.flatMap(({ resources, verbs }) => resources.flatMap(resource => verbs.map(verb => `${verb} ${resource}`)));

const without = (rules: readonly Rule[], right: string): Rule[] =>
  rules
    .map(rule => ({
      ...rule,
      verbs: rule.verbs.filter(verb => !rule.resources.some(resource => `${verb} ${resource}` === right)),
    }))
    .filter(({ verbs }) => verbs.length > 0);

const skip = await skipWithoutCluster();
const chart = skip === false ? await render({}) : [];
const roles = chart.filter(({ kind }) => kind === 'ClusterRole' || kind === 'Role');
const pathOf = ({ kind, metadata }: Rendered): string =>
  kind === 'Role'
    ? `${rbac}/namespaces/${metadata.namespace}/roles/${metadata.name}`
    : `${rbac}/clusterroles/${metadata.name}`;

describe('the rights of the service account', { skip }, () => {
  const { cluster, install } = helmCluster();

  const scenario = async (t: TestContext): Promise<Scenario> => {
    const s = await createScenario(t, cluster());
    t.after(() => cleanUp(s));
    s.hetzner.metadataFor(s.addServer(100));
    await createSecret(s);
    await install(RELEASE, valuesFor(s, { args, replicaCount: 2 }));
    return s;
  };

  /** What was asked by the pod since `from`, as "verb resource". */
  const asked = async (pod: Pod, from: number, refused: boolean): Promise<Set<string>> => {
    const seen = (await cluster().requests()).slice(from);
    const matching = seen.filter(({ user, code = 0 }) => user === pod.user && (code === 403) === refused);
    return new Set(matching.map(({ verb, resource }) => `${verb} ${resource}`));
  };

  /** Gives cause for everything: joins, a route, a load balancer, an event that repeats, a machine that goes. */
  const live = async (s: Scenario): Promise<void> => {
    s.addServer(1);
    const gone = s.addServer(2);
    // A node whose server stays: without one the project could be another cluster's, in which nothing is deleted or made.
    await s.join(3, { providerID: `hcloud://${s.addServer(3)}`, taint: false });
    await s.join(1);
    // Initialised already, so that its end does not hang on the rights to initialise it.
    await s.join(2, { providerID: `hcloud://${gone}`, taint: false });
    await createService(s.cluster, { name: 'web' });
    await createService(s.cluster, { name: 'wrong', annotations: { [`${lb}/use-private-ip`]: 'perhaps' } });
    await setReady(s.cluster, 'w2', 'Unknown');
    s.hetzner.servers.remove(gone);
  };

  /** Looked at again, the wrong Service is complained about in the same words: the event is counted up. */
  const touch = async (s: Scenario): Promise<void> => {
    touched += 1;
    const annotations = { [`${lb}/location`]: touched % 2 === 0 ? 'fsn1' : 'nbg1' };
    await s.cluster.client.send('PATCH', servicePath('wrong'), { metadata: { annotations } }, MERGE_PATCH);
    // Not so often that the events are capped.
    await new Promise(resolve => setTimeout(resolve, 300));
  };
  let touched = 0;

  /** Nobody may be left who could take the finalizers off. */
  const cleanUp = async (s: Scenario): Promise<void> => {
    for (const path of [servicePath('web'), servicePath('wrong')]) {
      await s.cluster.client.send('PATCH', path, { metadata: { finalizers: null } }, MERGE_PATCH);
      await s.cluster.client.send('DELETE', path);
    }
  };

  const granted = rightsOf(roles.flatMap(({ rules = [] }) => rules)).sort();

  it('are all used, and nothing else is asked for', async t => {
    const s = await scenario(t);
    const from = (await cluster().requests()).length;
    const pods = await startPods(t, s.cluster, deploymentPath());
    const [pod] = pods;
    assert.ok(pod);
    for (const each of pods) await each.ready();
    await live(s);
    let used = new Set<string>();
    await eventually(
      'all rights are used',
      async () => {
        await touch(s);
        used = await asked(pod, from, false);
        return granted.every(right => used.has(right)) ? true : undefined;
      },
      60_000,
    ).catch(err => assert.fail(`${err.message}; not used: ${granted.filter(right => !used.has(right)).join(', ')}`));
    assert.deepEqual(
      [...used].filter(right => !granted.includes(right)),
      [],
    );
    assert.deepEqual([...(await asked(pod, from, true))], []);
  });

  for (const right of granted) {
    it(`are not enough without "${right}": it is refused, and the log says so`, async t => {
      const s = await scenario(t);
      for (const role of roles) {
        const rules = without(role.rules ?? [], right);
        await s.cluster.client.must('PATCH', pathOf(role), { rules }, MERGE_PATCH);
      }
      t.after(async () => {
        for (const role of roles) {
          await s.cluster.client.must('PATCH', pathOf(role), { rules: role.rules }, MERGE_PATCH);
        }
      });
      const from = (await cluster().requests()).length;
      const pods = await startPods(t, s.cluster, deploymentPath());
      await live(s);
      await eventually(
        `${right} is refused`,
        async () => {
          await touch(s);
          return (await asked(pods[0] as Pod, from, true)).has(right) ? true : undefined;
        },
        60_000,
      );
      await eventually(
        'the log says so',
        async () =>
          pods.some(pod =>
            pod.lines().some(({ level, err }) => level !== 'info' && /forbidden/i.test(JSON.stringify(err ?? ''))),
          )
            ? true
            : undefined,
        20_000,
      ).catch(err => assert.fail(`${err.message}\n${pods.map(pod => pod.output().slice(-2000)).join('\n---\n')}`));
      assert.deepEqual([...(await asked(pods[0] as Pod, from, true))], [right]);
    });
  }
});
