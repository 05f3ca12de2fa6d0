import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { createInstances } from '../../lib/controllers/instances.ts';
import { createProject, foreignProject } from '../../lib/controllers/project.ts';
import { createWitness } from '../../lib/controllers/witness.ts';
import type { Server } from '../../lib/hetzner/types.ts';
import type { KubeNode } from '../../lib/kubernetes/types.ts';
import { virtualClock } from '../hetzner/support.ts';
import { recordingLogger } from '../kubernetes/support.ts';
import { project as projectOf, routedNode, server } from './support.ts';

const hour = 3_600_000;
const o = { priority: 'loadBalancer', signal: new AbortController().signal } as const;

/** A project that was listed once, a minute ago, by hand. */
const setUp = async (t: TestContext, servers: readonly Server[], nodes: KubeNode[]) => {
  const hetzner = projectOf(t, servers);
  const instances = createInstances(hetzner.instances, undefined, virtualClock);
  const logger = recordingLogger();
  const warnings: string[] = [];
  const project = createProject({
    witness: createWitness(() => nodes, instances.credentialsSince),
    instances,
    warn: (reason, message) => warnings.push(`${reason} ${message}`),
    clock: virtualClock,
    logger,
  });
  const cleared: number[] = [];
  const subscription = project.run$.subscribe();
  subscription.add(project.cleared$.subscribe(() => cleared.push(Date.now())));
  t.after(() => subscription.unsubscribe());
  await hetzner.servers.notBefore(0, o);
  await hetzner.time.advance(60_001, 60_001);
  /** Its answer, and how many lists it took. */
  const doubt = async () => {
    const before = hetzner.state.lists.length;
    const asked = project.doubt(o);
    await hetzner.time.advance(1, 1);
    return { doubt: await asked, lists: hetzner.state.lists.length - before };
  };
  const messages = () => logger.lines.map(({ msg }) => msg);
  return { ...hetzner, doubt, cleared, warnings, messages };
};
const ours = { doubt: undefined, lists: 0 };

it('believes a project that has a server of the cluster, without a request', async t => {
  const { doubt, warnings } = await setUp(t, [server(2), server(5)], [routedNode(1), routedNode(2)]);
  assert.deepEqual(await doubt(), ours);
  assert.deepEqual(warnings, []);
});

it('believes any project while no node names a server', async t => {
  const { doubt } = await setUp(t, [server(5)], [routedNode(1, { providerID: '' })]);
  assert.deepEqual(await doubt(), ours);
});

it('asks once more before it doubts, shares that answer for a minute, and tells of it once an hour', async t => {
  const { doubt, warnings, messages, time } = await setUp(t, [server(5)], [routedNode(1)]);
  assert.deepEqual(await doubt(), { doubt: foreignProject, lists: 1 });
  assert.deepEqual(await doubt(), { doubt: foreignProject, lists: 0 });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /^ForeignProject .*HCLOUD_TOKEN is probably of another project/);
  assert.deepEqual(messages(), ['Held back changes, as Hetzner knows no server of this cluster']);
  await time.advance(hour, hour);
  assert.deepEqual(await doubt(), { doubt: foreignProject, lists: 1 });
  assert.equal(warnings.length, 2);
});

it('takes a server that was made since the last list for a witness', async t => {
  const { doubt, state } = await setUp(t, [], [routedNode(1)]);
  state.servers = [server(1)];
  assert.deepEqual(await doubt(), { doubt: undefined, lists: 1 });
});

it('says when its doubt is gone', async t => {
  const { doubt, state, servers, cleared, messages, time } = await setUp(t, [server(5)], [routedNode(1)]);
  await doubt();
  state.servers = [server(1)];
  const asked = servers.notBefore(Date.now() + 1, o);
  await time.advance(10, 1);
  await asked;
  assert.equal(cleared.length, 1);
  assert.equal(messages().at(-1), 'Found servers of this cluster at Hetzner again');
});

it('asks the project behind a new token before it believes what was known of the old one', async t => {
  const { doubt, state } = await setUp(t, [server(1)], [routedNode(1)]);
  assert.deepEqual(await doubt(), ours);
  state.tokenSince = Date.now();
  state.servers = [server(5)];
  assert.deepEqual(await doubt(), { doubt: foreignProject, lists: 1 });
});
