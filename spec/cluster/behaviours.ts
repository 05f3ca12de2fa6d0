import assert from 'node:assert/strict';
import type { Cluster } from '../support/cluster.ts';
import { JSON_PATCH, type KubeAnswer, type KubeObject, MERGE_PATCH, STRATEGIC_PATCH } from '../support/kube-client.ts';

/** One thing the Kubernetes API does, that our code or our specs rely on. It must hold for the real and for the embedded API. */
export interface Behaviour {
  readonly name: string;
  run(cluster: Cluster): Promise<void>;
}

const NODES = '/api/v1/nodes';
const SERVICES = '/api/v1/namespaces/default/services';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
const EVENTS = '/api/v1/namespaces/default/events';

let counter = 0;
/** A name that no other behaviour uses. */
const fresh = (): string => {
  counter += 1;
  return `c${counter}`;
};

const newNode = async (
  { client }: Cluster,
  extra: object = {},
  metadata: object = {},
): Promise<{ path: string; name: string; node: KubeObject }> => {
  const name = fresh();
  const node = await client.must('POST', NODES, { metadata: { name, ...metadata }, ...extra });
  return { path: `${NODES}/${name}`, name, node };
};

const newService = async (
  { client }: Cluster,
  spec: object = {},
  metadata: object = {},
): Promise<{ path: string; name: string; service: KubeObject }> => {
  const name = fresh();
  const service = await client.must('POST', SERVICES, {
    metadata: { name, ...metadata },
    spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
  });
  return { path: `${SERVICES}/${name}`, name, service };
};

const refused = (answer: KubeAnswer, status: number, reason: string, message: RegExp): void => {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.body.kind, 'Status');
  assert.equal(answer.body.reason, reason, answer.text);
  assert.equal(answer.body.code, status);
  assert.match(answer.body.message ?? '', message);
};

const versionNow = async ({ client }: Cluster, collection = NODES): Promise<string> =>
  (await client.must('GET', collection)).metadata.resourceVersion;

