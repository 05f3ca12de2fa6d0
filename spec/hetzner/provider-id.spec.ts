import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cloudProviderID, parseProviderID, robotProviderID } from '../../lib/hetzner/provider-id.ts';

describe('a provider ID', () => {
  const table: [text: string, kind: string, id: number | undefined][] = [
    ['hcloud://101', 'cloud', 101],
    ['hrobot://321', 'robot', 321],
    ['hcloud://bm-321', 'robot', 321],
    ['hcloud://', 'malformed', undefined],
    ['hcloud://abc', 'malformed', undefined],
    ['hrobot://', 'malformed', undefined],
    ['hcloud://bm-', 'malformed', undefined],
    ['hcloud://-1', 'malformed', undefined],
    ['hcloud://0', 'malformed', undefined],
    ['hrobot://321 ', 'malformed', undefined],
    ['hrobot://bm-321', 'malformed', undefined],
    ['hrobot://9007199254740993', 'malformed', undefined],
    ['talos://hcloud/10.0.0.7', 'foreign', undefined],
    ['HCLOUD://101', 'foreign', undefined],
    ['101', 'foreign', undefined],
  ];
  for (const [text, kind, id] of table)
    it(`BUG-064: ${text} is ${kind}`, () => {
      const parsed = parseProviderID(text);
      assert.deepEqual([parsed.kind, 'id' in parsed ? parsed.id : undefined], [kind, id]);
    });

  it('BUG-064: is written in the newer form only', () => {
    assert.deepEqual([cloudProviderID(101), robotProviderID(321)], ['hcloud://101', 'hrobot://321']);
  });
});
