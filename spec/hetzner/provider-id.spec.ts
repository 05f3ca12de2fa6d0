import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cloudProviderID, parseProviderID } from '../../lib/hetzner/provider-id.ts';

describe('provider IDs', () => {
  it('name Cloud and Robot servers, the latter also in the older form', () => {
    assert.deepEqual(parseProviderID('hcloud://42'), { kind: 'cloud', id: 42 });
    assert.deepEqual(parseProviderID('hrobot://321'), { kind: 'robot', id: 321 });
    assert.deepEqual(parseProviderID('hcloud://bm-321'), { kind: 'robot', id: 321 });
    assert.deepEqual(parseProviderID(`hcloud://${Number.MAX_SAFE_INTEGER}`), {
      kind: 'cloud',
      id: Number.MAX_SAFE_INTEGER,
    });
  });

  it('of other providers are foreign, also when they mention ours (BUG-012, BUG-013)', () => {
    for (const text of [
      '',
      'k3s://edge1',
      'talos://hcloud/10.0.0.7',
      'hcloud:/1',
      'HCLOUD://1',
      ' hcloud://1',
      'xhcloud://1',
    ])
      assert.deepEqual(parseProviderID(text), { kind: 'foreign' }, text);
  });

  it('with our prefix and no server number behind it are malformed, never a number that was guessed', () => {
    for (const digits of [
      '',
      '0',
      '007',
      '-1',
      '+1',
      '1.5',
      '1e3',
      '0x10',
      ' 1',
      '1 ',
      'w1',
      '1/2',
      '9007199254740992',
      '١',
    ]) {
      for (const prefix of ['hcloud://', 'hrobot://', 'hcloud://bm-']) {
        const parsed = parseProviderID(prefix + digits);
        assert.equal(parsed.kind, 'malformed', prefix + digits);
        assert.ok(
          parsed.kind === 'malformed' && parsed.problem.includes(digits === '' ? prefix : JSON.stringify(digits)),
        );
      }
    }
  });

  it('are read back as written, and anything else is read without a throw', () => {
    fc.assert(
      fc.property(
        fc.maxSafeNat().filter(n => n > 0),
        id => {
          assert.deepEqual(parseProviderID(cloudProviderID(id)), { kind: 'cloud', id });
        },
      ),
    );
    const near = fc
      .tuple(
        fc.constantFrom('', 'hcloud://', 'hrobot://', 'hcloud://bm-', 'hcloud'),
        fc.oneof(fc.string(), fc.nat().map(String)),
      )
      .map(parts => parts.join(''));
    fc.assert(
      fc.property(near, text => {
        const parsed = parseProviderID(text);
        if (parsed.kind === 'cloud') assert.equal(text, cloudProviderID(parsed.id));
        else if (parsed.kind === 'robot') assert.ok(text.endsWith(String(parsed.id)) && parsed.id > 0);
        else assert.ok(parsed.kind === 'foreign' || text.startsWith('h'));
      }),
    );
  });
});