const patching: Behaviour[] = [
  {
    name: 'a merge patch sets, keeps and removes',
    run: async cluster => {
      const { path } = await newNode(cluster, {}, { labels: { a: '1', b: '2' } });
      const node = await cluster.client.must('PATCH', path, { metadata: { labels: { b: null, c: '3' } } }, MERGE_PATCH);
      assert.deepEqual(node.metadata.labels, { a: '1', c: '3' });
    },
  },
  {
    name: 'a JSON patch applies all operations or none',
    run: async cluster => {
      const { path } = await newNode(cluster, {}, { annotations: { 'a/b': '1' } });
      const node = await cluster.client.must(
        'PATCH',
        path,
        [
          { op: 'test', path: '/metadata/annotations/a~1b', value: '1' },
          { op: 'move', from: '/metadata/annotations/a~1b', path: '/metadata/annotations/c' },
          { op: 'copy', from: '/metadata/annotations/c', path: '/metadata/annotations/d' },
          { op: 'replace', path: '/metadata/annotations/d', value: '2' },
          { op: 'add', path: '/spec/taints/-', value: { key: 'k', effect: 'NoExecute' } },
        ],
        JSON_PATCH,
      );
      assert.deepEqual(node.metadata.annotations, { c: '1', d: '2' });
      assert.deepEqual(
        (node.spec.taints as { key: string }[]).map(taint => taint.key),
        ['node.kubernetes.io/not-ready', 'k'],
      );
      const failed = await cluster.client.send(
        'PATCH',
        path,
        [
          { op: 'remove', path: '/metadata/annotations/c' },
          { op: 'remove', path: '/metadata/annotations/missing' },
        ],
        JSON_PATCH,
      );
      refused(failed, 422, 'Invalid', /server rejected our request/);
      assert.deepEqual((await cluster.client.must('GET', path)).metadata.annotations, { c: '1', d: '2' });
    },
  },
  {
    name: 'a JSON patch whose test fails is refused with 422 and changes nothing',
    run: async cluster => {
      const { path, node } = await newNode(cluster);
      const answer = await cluster.client.send(
        'PATCH',
        path,
        [
          { op: 'test', path: '/metadata/uid', value: 'another' },
          { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
        ],
        JSON_PATCH,
      );
      refused(answer, 422, 'Invalid', /^the server rejected our request due to an error in our request$/);
      assert.equal((await cluster.client.must('GET', path)).metadata.resourceVersion, node.metadata.resourceVersion);
    },
  },
  {
    name: 'a JSON patch that adds below a missing parent is refused',
    run: async cluster => {
      const { path } = await newNode(cluster);
      const patch = [{ op: 'add', path: '/metadata/annotations/a', value: 'b' }];
      refused(await cluster.client.send('PATCH', path, patch, JSON_PATCH), 422, 'Invalid', /rejected our request/);
    },
  },
  {
    name: 'a strategic patch merges conditions and addresses by type; new elements come first',
    run: async cluster => {
      const { path } = await newNode(cluster, { status: { addresses: [{ type: 'Hostname', address: 'h' }] } });
      const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady' };
      await cluster.client.must('PATCH', `${path}/status`, { status: { conditions: [ready] } }, STRATEGIC_PATCH);
      const status = {
        conditions: [{ type: 'NetworkUnavailable', status: 'False' }],
        addresses: [{ type: 'InternalIP', address: '10.0.0.2' }],
      };
      const node = await cluster.client.must('PATCH', `${path}/status`, { status }, STRATEGIC_PATCH);
      const conditions = node.status.conditions as { type: string; status: string; lastTransitionTime: null }[];
      assert.deepEqual(
        conditions.map(item => [item.type, item.status]),
        [
          ['NetworkUnavailable', 'False'],
          ['Ready', 'True'],
        ],
      );
      assert.equal(conditions[0]?.lastTransitionTime, null);
      assert.deepEqual(node.status.addresses, [
        { type: 'InternalIP', address: '10.0.0.2' },
        { type: 'Hostname', address: 'h' },
      ]);
    },
  },
  {
    name: 'two addresses of one type need $patch: replace; without it only the first is changed',
    run: async cluster => {
      const { path } = await newNode(cluster);
      const both = [
        { type: 'InternalIP', address: '10.0.0.4' },
        { type: 'InternalIP', address: 'fd00::1' },
        { type: 'Hostname', address: 'h' },
      ];
      const replaced = await cluster.client.must(
        'PATCH',
        `${path}/status`,
        { status: { addresses: [{ $patch: 'replace' }, ...both] } },
        STRATEGIC_PATCH,
      );
      assert.deepEqual(replaced.status.addresses, both);
      const merged = await cluster.client.must(
        'PATCH',
        `${path}/status`,
        { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.9' }] } },
        STRATEGIC_PATCH,
      );
      assert.deepEqual(merged.status.addresses, [{ type: 'InternalIP', address: '10.0.0.9' }, both[1], both[2]]);
    },
  },
  {
    name: '$patch: delete removes every element with the key',
    run: async cluster => {
      const addresses = [
        { type: 'InternalIP', address: '10.0.0.4' },
        { type: 'InternalIP', address: 'fd00::1' },
        { type: 'Hostname', address: 'h' },
      ];
      const { path } = await newNode(cluster, { status: { addresses } });
      const node = await cluster.client.must(
        'PATCH',
        `${path}/status`,
        { status: { addresses: [{ $patch: 'delete', type: 'InternalIP' }] } },
        STRATEGIC_PATCH,
      );
      assert.deepEqual(node.status.addresses, [{ type: 'Hostname', address: 'h' }]);
    },
  },
  {
    name: '$setElementOrder decides the order',
    run: async cluster => {
      const { path } = await newNode(cluster, {
        status: {
          conditions: [
            { type: 'A', status: 'True' },
            { type: 'B', status: 'True' },
          ],
        },
      });
      const status = {
        '$setElementOrder/conditions': [{ type: 'B' }, { type: 'C' }, { type: 'A' }],
        conditions: [{ type: 'C', status: 'True' }],
      };
      const node = await cluster.client.must('PATCH', `${path}/status`, { status }, STRATEGIC_PATCH);
      assert.deepEqual(
        (node.status.conditions as { type: string }[]).map(item => item.type),
        ['B', 'C', 'A'],
      );
    },
  },
  {
    name: 'taints are atomic in a strategic patch',
    run: async cluster => {
      const { path } = await newNode(cluster, { spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] } });
      const taints = [{ key: 'a', effect: 'NoSchedule' }];
      const node = await cluster.client.must('PATCH', path, { spec: { taints } }, STRATEGIC_PATCH);
      assert.deepEqual(node.spec.taints, taints);
      const none = await cluster.client.must('PATCH', path, { spec: { taints: [] } }, STRATEGIC_PATCH);
      assert.equal(none.spec.taints, undefined);
    },
  },
  {
    name: 'finalizers are a set in a strategic patch and a list in a merge patch',
    run: async cluster => {
      const { path } = await newService(cluster, {}, { finalizers: ['a.b/c'] });
      const merged = await cluster.client.must('PATCH', path, { metadata: { finalizers: ['d.e/f'] } }, STRATEGIC_PATCH);
      assert.deepEqual([...(merged.metadata.finalizers ?? [])].sort(), ['a.b/c', 'd.e/f']);
      const removed = await cluster.client.must(
        'PATCH',
        path,
        { metadata: { '$deleteFromPrimitiveList/finalizers': ['a.b/c'] } },
        STRATEGIC_PATCH,
      );
      assert.deepEqual(removed.metadata.finalizers, ['d.e/f']);
      const replaced = await cluster.client.must('PATCH', path, { metadata: { finalizers: ['g.h/i'] } }, MERGE_PATCH);
      assert.deepEqual(replaced.metadata.finalizers, ['g.h/i']);
      await cluster.client.must('PATCH', path, { metadata: { finalizers: null } }, MERGE_PATCH);
    },
  },
  {
    name: 'a patch that changes nothing keeps the resourceVersion',
    run: async cluster => {
      const { path, node } = await newNode(cluster, {}, { labels: { a: '1' } });
      const same = await cluster.client.must('PATCH', path, { metadata: { labels: { a: '1' } } }, STRATEGIC_PATCH);
      assert.equal(same.metadata.resourceVersion, node.metadata.resourceVersion);
    },
  },
  {
    name: 'a patch of the wrong media type or shape is refused',
    run: async cluster => {
      const { path } = await newNode(cluster);
      refused(
        await cluster.client.send('PATCH', path, {}, 'application/json'),
        415,
        'UnsupportedMediaType',
        /Unsupported Media Type/,
      );
      refused(await cluster.client.send('PATCH', path, '{bad', MERGE_PATCH), 400, 'BadRequest', /invalid JSON patch/);
      refused(await cluster.client.send('PATCH', path, [], MERGE_PATCH), 400, 'BadRequest', /cannot unmarshal array/);
      refused(await cluster.client.send('PATCH', path, {}, JSON_PATCH), 400, 'BadRequest', /cannot unmarshal object/);
      refused(
        await cluster.client.send('PATCH', path, { metadata: { name: 'other' } }, MERGE_PATCH),
        400,
        'BadRequest',
        /does not match the name/,
      );
      refused(
        await cluster.client.send('PATCH', path, { metadata: { labels: { a: 1 } } }, MERGE_PATCH),
        422,
        'Invalid',
        /patch: Invalid value/,
      );
      refused(
        await cluster.client.send('PATCH', `${NODES}/nobody`, {}, MERGE_PATCH),
        404,
        'NotFound',
        /^nodes "nobody" not found$/,
      );
    },
  },
];

