import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { locate } from '../../lib/controllers/instances.ts';
import { createServerList } from '../../lib/hetzner/server-list.ts';
import { node } from '../kubernetes/support.ts';
import { server } from './support.ts';

const cloud = createServerList([server(1), server(2, { name: 'renamed' }), server(3, { name: 'w2' })], 0);
const lists = { cloud, robot: undefined };
const found = (name: string, providerID = ''): number | string => {
  const result = locate(node(name, { providerID }), lists);
  return result.kind === 'found' && result.machine.kind === 'cloud' ? result.machine.server.id : result.kind;
};

describe('the machine of a node', () => {
  it('is the server of its exact name while the node has no provider ID (BUG-002)', () => {
    assert.equal(found('w1'), 1);
    assert.equal(found('W1'), 'missing');
    assert.equal(found('w1.example.internal'), 'missing');
    assert.equal(found(''), 'missing');
  });

  it('is the one of its provider ID from then on, whatever it and others are called now (BUG-008)', () => {
    assert.equal(found('w2', 'hcloud://2'), 2);
    assert.equal(found('w1', 'hcloud://9'), 'missing');
  });

  it('is none of ours with the provider ID of another, of a Robot server or a malformed one (BUG-012)', () => {
    for (const [providerID, problem] of [
      ['k3s://w1', /not one of Hetzner/],
      ['hrobot://1', /Robot support is not enabled/],
      ['hcloud://bm-1', /Robot support is not enabled/],
      ['hcloud://w1', /malformed.*"w1"/],
      ['hcloud://', /malformed.*no number/],
    ] as const) {
      const result = locate(node('w1', { providerID }), lists);
      assert.equal(result.kind, 'foreign');
      assert.match(result.kind === 'foreign' ? result.problem : '', problem);
    }
  });

  it('is not missing where nobody has listed the servers yet (BUG-015)', () => {
    assert.notEqual(
      locate(node('w1', { providerID: 'hcloud://1' }), { cloud: undefined, robot: undefined }).kind,
      'missing',
    );
  });
});
