import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { labelPairs, labelsToSync, labelValue, serverLabels, zoneOf } from '../../../lib/controllers/node/labels.ts';
import { server } from '../support.ts';

const legal = /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/;

describe('labels of a node', () => {
  it('carry type, region and zone in both spellings, and who provides it', () => {
    assert.deepEqual(serverLabels(server(1), true), {
      wellKnown: {
        'beta.kubernetes.io/instance-type': 'cpx31',
        'node.kubernetes.io/instance-type': 'cpx31',
        'failure-domain.beta.kubernetes.io/region': 'fsn1',
        'topology.kubernetes.io/region': 'fsn1',
        'failure-domain.beta.kubernetes.io/zone': 'fsn1-dc14',
        'topology.kubernetes.io/zone': 'fsn1-dc14',
      },
      additional: { 'instance.hetzner.cloud/provided-by': 'cloud' },
    });
  });

  it('have no zone where that is switched off, and leave out what the API does not tell (BUG-006)', () => {
    assert.deepEqual(Object.keys(serverLabels(server(1, { type: '' }), false).wellKnown), [
      'failure-domain.beta.kubernetes.io/region',
      'topology.kubernetes.io/region',
    ]);
    assert.deepEqual(serverLabels(server(1, { type: '', location: '' }), true).wellKnown, {});
  });

  it('keep the zones of the time of data centres, and name others by their location', () => {
    const zones = ['nbg1', 'hel1', 'fsn1', 'ash', 'hil', 'sin', 'new1', ''].map(zoneOf);
    assert.deepEqual(zones, ['nbg1-dc3', 'hel1-dc2', 'fsn1-dc14', 'ash-dc1', 'hil-dc1', 'sin-dc1', 'new1', '']);
  });

  it('have legal values whatever a product is called (BUG-007)', () => {
    for (const [text, value] of [
      ['cpx31', 'cpx31'],
      ['Server Auction', 'Server-Auction'],
      ['AX41-NVMe (Limited)', 'AX41-NVMe-Limited'],
      ['- EX44 -', 'EX44'],
      ['Größe 5', 'Gre-5'],
      ['-._', ''],
      [`a${'-'.repeat(80)}b`, 'a'],
      ['x'.repeat(70), 'x'.repeat(63)],
    ] as const) {
      assert.equal(labelValue(text), value, text);
    }
    const texts = fc.oneof(
      fc.string({ maxLength: 100 }),
      fc.string({ unit: 'grapheme-ascii', minLength: 60, maxLength: 80 }),
    );
    fc.assert(
      fc.property(texts, text => {
        const value = labelValue(text);
        assert.match(value, legal);
        assert.equal(labelValue(value), value);
      }),
    );
    fc.assert(fc.property(fc.stringMatching(legal), text => assert.equal(labelValue(text), text)));
  });

  it('are brought in step from the beta spelling, and only where there is one', () => {
    const [type, region] = labelPairs;
    assert.deepEqual(labelsToSync({}), {});
    assert.deepEqual(labelsToSync({ [type.stable]: 'x' }), {});
    assert.deepEqual(labelsToSync({ [type.beta]: 'x', [region.beta]: 'r', [region.stable]: 'r' }), {
      [type.stable]: 'x',
    });
    assert.deepEqual(labelsToSync({ [type.beta]: '', [type.stable]: 'x' }), { [type.stable]: '' });
    const keys = fc.constantFrom(...labelPairs.flatMap(pair => [pair.beta, pair.stable]), 'other');
    fc.assert(
      fc.property(fc.dictionary(keys, fc.constantFrom('a', 'b', '')), labels => {
        assert.deepEqual(labelsToSync({ ...labels, ...labelsToSync(labels) }), {});
      }),
    );
  });
});
