import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Subject } from 'rxjs';
import type { InstanceLists } from '../../../lib/controllers/instances.ts';
import { excludeLabel } from '../../../lib/controllers/load-balancer/eligible-nodes.ts';
import { cleanupFinalizer } from '../../../lib/controllers/load-balancer/ownership.ts';
import { loadBalancerTriggers } from '../../../lib/controllers/load-balancer/triggers.ts';
import { createServerList } from '../../../lib/hetzner/server-list.ts';
import type { Server } from '../../../lib/hetzner/types.ts';
import type { Store } from '../../../lib/kubernetes/store.ts';
import { createStoreContent } from '../../../lib/kubernetes/store-content.ts';
import { type KubeNode, type KubeService, keyOf } from '../../../lib/kubernetes/types.ts';
import { node } from '../../kubernetes/support.ts';
import { networkID, nodeStore, routedNode, server } from '../support.ts';
import { annotated, kubeService, tcpPort } from './support.ts';

const serviceStore = () => {
  const content = createStoreContent<KubeService>();
  let version = 100;
  const store = { ...content, synced: true, synced$: { subscribe: () => undefined } as never } as Store<KubeService>;
  return {
    store,
    put: (object: KubeService) => {
      version += 1;
      content.apply({ ...object, resourceVersion: String(version) }, 0);
    },
    drop: (object: KubeService) => content.remove(store.get(keyOf(object)) ?? assert.fail()),
  };
};

const web = kubeService({ finalizers: [cleanupFinalizer] });
const selecting = kubeService({
  name: 'selecting',
  uid: 'uid-s',
  annotations: annotated({ 'node-selector': 'pool=a' }),
});
const foreign = kubeService({ name: 'foreign', uid: 'uid-f', type: 'ClusterIP' });

const listen = (
  t: TestContext,
  services: readonly KubeService[] = [web, selecting, foreign],
  nodes: readonly KubeNode[] = [routedNode(1)],
) => {
  const { store, put, drop } = serviceStore();
  for (const one of services) put(one);
  const stored = nodeStore();
  for (const one of nodes) stored.put(one);
  const lists$ = new Subject<InstanceLists>();
  const drift$ = new Subject<unknown>();
  const seen: string[] = [];
  const rules = { className: 'hcloud', classless: true };
  const subscription = loadBalancerTriggers({
    services: store,
    nodes: stored as never,
    lists$,
    drift$,
    rules,
  }).subscribe(({ key, reason, priority }) => {
    seen.push(`${key.slice('default/'.length)}: ${reason}${priority === 0 ? '' : ` ${priority}`}`);
  });
  t.after(() => subscription.unsubscribe());
  const fresh = () => seen.splice(0);
  const start = fresh();
  return {
    start,
    put,
    drop,
    nodes: stored,
    drift: () => drift$.next(undefined),
    list: (...servers: Server[]) => lists$.next({ cloud: createServerList(servers, 0), robot: undefined }),
    /** What was triggered since the last call. */
    seen: fresh,
  };
};