const locking: Behaviour[] = [
  {
    name: 'PUT with an old resourceVersion conflicts, without one it overwrites',
    run: async cluster => {
      const { path, name } = await newNode(cluster);
      const stale = await cluster.client.send('PUT', path, { metadata: { name, resourceVersion: '1' } });
      refused(
        stale,
        409,
        'Conflict',
        /^Operation cannot be fulfilled on nodes "\w+": the object has been modified; please apply/,
      );
      const node = await cluster.client.must('PUT', path, { metadata: { name, labels: { a: '1' } } });
      assert.deepEqual(node.metadata.labels, { a: '1' });
    },
  },
  {
    name: 'PUT with a foreign uid conflicts',
    run: async cluster => {
      const { path, name } = await newNode(cluster);
      refused(
        await cluster.client.send('PUT', path, { metadata: { name, uid: 'x' } }),
        409,
        'Conflict',
        /UID in precondition: x, UID in object meta/,
      );
    },
  },
  {
    name: 'a resourceVersion in a patch is an optimistic lock, in the body and by the status door too',
    run: async cluster => {
      const { path, node } = await newNode(cluster);
      const old = node.metadata.resourceVersion;
      const next = await cluster.client.must(
        'PATCH',
        path,
        { metadata: { resourceVersion: old, labels: { a: '1' } } },
        MERGE_PATCH,
      );
      assert.notEqual(next.metadata.resourceVersion, old);
      for (const [target, type] of [
        [path, MERGE_PATCH],
        [path, STRATEGIC_PATCH],
        [`${path}/status`, STRATEGIC_PATCH],
      ] as const) {
        refused(
          await cluster.client.send('PATCH', target, { metadata: { resourceVersion: old, labels: { a: '2' } } }, type),
          409,
          'Conflict',
          /has been modified/,
        );
      }
      const replaced = await cluster.client.send(
        'PATCH',
        path,
        [{ op: 'replace', path: '/metadata/resourceVersion', value: old }],
        JSON_PATCH,
      );
      refused(replaced, 409, 'Conflict', /has been modified/);
    },
  },
  {
    name: 'a foreign uid in a patch is refused with 422, not 409',
    run: async cluster => {
      const { path, node } = await newNode(cluster);
      const own = await cluster.client.must(
        'PATCH',
        path,
        { metadata: { uid: node.metadata.uid, labels: { a: '1' } } },
        STRATEGIC_PATCH,
      );
      assert.deepEqual(own.metadata.labels, { a: '1' });
      for (const [target, type] of [
        [path, MERGE_PATCH],
        [path, STRATEGIC_PATCH],
        [`${path}/status`, STRATEGIC_PATCH],
        [`${path}/status`, MERGE_PATCH],
      ] as const) {
        const answer = await cluster.client.send(
          'PATCH',
          target,
          { metadata: { uid: 'another', labels: { a: '2' } } },
          type,
        );
        refused(answer, 422, 'Invalid', /metadata\.uid: Invalid value: "another": field is immutable/);
      }
    },
  },
  {
    name: 'DELETE obeys preconditions on uid and resourceVersion',
    run: async cluster => {
      const { path, node } = await newNode(cluster);
      refused(
        await cluster.client.send('DELETE', path, { preconditions: { uid: 'x' } }),
        409,
        'Conflict',
        /on Node "\w+": the UID in the precondition \(x\) does not match the UID in record/,
      );
      refused(
        await cluster.client.send('DELETE', path, { preconditions: { resourceVersion: '1' } }),
        409,
        'Conflict',
        /the ResourceVersion in the precondition \(1\)/,
      );
      const { uid } = node.metadata;
      const answer = await cluster.client.must('DELETE', path, { preconditions: { uid } });
      assert.equal(answer.kind, 'Status');
      assert.deepEqual(answer.details, { name: node.metadata.name, kind: 'nodes', uid });
      refused(await cluster.client.send('GET', path), 404, 'NotFound', /not found/);
      refused(await cluster.client.send('DELETE', path, { preconditions: { uid } }), 404, 'NotFound', /not found/);
    },
  },
  {
    name: 'an object with finalizers waits for their removal, and accepts no new ones meanwhile',
    run: async cluster => {
      const { path } = await newService(cluster, {}, { finalizers: ['a.b/c'] });
      const deleting = await cluster.client.must('DELETE', path);
      assert.equal(deleting.kind, 'Service');
      assert.ok(deleting.metadata.deletionTimestamp);
      assert.equal(
        (await cluster.client.must('DELETE', path)).metadata.resourceVersion,
        deleting.metadata.resourceVersion,
      );
      const more = await cluster.client.send(
        'PATCH',
        path,
        { metadata: { finalizers: ['a.b/c', 'd.e/f'] } },
        MERGE_PATCH,
      );
      refused(more, 422, 'Invalid', /no new finalizers can be added if the object is being deleted/);
      const last = await cluster.client.send('PATCH', path, { metadata: { finalizers: null } }, MERGE_PATCH);
      assert.equal(last.status, 200);
      assert.equal((await cluster.client.send('GET', path)).status, 404);
    },
  },
];

const statusDoor: Behaviour[] = [
  {
    name: 'the main door ignores status, the status door ignores spec but takes metadata',
    run: async cluster => {
      const { path } = await newService(cluster, { selector: { a: 'b' } });
      const main = await cluster.client.must(
        'PATCH',
        path,
        { status: { loadBalancer: { ingress: [{ ip: '9.9.9.9' }] } } },
        MERGE_PATCH,
      );
      assert.deepEqual(main.status, { loadBalancer: {} });
      const patch = {
        metadata: { labels: { l: '1' }, annotations: { n: '1' }, finalizers: ['a.b/c'] },
        spec: { selector: { c: 'd' } },
        status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } },
      };
      const status = await cluster.client.must('PATCH', `${path}/status`, patch, MERGE_PATCH);
      assert.deepEqual(status.spec.selector, { a: 'b' });
      assert.deepEqual(status.status, { loadBalancer: { ingress: [{ ip: '1.2.3.4', ipMode: 'VIP' }] } });
      assert.deepEqual(
        [status.metadata.labels, status.metadata.annotations, status.metadata.finalizers],
        [{ l: '1' }, { n: '1' }, ['a.b/c']],
      );
      await cluster.client.must('PATCH', path, { metadata: { finalizers: null } }, MERGE_PATCH);
    },
  },
  {
    name: 'PUT of a status replaces the status and keeps the spec',
    run: async cluster => {
      const { path, name } = await newNode(cluster, { spec: { providerID: 'hcloud://1' } });
      const node = await cluster.client.must('PUT', `${path}/status`, {
        metadata: { name },
        spec: { unschedulable: true },
        status: { phase: 'Running' },
      });
      assert.equal(node.spec.providerID, 'hcloud://1');
      assert.equal(node.spec.unschedulable, undefined);
      assert.equal(node.status.phase, 'Running');
    },
  },
  {
    name: 'the ingress list of a Service is replaced as a whole, checked, and emptied by null',
    run: async cluster => {
      const { path } = await newService(cluster);
      const set = (loadBalancer: unknown) =>
        cluster.client.send('PATCH', `${path}/status`, { status: { loadBalancer } }, STRATEGIC_PATCH);
      await set({ ingress: [{ ip: '1.2.3.4' }, { ip: '::1', ipMode: 'Proxy' }] });
      const named = await set({ ingress: [{ hostname: 'lb.example' }] });
      assert.deepEqual(named.body.status, { loadBalancer: { ingress: [{ hostname: 'lb.example' }] } });
      refused(
        await set({ ingress: [{ ip: 'nope' }] }),
        422,
        'Invalid',
        /status\.loadBalancer\.ingress\[0\]\.ip: Invalid value: "nope"/,
      );
      assert.deepEqual((await set(null)).body.status, { loadBalancer: {} });
    },
  },
];

