import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createKubeClient } from '../../lib/kubernetes/client.ts';
import { isConflict, isNotFound } from '../../lib/kubernetes/errors.ts';
import { pruneService } from '../../lib/kubernetes/prune-service.ts';
import { patchServiceStatus } from '../../lib/kubernetes/service-patches.ts';
import { InProcessDispatcher } from '../../lib/simulator/kubernetes/dispatcher.ts';
import { createFakeKubernetes } from '../../lib/simulator/kubernetes/fake.ts';
import { inProcessClient, type KubeObject, MERGE_PATCH } from '../support/kube-client.ts';
import { createService, servicePath } from '../support/services.ts';

const signal = new AbortController().signal;

const open = async () => {
  const kubernetes = createFakeKubernetes({ tokens: { t: 'admin' } });
  const admin = inProcessClient(kubernetes.handle, 't');
  const connection = {
    server: 'http://kubernetes',
    namespace: undefined,
    authorization: () => Promise.resolve('Bearer t'),
    tls: () => ({}),
  };
  const client = createKubeClient({
    connection,
    userAgent: 'spec',
    dispatcher: new InProcessDispatcher(kubernetes, 0),
  });
  const service = pruneService(await createService({ client: admin }, { name: 'web' }));
  const change = (patch: object) => admin.must('PATCH', servicePath('web'), patch, MERGE_PATCH);
  return { admin, client, service, change, now: () => kubernetes.get(servicePath('web')) as unknown as KubeObject };
};

const finalizer = 'service.kubernetes.io/load-balancer-cleanup';
const ingress = [{ ip: '203.0.113.7', ipMode: 'VIP' }];

describe('patches of Services', () => {
  it('set the finalizer and the status, and empty both again', async () => {
    const { client, service } = await open();
    const held = await patchServiceStatus(client, service, { finalizers: [finalizer] }, signal);
    assert.deepEqual([held.finalizers, held.ingress], [[finalizer], []]);
    const shown = await patchServiceStatus(client, held, { ingress }, signal);
    assert.deepEqual([shown.finalizers, shown.ingress], [[finalizer], ingress]);
    const emptied = await patchServiceStatus(client, shown, { finalizers: [], ingress: [] }, signal);
    assert.deepEqual([emptied.finalizers, emptied.ingress], [[], []]);
  });

  it('replace the whole list of addresses', async () => {
    const { client, service } = await open();
    await patchServiceStatus(client, service, { ingress: [...ingress, { ip: '2001:db8::1', ipMode: 'VIP' }] }, signal);
    const left = await patchServiceStatus(client, service, { ingress: [{ hostname: 'lb.example.com' }] }, signal);
    assert.deepEqual(left.ingress, [{ hostname: 'lb.example.com' }]);
  });

  it('never drop finalizers of others that came meanwhile: that is a conflict', async () => {
    const { client, service, change, now } = await open();
    await change({ metadata: { finalizers: ['example.com/theirs'] } });
    await assert.rejects(patchServiceStatus(client, service, { finalizers: [finalizer] }, signal), isConflict);
    assert.deepEqual(now().metadata.finalizers, ['example.com/theirs']);
  });

  it('write the status whatever else changed meanwhile', async () => {
    const { client, service, change } = await open();
    await change({ metadata: { labels: { a: 'b' } } });
    assert.deepEqual((await patchServiceStatus(client, service, { ingress }, signal)).ingress, ingress);
  });

  it('never touch another Service of the same name, nor make one', async () => {
    const { admin, client, service, now } = await open();
    await admin.must('DELETE', servicePath('web'));
    await assert.rejects(patchServiceStatus(client, service, { ingress }, signal), isNotFound);
    await createService({ client: admin }, { name: 'web' });
    await assert.rejects(patchServiceStatus(client, service, { ingress }, signal), isConflict);
    assert.deepEqual(now().status.loadBalancer, {});
  });
});