describe('triggers of load balancers', () => {
  it('come at the start from Services that are ours, behind those that change', t => {
    assert.deepEqual(listen(t).start, ['web: Service present at start -1', 'selecting: Service present at start -1']);
  });

  it('come at the start from what was given up while nobody looked', t => {
    const given = kubeService({ type: 'ClusterIP', finalizers: [cleanupFinalizer] });
    assert.deepEqual(listen(t, [given]).start, ['web: Service present at start -1']);
  });

  const changes: readonly (readonly [string, Partial<KubeService>, boolean])[] = [
    ['an annotation', { annotations: annotated({ name: 'x' }) }, true],
    ['a port', { ports: [tcpPort(81)] }, true],
    ['a node port', { ports: [tcpPort(80, 31_000)] }, true],
    ['the traffic policy', { externalTrafficPolicy: 'Local' }, true],
    ['the health check port', { healthCheckNodePort: 32_000 }, true],
    ['source ranges', { sourceRanges: ['10.0.0.0/8'] }, true],
    ['the type', { type: 'ClusterIP' }, true],
    ['the class', { loadBalancerClass: 'example.com/x' }, true],
    ['a deletion', { deleting: true }, true],
    ['the uid', { uid: 'another' }, true],
    ['a finalizer that was taken away', { finalizers: [] }, true],
    ['a finalizer of others', { finalizers: [cleanupFinalizer, 'example.com/x'] }, false],
    ['its labels', { labels: { a: 'b' } }, false],
    ['its status', { ingress: [{ ip: '203.0.113.7' }] }, false],
  ];
  for (const [what, fields, expected] of changes) {
    it(`${expected ? 'come' : 'do not come'} from ${what}`, t => {
      const { put, seen } = listen(t, [web]);
      put({ ...web, ...fields });
      assert.equal(seen().length > 0, expected);
    });
  }

  it('come from new Services, not from those that are gone or somebody else\u2019s', t => {
    const { put, drop, seen } = listen(t, []);
    put(web);
    assert.deepEqual(seen(), ['web: Service added']);
    put(foreign);
    drop(web);
    assert.deepEqual(seen(), []);
  });

  const all = ['web', 'selecting'];
  const nodeChanges: readonly (readonly [string, Partial<KubeNode>, readonly string[]])[] = [
    ['its provider ID', { providerID: 'hcloud://9' }, all],
    ['an autoscaler that takes it', { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] }, all],
    ['the exclude label', { labels: { [excludeLabel]: '' } }, all],
    ['a cordon', { unschedulable: true }, all],
    ['its deletion', { deleting: true }, all],
    ['its InternalIP', { addresses: [{ type: 'InternalIP', address: '10.9.9.9' }] }, all],
    ['#519: a label, for Services that select by labels', { labels: { pool: 'a' } }, ['selecting']],
    ['its readiness', { ready: { status: 'False', reason: 'x' } }, []],
    [
      'a taint that says nothing of targets',
      { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
      [],
    ],
    ['an ExternalIP', { addresses: [...routedNode(1).addresses, { type: 'ExternalIP', address: '1.2.3.4' }] }, []],
  ];
  for (const [what, fields, expected] of nodeChanges) {
    it(`${expected.length > 0 ? 'come' : 'do not come'} from a node: ${what}`, t => {
      const { nodes, seen } = listen(t);
      nodes.put(routedNode(1, fields));
      assert.deepEqual(
        seen(),
        expected.map(name => `${name}: node updated`),
      );
    });
  }

  it('come from nodes that join and go, not from those there are at the start', t => {
    const { nodes, seen } = listen(t, [web]);
    nodes.put(routedNode(2));
    assert.deepEqual(seen(), ['web: node added']);
    nodes.drop('w2');
    assert.deepEqual(seen(), ['web: node deleted']);
  });

  it('come from servers of nodes that can be reached otherwise, not from other servers or a first list', t => {
    const { list, seen } = listen(t, [web]);
    list(server(1), server(5));
    list(server(1), server(5, { name: 'x' }), server(6));
    assert.deepEqual(seen(), []);
    for (const changed of [
      server(1, { privateNets: [] }),
      server(1, { privateNets: [{ network: networkID, ip: '10.0.1.99', aliasIPs: [] }] }),
      server(1, { ipv4: undefined }),
    ]) {
      list(changed);
      assert.deepEqual(seen(), ['web: servers of nodes changed']);
    }
    list();
    assert.deepEqual(seen(), ['web: servers of nodes changed']);
  });

  it('come to all for the drift check, behind everything else', t => {
    const { drift, seen } = listen(t);
    drift();
    assert.deepEqual(seen(), ['web: drift check -1', 'selecting: drift check -1']);
  });

  it('do not come from nodes nobody could reach anyway', t => {
    const { list, seen } = listen(t, [web], [node('w9')]);
    list(server(1));
    list(server(2));
    assert.deepEqual(seen(), []);
  });
});
