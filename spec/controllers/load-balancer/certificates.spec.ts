import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desiredCertificates } from '../../../lib/controllers/load-balancer/certificates.ts';
import { ownerLabel } from '../../../lib/controllers/load-balancer/identity.ts';
import type { Certificate } from '../../../lib/hetzner/lb-types.ts';
import { configFrom, kubeService } from './support.ts';

const managed = (
  id: number,
  name: string,
  domainNames: readonly string[],
  more: Partial<Certificate> = {},
): Certificate => ({
  id,
  name,
  labels: { [ownerLabel]: 'uid-web' },
  type: 'managed',
  domainNames,
  notValidAfter: undefined,
  status: { issuance: 'completed', renewal: 'scheduled', error: undefined },
  isUsed: true,
  ...more,
});
const uploaded = (id: number, name: string): Certificate =>
  managed(id, name, ['example.com'], { type: 'uploaded', labels: {}, status: undefined });
const status = (issuance: string) => ({ status: { issuance, renewal: 'unavailable', error: undefined } });

const resolve = (values: Parameters<typeof configFrom>[0], all: readonly Certificate[]) => {
  const result = desiredCertificates(kubeService(), configFrom({ protocol: 'https', ...values }), all);
  const { ids, complete, create, pending, broken, obsolete, problems } = result;
  return {
    ids,
    complete,
    create: create?.name,
    pending: pending?.id,
    broken: broken?.id,
    obsolete: obsolete.map(({ id }) => id),
    problems,
  };
};
const nothing = {
  ids: [],
  complete: true,
  create: undefined,
  pending: undefined,
  broken: undefined,
  obsolete: [],
  problems: [],
};
const wish = { 'certificate-type': 'managed', 'http-managed-certificate-domains': 'a.example,b.example' } as const;
const usual = 'ccm-managed-certificate-uid-web';

describe('uploaded certificates', () => {
  const all = [uploaded(4711, 'one'), uploaded(5, 'wildcard'), uploaded(6, '77')];

  it('BUG-054: are found by id and by name, with blanks between, each once', () => {
    assert.deepEqual(resolve({ 'http-certificates': '4711, wildcard' }, all), { ...nothing, ids: [4711, 5] });
    assert.deepEqual(resolve({ 'http-certificates': 'one,4711,one' }, all), { ...nothing, ids: [4711] });
    assert.deepEqual(
      resolve({ 'http-certificates': '77' }, all),
      { ...nothing, ids: [6] },
      'a name that looks like an id',
    );
  });

  it('BUG-054: are not complete while one is not known, which is named', () => {
    const found = resolve({ 'http-certificates': 'one,nine' }, all);
    assert.deepEqual([found.ids, found.complete], [[4711], false]);
    assert.match(found.problems[0] ?? '', /no certificate with the name or id "nine"/);
  });

  it('take the place of managed ones only when all of them are there', () => {
    const old = managed(9, usual, ['a.example']);
    assert.deepEqual(resolve({ 'http-certificates': 'one' }, [...all, old]).obsolete, [9]);
    assert.deepEqual(resolve({ 'http-certificates': 'nine' }, [...all, old]).obsolete, []);
  });

  it('are not looked for without https', () => {
    const config = configFrom({ protocol: 'http', 'http-certificates': 'nine' });
    assert.deepEqual(desiredCertificates(kubeService(), config, all).problems, []);
  });
});

describe('managed certificates', () => {
  it('are made where there is none, with the owner and the staging label', () => {
    const config = configFrom({ protocol: 'https', ...wish, 'http-managed-certificate-acme-staging': 'true' });
    assert.deepEqual(desiredCertificates(kubeService(), config, []).create, {
      name: usual,
      domainNames: ['a.example', 'b.example'],
      labels: { [ownerLabel]: 'uid-web', 'HC-Use-Staging-CA': 'true' },
    });
    assert.deepEqual(resolve(wish, []), { ...nothing, complete: false, create: usual });
  });

  it('BUG-055: are found by owner and domains in any order and case, or by name', () => {
    assert.deepEqual(resolve(wish, [managed(3, 'x', ['b.example', 'A.example'])]), { ...nothing, ids: [3] });
    assert.deepEqual(resolve(wish, [managed(3, usual, ['a.example', 'b.example'], { labels: {} })]), {
      ...nothing,
      ids: [3],
    });
    const named = { ...wish, 'http-managed-certificate-name': 'mine' };
    assert.deepEqual(resolve(named, [managed(3, 'mine', ['a.example', 'b.example'], { labels: {} })]), {
      ...nothing,
      ids: [3],
    });
    assert.equal(
      resolve(wish, [managed(3, 'y', ['a.example', 'b.example'], { labels: {} })]).create,
      usual,
      'of somebody else',
    );
  });

  it('#1238: are made under another name for other domains, and the old one goes once the new one is there', () => {
    const old = managed(3, usual, ['old.example']);
    const first = resolve(wish, [old]);
    assert.match(first.create ?? '', new RegExp(`^${usual}-[0-9a-f]{8}$`));
    assert.deepEqual([first.obsolete, first.complete], [[], false]);
    const made = managed(4, first.create ?? '', ['a.example', 'b.example']);
    assert.deepEqual(resolve(wish, [old, made]), { ...nothing, ids: [4], obsolete: [3] });
  });

  it('are not usable while they are issued, nor when that failed', () => {
    const domains = ['a.example', 'b.example'];
    assert.deepEqual(resolve(wish, [managed(3, usual, domains, status('pending'))]), {
      ...nothing,
      complete: false,
      pending: 3,
    });
    assert.deepEqual(resolve(wish, [managed(3, usual, domains, status('failed'))]), {
      ...nothing,
      complete: false,
      broken: 3,
    });
  });

  it('say what they lack: domains, or a name that is free', () => {
    assert.match(resolve({ 'certificate-type': 'managed' }, []).problems[0] ?? '', /http-managed-certificate-domains/);
    const { create } = resolve(wish, [managed(3, usual, ['x.example'])]);
    const taken = [managed(3, usual, ['x.example'], { labels: {} }), uploaded(4, create ?? '')];
    assert.match(resolve(wish, taken).problems[0] ?? '', /exist for other domains/);
  });

  it('have a name within the limit, however long the chosen one is', () => {
    const long = { ...wish, 'http-managed-certificate-name': 'n'.repeat(128) };
    const { create } = resolve(long, [managed(3, 'n'.repeat(128), ['x.example'])]);
    assert.ok((create?.length ?? 999) <= 128);
  });

  it('are obsolete without https', () => {
    const { obsolete } = desiredCertificates(kubeService(), configFrom({}), [managed(3, usual, ['a.example'])]);
    assert.deepEqual(
      obsolete.map(({ id }) => id),
      [3],
    );
  });
});
