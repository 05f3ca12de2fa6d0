import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isConflict, isInvalid } from '../../lib/kubernetes/errors.ts';
import { pointer, replaceTaints, setLabels, setProviderID } from '../../lib/kubernetes/json-patch.ts';
import { nodeStatusBody, patchNode, patchNodeStatus } from '../../lib/kubernetes/patches.ts';
import { clientOf, json, node, rawNode, type Script, type ScriptedServer, scriptedServer, status } from './support.ts';

const never = new AbortController().signal;
const withServer = async (
  script: Script,
  run: (client: ReturnType<typeof clientOf>, server: ScriptedServer) => Promise<void>,
) => {
  const server = await scriptedServer(script);
  const client = clientOf(server);
  try {
    await run(client, server);
  } finally {
    await client.close();
    await server.close();
  }
};
const answerNode: Script = (_, response) => json(response, 200, rawNode('w1', { rv: '2' }));

describe('JSON patches', () => {
  it('escape names so that a pointer reads back as what it was made of', () => {
    assert.equal(pointer('metadata', 'labels', 'a/b~c'), '/metadata/labels/a~1b~0c');
    fc.assert(
      fc.property(fc.array(fc.string()), names => {
        const read = pointer(...names)
          .split('/')
          .slice(1)
          .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'));
        assert.deepEqual(read, names);
      }),
    );
  });

  it('set only the labels that differ, and remove the ones that are unwanted', () => {
    const object = node('w1', { labels: { same: '1', old: '1', gone: '1' } });
    assert.deepEqual(setLabels(object, { same: '1', old: '2', 'x/new': '3', gone: undefined, never: undefined }), [
      { op: 'add', path: '/metadata/labels/old', value: '2' },
      { op: 'add', path: '/metadata/labels/x~1new', value: '3' },
      { op: 'remove', path: '/metadata/labels/gone' },
    ]);
  });

  it('add the map of labels where there is none only if nothing changed since', () => {
    assert.deepEqual(setLabels(node('w1', { resourceVersion: '7' }), { a: 'b' }), [
      { op: 'test', path: '/metadata/resourceVersion', value: '7' },
      { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
    ]);
  });

  it('replace the taints as a whole if they are still the ones that were seen', () => {
    const [a, b] = [
      { key: 'a', effect: 'NoSchedule' },
      { key: 'b', value: 'v', effect: 'NoExecute' },
    ];
    const tainted = node('w1', { taints: [a, b] });
    const test = { op: 'test', path: '/spec/taints', value: [a, b] };
    assert.deepEqual(replaceTaints(tainted, [b]), [test, { op: 'replace', path: '/spec/taints', value: [b] }]);
    assert.deepEqual(replaceTaints(tainted, []), [test, { op: 'remove', path: '/spec/taints' }]);
    assert.deepEqual(replaceTaints(tainted, [{ ...a }, { ...b }]), []);
    assert.deepEqual(replaceTaints(node('w1', { resourceVersion: '7' }), [a]), [
      { op: 'test', path: '/metadata/resourceVersion', value: '7' },
      { op: 'add', path: '/spec/taints', value: [a] },
    ]);
  });

  it('set the provider id unless it is set already', () => {
    assert.deepEqual(setProviderID(node('w1'), 'hcloud://1'), [
      { op: 'add', path: '/spec/providerID', value: 'hcloud://1' },
    ]);
    assert.deepEqual(setProviderID(node('w1', { providerID: 'hcloud://1' }), 'hcloud://1'), []);
  });
});

describe('patchNode', () => {
  it('tests the uid first and returns the node as it is now', () =>
    withServer(answerNode, async (client, server) => {
      const w1 = node('w1');
      const after = await patchNode(client, w1, setProviderID(w1, 'hcloud://1'), never);
      assert.equal(after?.resourceVersion, '2');
      const [seen] = server.seen;
      assert.deepEqual([seen?.method, seen?.path], ['PATCH', '/api/v1/nodes/w1']);
      assert.equal(seen?.headers['content-type'], 'application/json-patch+json');
      assert.deepEqual(JSON.parse(seen?.body ?? ''), [
        { op: 'test', path: '/metadata/uid', value: 'uid-w1' },
        { op: 'add', path: '/spec/providerID', value: 'hcloud://1' },
      ]);
    }));

  it('sends nothing when nothing would change', () =>
    withServer(answerNode, async (client, server) => {
      assert.equal(await patchNode(client, node('w1'), [], never), undefined);
      assert.equal(await patchNodeStatus(client, node('w1'), {}, never), undefined);
      assert.equal(server.seen.length, 0);
    }));

  it('reports a failed test as a conflict, an invalid value as that', () =>
    withServer(
      (_, response, nth) => {
        const details = nth === 1 ? {} : { causes: [{ field: 'metadata.labels', reason: 'FieldValueInvalid' }] };
        json(response, 422, status(422, 'Invalid', 'the server rejected our request', { details }));
      },
      async client => {
        const ops = setProviderID(node('w1'), 'x');
        await assert.rejects(patchNode(client, node('w1'), ops, never), isConflict);
        await assert.rejects(patchNode(client, node('w1'), ops, never), isInvalid);
      },
    ));
});

describe('patchNodeStatus', () => {
  it('replaces the addresses as a whole and merges conditions, on condition of the uid', () =>
    withServer(answerNode, async (client, server) => {
      const addresses = [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'InternalIP', address: 'fd00::1' },
      ] as const;
      const conditions = [{ type: 'NetworkUnavailable', status: 'False' }];
      await patchNodeStatus(client, node('w1'), { addresses, conditions }, never);
      const [seen] = server.seen;
      assert.equal(seen?.path, '/api/v1/nodes/w1/status');
      assert.equal(seen?.headers['content-type'], 'application/strategic-merge-patch+json');
      assert.deepEqual(JSON.parse(seen?.body ?? ''), {
        metadata: { uid: 'uid-w1' },
        status: { addresses: [...addresses, { $patch: 'replace' }], conditions },
      });
    }));

  it('reports another uid as a conflict', () =>
    withServer(
      (_, response) => {
        const details = {
          causes: [{ field: 'metadata.uid', reason: 'FieldValueInvalid', message: 'field is immutable' }],
        };
        json(response, 422, status(422, 'Invalid', 'invalid', { details }));
      },
      async client => {
        await assert.rejects(patchNodeStatus(client, node('w1'), { addresses: [] }, never), isConflict);
      },
    ));

  it('leaves out what is not to change', () => {
    assert.deepEqual(nodeStatusBody(node('w1'), { addresses: [] }), {
      metadata: { uid: 'uid-w1' },
      status: { addresses: [{ $patch: 'replace' }] },
    });
    assert.deepEqual(nodeStatusBody(node('w1'), { conditions: [{ type: 'X' }] }), {
      metadata: { uid: 'uid-w1' },
      status: { conditions: [{ type: 'X' }] },
    });
  });
});
