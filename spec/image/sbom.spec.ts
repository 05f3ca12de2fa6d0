import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { repository } from './definition.ts';
import { sbomOf } from './sbom.ts';

const json = (name: string) => JSON.parse(readFileSync(join(repository, name), 'utf8'));
const input = {
  version: '1.2.3',
  created: 1_700_000_000,
  digest: `sha256:${'a'.repeat(64)}`,
  lock: json('package-lock.json'),
  nodeVersion: '24.21.0',
  debian: [
    { name: 'libstdc++6', version: '12.2.0-14+deb12u1', architecture: 'amd64' },
    { name: 'ca-certificates', version: '20250419~deb12u2', architecture: 'all' },
    { name: 'ca-certificates', version: '20250419~deb12u2', architecture: 'all' },
  ],
};

interface SBOM {
  readonly serialNumber: string;
  readonly components: readonly {
    readonly name: string;
    readonly purl: string;
    readonly 'bom-ref': string;
    readonly licenses?: readonly unknown[];
    readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  }[];
  readonly dependencies: readonly { readonly dependsOn: readonly string[] }[];
}
const sbom = (changes: Partial<typeof input> = {}): SBOM => sbomOf({ ...input, ...changes }) as SBOM;

describe('the bill of materials', () => {
  it('names each dependency of the bundle with licence and sum, Node and the packages of Debian once', () => {
    const { components } = sbom();
    const { dependencies } = json('package.json');
    for (const [name, version] of Object.entries<string>(dependencies)) {
      const found = components.find(one => one.purl === `pkg:npm/${name.replace('@', '%40')}@${version}`);
      assert.ok(found !== undefined, name);
      assert.ok((found.licenses?.length ?? 0) > 0, name);
      assert.match(found.hashes?.[0]?.content ?? '', /^[0-9a-f]{128}$/);
    }
    assert.ok(
      components.every(({ name }) => !['typescript', 'esbuild', 'ajv'].includes(name)),
      'a package of specs',
    );
    const purls = components.map(({ purl }) => purl);
    assert.ok(purls.includes('pkg:generic/node@24.21.0'));
    assert.ok(purls.includes('pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64'));
    assert.equal(purls.filter(purl => purl.includes('ca-certificates')).length, 1);
  });

  it('refers to each component by a name of its own', () => {
    const { components, dependencies } = sbom();
    const refs = components.map(one => one['bom-ref']);
    assert.equal(new Set(refs).size, refs.length);
    assert.deepEqual(dependencies[0]?.dependsOn, refs);
  });

  it('is the same for the same image, and another for another one', () => {
    assert.deepEqual(sbom(), sbom());
    assert.match(sbom().serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.notEqual(sbom().serialNumber, sbom({ digest: `sha256:${'b'.repeat(64)}` }).serialNumber);
  });
});