const fields: Behaviour[] = [
  {
    name: 'a new Node gets the not-ready taint, empty node info and no kind of generation',
    run: async cluster => {
      const { node } = await newNode(cluster);
      assert.deepEqual(node.spec, { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] });
      assert.equal((node.status.nodeInfo as { kubeletVersion: string }).kubeletVersion, '');
      assert.ok(!('generation' in node.metadata));
    },
  },
  {
    name: 'podCIDR and podCIDRs follow each other and stay once set',
    run: async cluster => {
      const { path } = await newNode(cluster);
      const node = await cluster.client.must('PATCH', path, { spec: { podCIDR: '10.244.1.0/24' } }, MERGE_PATCH);
      assert.deepEqual([node.spec.podCIDR, node.spec.podCIDRs], ['10.244.1.0/24', ['10.244.1.0/24']]);
      refused(
        await cluster.client.send('PATCH', path, { spec: { podCIDR: '10.244.2.0/24' } }, MERGE_PATCH),
        422,
        'Invalid',
        /may not change podCIDR/,
      );
      const dual = await newNode(cluster, { spec: { podCIDRs: ['10.244.3.0/24', 'fd00:3::/64'] } });
      assert.equal(dual.node.spec.podCIDR, '10.244.3.0/24');
    },
  },
  {
    name: 'a write that requires the version of a Node is refused once an annotation has moved that on',
    run: async cluster => {
      const { path, node } = await newNode(cluster);
      const { uid, resourceVersion } = node.metadata;
      const fence = (of: string) => ({ metadata: { uid: of, annotations: { fence: resourceVersion } } });
      const moved = await cluster.client.must('PATCH', path, fence(uid), MERGE_PATCH);
      assert.notEqual(moved.metadata.resourceVersion, resourceVersion);
      const podCIDR = '10.244.9.0/24';
      const allocate = (version: string) => [
        { op: 'test', path: '/metadata/resourceVersion', value: version },
        { op: 'add', path: '/spec/podCIDR', value: podCIDR },
        { op: 'add', path: '/spec/podCIDRs', value: [podCIDR] },
        { op: 'remove', path: '/metadata/annotations/fence' },
      ];
      const late = await cluster.client.send('PATCH', path, allocate(resourceVersion), JSON_PATCH);
      assert.equal(late.status, 422);
      const given = await cluster.client.must('PATCH', path, allocate(moved.metadata.resourceVersion), JSON_PATCH);
      assert.deepEqual([given.spec.podCIDRs, given.metadata.annotations?.fence], [[podCIDR], undefined]);
      // Of another Node of the same name it says so.
      const other = await cluster.client.send(
        'PATCH',
        path,
        fence('4f3e8f5c-0000-4000-8000-000000000000'),
        MERGE_PATCH,
      );
      assert.equal(other.status, 422);
      assert.match(JSON.stringify(other.body), /"field":"metadata.uid"/);
    },
  },
  {
    name: 'providerID can be set once',
    run: async cluster => {
      const { path } = await newNode(cluster);
      await cluster.client.must('PATCH', path, { spec: { providerID: 'hcloud://1' } }, STRATEGIC_PATCH);
      refused(
        await cluster.client.send('PATCH', path, { spec: { providerID: 'hcloud://2' } }, STRATEGIC_PATCH),
        422,
        'Invalid',
        /spec\.providerID: Invalid value: .*cannot be modified once set/,
      );
      await cluster.client.must('PATCH', path, { spec: { providerID: 'hcloud://1' } }, STRATEGIC_PATCH);
    },
  },
  {
    name: 'labels, taints and addresses are checked',
    run: async cluster => {
      const { path } = await newNode(cluster);
      const patch = (body: object, door = path) => cluster.client.send('PATCH', door, body, STRATEGIC_PATCH);
      refused(
        await patch({ metadata: { labels: { 'a b': '' } } }),
        422,
        'Invalid',
        /metadata\.labels: Invalid value: "a b": name part must consist of/,
      );
      refused(
        await patch({ metadata: { labels: { a: 'b c' } } }),
        422,
        'Invalid',
        /metadata\.labels: Invalid value: "b c": a valid label must be/,
      );
      refused(
        await patch({ spec: { taints: [{ key: 'a', effect: 'Never' }] } }),
        422,
        'Invalid',
        /metadata\.taints\[0\]\.effect: Unsupported value: "Never": supported values/,
      );
      const taint = { key: 'a', effect: 'NoSchedule' };
      refused(
        await patch({ spec: { taints: [taint, taint] } }),
        422,
        'Invalid',
        /metadata\.taints\[1\]: Duplicate value/,
      );
      const address = { type: 'InternalIP', address: '10.0.0.1' };
      refused(
        await patch({ status: { addresses: [{ $patch: 'replace' }, address, address] } }, `${path}/status`),
        422,
        'Invalid',
        /status\.addresses\[1\]: Duplicate value/,
      );
    },
  },
  {
    name: 'times in a Node may have a fraction, which is cut off',
    run: async cluster => {
      const { path } = await newNode(cluster);
      const patch = (lastTransitionTime: string) =>
        cluster.client.send(
          'PATCH',
          `${path}/status`,
          { status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] } },
          STRATEGIC_PATCH,
        );
      const node = (await patch('2026-11-29T14:00:00.123+01:00')).body;
      assert.equal(
        (node.status.conditions as { lastTransitionTime: string }[])[0]?.lastTransitionTime,
        '2026-11-29T13:00:00Z',
      );
      refused(await patch('yesterday'), 422, 'Invalid', /cannot parse "yesterday" as "2006"/);
    },
  },
  {
    name: 'lease times need exactly six digits after the point',
    run: async cluster => {
      const post = (renewTime: string) =>
        cluster.client.send('POST', LEASES, { metadata: { name: fresh() }, spec: { renewTime } });
      assert.equal((await post('2026-11-29T14:00:00.123456Z')).body.spec.renewTime, '2026-11-29T14:00:00.123456Z');
      assert.equal((await post('2026-11-29T14:00:00.000000+01:00')).body.spec.renewTime, '2026-11-29T13:00:00.000000Z');
      refused(
        await post('2026-11-29T14:00:00.123Z'),
        400,
        'BadRequest',
        /^Lease in version "v1" cannot be handled as a Lease: parsing time .* cannot parse "\.123Z" as "\.000000"$/,
      );
      refused(await post('2026-11-29T14:00:00Z'), 400, 'BadRequest', /cannot parse "Z" as "\.000000"$/);
      refused(await post('2026-11-29T14:00:00.123456789Z'), 400, 'BadRequest', /cannot parse "789Z" as "Z07:00"$/);
      const name = fresh();
      await cluster.client.must('POST', LEASES, { metadata: { name } });
      refused(
        await cluster.client.send(
          'PATCH',
          `${LEASES}/${name}`,
          { spec: { renewTime: '2026-11-29T14:00:00.123Z' } },
          MERGE_PATCH,
        ),
        422,
        'Invalid',
        /cannot parse "\.123Z"/,
      );
    },
  },
  {
    name: 'PUT of a Lease creates a missing one and needs the resourceVersion of a present one',
    run: async cluster => {
      const name = fresh();
      const path = `${LEASES}/${name}`;
      const created = await cluster.client.send('PUT', path, { metadata: { name }, spec: { holderIdentity: 'a' } });
      assert.equal(created.status, 201);
      refused(
        await cluster.client.send('PUT', path, { metadata: { name }, spec: { holderIdentity: 'b' } }),
        422,
        'Invalid',
        /metadata\.resourceVersion: Invalid value: 0: must be specified for an update/,
      );
      refused(
        await cluster.client.send('PUT', path, { metadata: { name, resourceVersion: '1' } }),
        409,
        'Conflict',
        /^Operation cannot be fulfilled on leases\.coordination\.k8s\.io/,
      );
      const { resourceVersion } = created.body.metadata;
      assert.equal(
        (await cluster.client.send('PUT', path, { metadata: { name, resourceVersion }, spec: { holderIdentity: 'b' } }))
          .status,
        200,
      );
    },
  },
  {
    name: 'a Lease with a duration of 0 or a wrong type is refused',
    run: async cluster => {
      const post = (spec: object) => cluster.client.send('POST', LEASES, { metadata: { name: fresh() }, spec });
      refused(
        await post({ leaseDurationSeconds: 0, leaseTransitions: -1 }),
        422,
        'Invalid',
        /is invalid: \[spec\.leaseDurationSeconds: Invalid value: 0: must be greater than 0, spec\.leaseTransitions/,
      );
      refused(
        await post({ leaseDurationSeconds: '15' }),
        400,
        'BadRequest',
        /cannot unmarshal string into Go struct field LeaseSpec\.spec\.leaseDurationSeconds of type int32/,
      );
    },
  },
  {
    name: 'an Event about a Node belongs into namespace default; one with eventTime must be complete',
    run: async cluster => {
      const event = () => ({
        metadata: { name: fresh() },
        involvedObject: { kind: 'Node', name: 'n' },
        reason: 'R',
        type: 'Normal',
      });
      const plain = await cluster.client.must('POST', EVENTS, event());
      assert.equal((plain as unknown as { eventTime: null }).eventTime, null);
      refused(
        await cluster.client.send('POST', '/api/v1/namespaces/kube-system/events', event()),
        422,
        'Invalid',
        /involvedObject\.namespace: Invalid value: "": does not match event\.namespace/,
      );
      refused(
        await cluster.client.send('POST', EVENTS, { ...event(), eventTime: '2026-11-29T14:00:00.000000Z' }),
        422,
        'Invalid',
        /reportingComponent: Required value/,
      );
      refused(
        await cluster.client.send('POST', EVENTS, { ...event(), eventTime: '2026-11-29T14:00:00Z' }),
        400,
        'BadRequest',
        /cannot parse "Z"/,
      );
    },
  },
  {
    name: 'a Service gets addresses, ports and policies, and keeps them over updates',
    run: async cluster => {
      const { path, name, service } = await newService(cluster, { externalTrafficPolicy: 'Local' });
      const spec = service.spec as Record<string, unknown> & { ports: { nodePort: number }[] };
      assert.deepEqual(spec, {
        ports: [{ protocol: 'TCP', port: 80, targetPort: 80, nodePort: spec.ports[0]?.nodePort }],
        clusterIP: spec.clusterIP,
        clusterIPs: [spec.clusterIP],
        type: 'LoadBalancer',
        sessionAffinity: 'None',
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: spec.healthCheckNodePort,
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        allocateLoadBalancerNodePorts: true,
        internalTrafficPolicy: 'Cluster',
      });
      assert.ok(Number(spec.ports[0]?.nodePort) >= 30000 && Number(spec.healthCheckNodePort) >= 30000);
      const put = {
        metadata: { name },
        spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [{ port: 80 }] },
      };
      assert.deepEqual((await cluster.client.must('PUT', path, put)).spec, spec);
    },
  },
  {
    name: 'a Service that stops being a load balancer loses node ports, policy and ingress',
    run: async cluster => {
      const { path } = await newService(cluster);
      await cluster.client.must(
        'PATCH',
        `${path}/status`,
        { status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } } },
        MERGE_PATCH,
      );
      const service = await cluster.client.must('PATCH', path, { spec: { type: 'ClusterIP' } }, STRATEGIC_PATCH);
      assert.deepEqual(service.spec.ports, [{ protocol: 'TCP', port: 80, targetPort: 80 }]);
      assert.equal(service.spec.externalTrafficPolicy, undefined);
      assert.equal(service.spec.allocateLoadBalancerNodePorts, undefined);
      assert.deepEqual(service.status, { loadBalancer: {} });
    },
  },
  {
    name: 'Service ports merge by number in a strategic patch and need names when there are several',
    run: async cluster => {
      const { path } = await newService(cluster);
      const two = {
        spec: {
          ports: [
            { port: 80, name: 'a' },
            { port: 81, name: 'b' },
          ],
        },
      };
      const service = await cluster.client.must('PATCH', path, two, STRATEGIC_PATCH);
      assert.deepEqual(
        (service.spec.ports as { port: number; name: string }[]).map(port => [port.port, port.name]),
        [
          [80, 'a'],
          [81, 'b'],
        ],
      );
      const one = await cluster.client.must(
        'PATCH',
        path,
        { spec: { ports: [{ port: 80, $patch: 'delete' }] } },
        STRATEGIC_PATCH,
      );
      assert.equal((one.spec.ports as unknown[]).length, 1);
      refused(
        await cluster.client.send('PATCH', path, { spec: { ports: [{ port: 82 }] } }, STRATEGIC_PATCH),
        422,
        'Invalid',
        /spec\.ports\[\d\]\.name: Required value/,
      );
    },
  },
  {
    name: 'loadBalancerClass cannot be changed while the type stays',
    run: async cluster => {
      const { path } = await newService(cluster, { loadBalancerClass: 'a.b/c' });
      refused(
        await cluster.client.send('PATCH', path, { spec: { loadBalancerClass: 'a.b/d' } }, MERGE_PATCH),
        422,
        'Invalid',
        /spec\.loadBalancerClass: Invalid value: .*may not change once set/,
      );
    },
  },
  {
    name: 'creation is refused for a bad or taken name, a wrong kind, a set version, and a missing namespace',
    run: async cluster => {
      const post = (path: string, body: unknown) => cluster.client.send('POST', path, body);
      const { name } = await newNode(cluster);
      refused(await post(NODES, { metadata: { name } }), 409, 'AlreadyExists', /^nodes "\w+" already exists$/);
      refused(
        await post(NODES, { metadata: { name: 'N_1' } }),
        422,
        'Invalid',
        /^Node "N_1" is invalid: metadata\.name: Invalid value: "N_1": a lowercase RFC 1123 subdomain/,
      );
      refused(
        await post(NODES, { metadata: {} }),
        422,
        'Invalid',
        /metadata\.name: Required value: name or generateName is required/,
      );
      refused(
        await post(NODES, { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'x' } }),
        400,
        'BadRequest',
        /^Pod in version "v1" cannot be handled as a Node/,
      );
      refused(await post(NODES, '{bad'), 400, 'BadRequest', /couldn't get version\/kind; json parse error/);
      assert.equal((await post(NODES, { metadata: { name: 'x', resourceVersion: '5' } })).status, 500);
      refused(
        await post('/api/v1/namespaces/nowhere/services', { metadata: { name: 'x' }, spec: { ports: [{ port: 1 }] } }),
        404,
        'NotFound',
        /^namespaces "nowhere" not found$/,
      );
      refused(
        await post(SERVICES, { metadata: { name: 'x', namespace: 'kube-system' } }),
        400,
        'BadRequest',
        /namespace of the provided object does not match/,
      );
    },
  },
];

const reading: Behaviour[] = [
  {
    name: 'a list pages with limit and continue over one state, and its items carry no kind',
    run: async cluster => {
      const label = fresh();
      const names: string[] = [];
      for (let i = 0; i < 5; i++) names.push((await newNode(cluster, {}, { labels: { page: label } })).name);
      names.sort();
      const get = (query: string) => cluster.client.must('GET', `${NODES}?labelSelector=page%3D${label}&${query}`);
      const first = await get('limit=2');
      assert.ok(first.metadata.continue);
      assert.equal(first.metadata.remainingItemCount, undefined);
      await cluster.client.must('DELETE', `${NODES}/${names[4]}`);
      const second = await get(`limit=2&continue=${encodeURIComponent(first.metadata.continue ?? '')}`);
      const third = await get(`limit=2&continue=${encodeURIComponent(second.metadata.continue ?? '')}`);
      assert.deepEqual(
        [first, second, third].flatMap(page => page.items.map(item => item.metadata.name)),
        names,
      );
      assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
      assert.equal(third.metadata.continue, undefined);
      assert.equal(first.kind, 'NodeList');
      assert.ok(first.items.every(item => item.kind === undefined));
    },
  },
  {
    name: 'a page without selectors tells how many remain; at resourceVersion 0 the limit is ignored',
    run: async cluster => {
      await newNode(cluster);
      await newNode(cluster);
      const all = await cluster.client.must('GET', NODES);
      const page = await cluster.client.must('GET', `${NODES}?limit=1`);
      assert.equal(page.metadata.remainingItemCount, all.items.length - 1);
      const cached = await cluster.client.must('GET', `${NODES}?limit=1&resourceVersion=0`);
      assert.ok(cached.items.length > 1);
    },
  },
  {
    name: 'field selectors work for names, namespaces and the subject of events',
    run: async cluster => {
      const { name } = await newNode(cluster);
      const names = async (path: string) =>
        (await cluster.client.must('GET', path)).items.map(item => item.metadata.name);
      assert.deepEqual(await names(`${NODES}?fieldSelector=metadata.name%3D${name}`), [name]);
      const { name: service } = await newService(cluster);
      assert.deepEqual(
        await names(`/api/v1/services?fieldSelector=metadata.name%3D${service},metadata.namespace%3Ddefault`),
        [service],
      );
      assert.deepEqual(
        await names(`/api/v1/services?fieldSelector=metadata.name%3D${service},metadata.namespace%3Dkube-system`),
        [],
      );
      const event = fresh();
      await cluster.client.must('POST', EVENTS, { metadata: { name: event }, involvedObject: { kind: 'Node', name } });
      assert.deepEqual(
        await names(`/api/v1/events?fieldSelector=involvedObject.kind%3DNode,involvedObject.name%3D${name}`),
        [event],
      );
      refused(
        await cluster.client.send('GET', `${NODES}?fieldSelector=spec.foo%3D1`),
        400,
        'BadRequest',
        /^field label not supported: spec\.foo$/,
      );
    },
  },
  {
    name: 'label selectors know =, !=, in, notin, presence and absence',
    run: async cluster => {
      const group = fresh();
      const a = (await newNode(cluster, {}, { labels: { group, tier: 'a' } })).name;
      const b = (await newNode(cluster, {}, { labels: { group, tier: 'b', extra: '' } })).name;
      const select = async (selector: string) => {
        const list = await cluster.client.must(
          'GET',
          `${NODES}?labelSelector=${encodeURIComponent(`group=${group},${selector}`)}`,
        );
        return list.items.map(item => item.metadata.name).sort();
      };
      assert.deepEqual(await select('tier=a'), [a]);
      assert.deepEqual(await select('tier!=a'), [b]);
      assert.deepEqual(await select('tier in (a, b)'), [a, b].sort());
      assert.deepEqual(await select('tier notin (a)'), [b]);
      assert.deepEqual(await select('extra'), [b]);
      assert.deepEqual(await select('!extra'), [a]);
      assert.equal(
        (await cluster.client.send('GET', `${NODES}?labelSelector=${encodeURIComponent('a b')}`)).status,
        400,
      );
    },
  },
  {
    name: 'unknown paths, methods, versions and bodies are told apart',
    run: async cluster => {
      const { client } = cluster;
      refused(await client.send('GET', '/api/v1/gadgets'), 404, 'NotFound', /could not find the requested resource/);
      const { path } = await newNode(cluster);
      refused(await client.send('GET', `${path}/gadget`), 404, 'NotFound', /could not find the requested resource/);
      refused(await client.send('POST', path, {}), 405, 'MethodNotAllowed', /does not allow this method/);
      refused(await client.send('GET', `${NODES}?resourceVersion=abc`), 400, 'BadRequest', /invalid resource version/);
      refused(await client.send('GET', `${NODES}?continue=xx`), 400, 'BadRequest', /invalid continue token/);
      assert.equal((await client.send('GET', `${NODES}?limit=x`)).status, 400);
    },
  },
  {
    name: 'a version from the future is refused by a list with 504 and by a watch not at all',
    run: async cluster => {
      const list = await cluster.client.send('GET', `${NODES}?resourceVersion=99999999`);
      refused(list, 504, 'Timeout', /^Timeout: Too large resource version: 99999999, current: \d+$/);
      const watch = await cluster.client.watch(`${NODES}?watch=true&resourceVersion=99999999&timeoutSeconds=1`);
      await newNode(cluster);
      assert.equal(await watch.next(), undefined, 'silence until the server ends it');
    },
  },
  {
    name: 'a list of one name, no older than a version, shows the object at once, or says in a cause that the version is from the future',
    run: async cluster => {
      const { name, node } = await newNode(cluster);
      const list = (version: string, wanted = name) =>
        cluster.client.send(
          'GET',
          `${NODES}?fieldSelector=metadata.name%3D${wanted}&resourceVersion=${version}&resourceVersionMatch=NotOlderThan&limit=1`,
        );
      const version = await versionNow(cluster);
      const found = await list(version);
      assert.equal(found.status, 200, found.text);
      assert.deepEqual(
        found.body.items.map(item => [item.metadata.uid, item.metadata.resourceVersion]),
        [[node.metadata.uid, node.metadata.resourceVersion]],
      );
      assert.ok(Number(found.body.metadata.resourceVersion) >= Number(version));
      assert.deepEqual((await list(version, 'nobody')).body.items, []);
      const future = await list(String(Number(version) + 100_000));
      refused(future, 504, 'Timeout', /^Timeout: Too large resource version/);
      assert.deepEqual(future.body.details?.causes, [
        { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' },
      ]);
    },
  },
  {
    name: 'health and version need no token, everything else refuses a wrong one with 401 and none with 403',
    run: async cluster => {
      const { request, Agent } = await import('undici');
      const dispatcher = new Agent({ allowH2: false, connect: cluster.ca === undefined ? {} : { ca: cluster.ca } });
      const status = async (path: string, headers: Record<string, string> = {}) => {
        const answer = await request(cluster.url + path, { dispatcher, headers });
        await answer.body.dump();
        return answer.statusCode;
      };
      try {
        for (const path of ['/healthz', '/readyz', '/livez', '/version']) assert.equal(await status(path), 200, path);
        assert.equal(await status(NODES, { authorization: 'Bearer wrong' }), 401);
        assert.equal(await status(NODES), 403);
      } finally {
        await dispatcher.destroy();
      }
    },
  },
];

const watching: Behaviour[] = [
  {
    name: 'a watch from a version delivers what came after it, and ends when its time is up',
    run: async cluster => {
      const version = await versionNow(cluster);
      const { path, name } = await newNode(cluster);
      const watch = await cluster.client.watch(`${NODES}?watch=true&resourceVersion=${version}&timeoutSeconds=1`);
      await cluster.client.must('PATCH', path, { metadata: { labels: { a: '1' } } }, MERGE_PATCH);
      const last = await cluster.client.must('GET', path);
      await cluster.client.must('DELETE', path);
      const events = [await watch.next(), await watch.next(), await watch.next()];
      assert.deepEqual(
        events.map(event => [event?.type, event?.object.metadata.name]),
        [
          ['ADDED', name],
          ['MODIFIED', name],
          ['DELETED', name],
        ],
      );
      assert.ok(events.every(event => event?.object.kind === 'Node'));
      assert.deepEqual(events[2]?.object.metadata.labels, { a: '1' });
      assert.ok(
        Number(events[2]?.object.metadata.resourceVersion) > Number(last.metadata.resourceVersion),
        'a deletion has a version of its own',
      );
      assert.equal(await watch.next(), undefined);
    },
  },
  {
    name: 'a watch without a version starts with what is there',
    run: async cluster => {
      const { name } = await newNode(cluster);
      for (const version of ['', '&resourceVersion=0']) {
        const watch = await cluster.client.watch(`${NODES}?watch=1&fieldSelector=metadata.name%3D${name}${version}`);
        const event = await watch.next();
        watch.close();
        assert.deepEqual([event?.type, event?.object.metadata.name], ['ADDED', name]);
      }
    },
  },
  {
    name: 'a watch resumes at the last version seen without loss or repetition',
    run: async cluster => {
      const { path, name } = await newNode(cluster);
      const version = await versionNow(cluster);
      const url = (from: string) => `${NODES}?watch=true&fieldSelector=metadata.name%3D${name}&resourceVersion=${from}`;
      const set = (value: string) =>
        cluster.client.must('PATCH', path, { metadata: { labels: { v: value } } }, MERGE_PATCH);
      const first = await cluster.client.watch(url(version));
      await set('1');
      const seen = await first.next();
      first.close();
      await set('2');
      await set('3');
      const second = await cluster.client.watch(url(seen?.object.metadata.resourceVersion ?? ''));
      const labels = [await second.next(), await second.next()].map(event => event?.object.metadata.labels?.v);
      second.close();
      assert.deepEqual(labels, ['2', '3']);
    },
  },
  {
    name: 'an object that leaves a selector is DELETED with its last matching state, and ADDED when it comes back',
    run: async cluster => {
      const label = fresh();
      const version = await versionNow(cluster);
      const watch = await cluster.client.watch(
        `${NODES}?watch=true&labelSelector=w%3D${label}&resourceVersion=${version}`,
      );
      const { path } = await newNode(cluster, {}, { labels: { w: label } });
      await cluster.client.must('PATCH', path, { metadata: { labels: { w: 'other' } } }, MERGE_PATCH);
      await cluster.client.must('PATCH', path, { metadata: { labels: { w: label } } }, MERGE_PATCH);
      const events = [await watch.next(), await watch.next(), await watch.next()];
      watch.close();
      assert.deepEqual(
        events.map(event => [event?.type, event?.object.metadata.labels?.w]),
        [
          ['ADDED', label],
          ['DELETED', label],
          ['ADDED', label],
        ],
      );
    },
  },
  {
    name: 'a watch of one namespace sees only that one',
    run: async cluster => {
      const version = await versionNow(cluster, LEASES);
      const watch = await cluster.client.watch(
        `/apis/coordination.k8s.io/v1/namespaces/default/leases?watch=true&resourceVersion=${version}&timeoutSeconds=1`,
      );
      await cluster.client.must('POST', LEASES, { metadata: { name: fresh() } });
      assert.equal(await watch.next(), undefined);
    },
  },
  {
    name: 'a bookmark comes shortly before the end of a watch that asked for bookmarks, with the current version',
    run: async cluster => {
      const version = await versionNow(cluster);
      const watch = await cluster.client.watch(
        `${NODES}?watch=true&resourceVersion=${version}&allowWatchBookmarks=true&timeoutSeconds=5`,
      );
      const { node } = await newNode(cluster);
      assert.equal((await watch.next())?.type, 'ADDED');
      const bookmark = await watch.next(8000);
      watch.close();
      assert.equal(bookmark?.type, 'BOOKMARK');
      assert.equal(bookmark?.object.kind, 'Node');
      assert.equal(bookmark?.object.metadata.name, undefined);
      assert.ok(Number(bookmark?.object.metadata.resourceVersion) >= Number(node.metadata.resourceVersion));
    },
  },
  {
    name: 'no bookmark comes as long as nothing of the resource changed since the version a watch began with',
    run: async cluster => {
      const version = await versionNow(cluster);
      const watch = await cluster.client.watch(
        `${NODES}?watch=true&resourceVersion=${version}&allowWatchBookmarks=true&timeoutSeconds=5`,
      );
      await newService(cluster);
      assert.equal(await watch.next(8000), undefined, 'silence until the server ends it');
    },
  },
];

/** These restart the API server. */
const restarting: Behaviour[] = [
  {
    name: 'a version from before the history is told to a watch as an ERROR event and to a list as HTTP 410',
    run: async cluster => {
      await newNode(cluster);
      await newNode(cluster);
      const old = await cluster.client.must('GET', `${NODES}?limit=1`);
      await newNode(cluster);
      await cluster.expireHistory();
      const watch = await cluster.client.watch(`${NODES}?watch=true&resourceVersion=${old.metadata.resourceVersion}`);
      const event = await watch.next();
      assert.deepEqual(
        [event?.type, event?.object.kind, event?.object.code, event?.object.reason],
        ['ERROR', 'Status', 410, 'Expired'],
      );
      assert.match(event?.object.message ?? '', /too old/);
      assert.equal(await watch.next(), undefined, 'the server ends the watch');
      const rest = await cluster.client.send(
        'GET',
        `${NODES}?limit=1&continue=${encodeURIComponent(old.metadata.continue ?? '')}`,
      );
      refused(rest, 410, 'Expired', /continue parameter is too old/);
      const token = rest.body.metadata.continue ?? '';
      assert.equal(
        (await cluster.client.must('GET', `${NODES}?limit=1&continue=${encodeURIComponent(token)}`)).items.length,
        1,
        'the new token goes on',
      );
      const current = await versionNow(cluster);
      const resumed = await cluster.client.watch(`${NODES}?watch=true&resourceVersion=${current}`);
      await newNode(cluster);
      assert.equal((await resumed.next())?.type, 'ADDED');
      resumed.close();
    },
  },
  {
    name: 'after the loss of etcd versions start again, and a watch from an old version is silent instead of refused; only a list notices',
    run: async cluster => {
      const { path } = await newNode(cluster);
      // Enough writes that the new store stays below for the length of this check.
      for (let i = 0; i < 30; i++)
        await cluster.client.must('PATCH', path, { metadata: { labels: { i: String(i) } } }, MERGE_PATCH);
      const before = String(Number(await versionNow(cluster)) + 1000);
      await cluster.wipeEtcd();
      assert.equal((await cluster.client.send('GET', path)).status, 404);
      assert.ok(Number(await versionNow(cluster)) < Number(before));
      const watch = await cluster.client.watch(`${NODES}?watch=true&resourceVersion=${before}&timeoutSeconds=1`);
      await newNode(cluster);
      assert.equal(await watch.next(), undefined);
      const check = `${NODES}?resourceVersion=${before}&resourceVersionMatch=NotOlderThan&limit=1`;
      refused(await cluster.client.send('GET', check), 504, 'Timeout', /Too large resource version/);
    },
  },
];

/** In the order of cost: the last ones restart the API server. */
export const BEHAVIOURS: readonly Behaviour[] = [
  ...patching,
  ...locking,
  ...statusDoor,
  ...fields,
  ...reading,
  ...watching,
  ...restarting,
];
