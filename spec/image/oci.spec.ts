import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { entrypoint, paths } from './definition.ts';
import { imageOf, layoutOf } from './oci.ts';
import type { TarEntry } from './tar.ts';

const entries: readonly TarEntry[] = [
  { path: paths.node, kind: 'file', mode: 0o555, content: Buffer.from('node') },
  { path: paths.program, kind: 'file', mode: 0o555, content: Buffer.from('program') },
  { path: 'etc/passwd', kind: 'file', mode: 0o444, content: Buffer.from('passwd') },
];
const options = { version: '1.2.3', revision: 'abc', created: 1_700_000_000 } as const;
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function layout() {
  const images = [
    await imageOf(entries, { ...options, architecture: 'amd64' }),
    await imageOf(entries, { ...options, architecture: 'arm64' }),
  ];
  return layoutOf(images, '1.2.3', options.created);
}

describe('an OCI image layout', () => {
  it('is the same each time it is made', async () => {
    const [first, second] = [await layout(), await layout()];
    assert.equal(first.digest, second.digest);
    assert.ok(first.archive.equals(second.archive));
  });

  it('leads from the index by digests to layers whose content has the digest of the configuration', async t => {
    const { archive, digest } = await layout();
    const directory = mkdtempSync(join(tmpdir(), 'oci-'));
    t.after(() => rmSync(directory, { recursive: true }));
    execFileSync('tar', ['-xf', '-', '-C', directory], { input: archive });
    const blobs = join(directory, 'blobs/sha256');
    for (const name of readdirSync(blobs)) assert.equal(sha256(readFileSync(join(blobs, name))), name);
    const blob = ({ digest: one }: { digest: string }) => readFileSync(join(blobs, one.replace('sha256:', '')));
    const read = (descriptor: { digest: string }) => JSON.parse(blob(descriptor).toString());

    const top = JSON.parse(readFileSync(join(directory, 'index.json'), 'utf8')).manifests[0];
    assert.equal(top.digest, digest);
    const manifests = read(top).manifests as { digest: string; size: number; platform: object }[];
    assert.deepEqual(
      manifests.map(({ platform }) => platform),
      [
        { architecture: 'amd64', os: 'linux' },
        { architecture: 'arm64', os: 'linux' },
      ],
    );
    for (const descriptor of manifests) {
      assert.equal(blob(descriptor).length, descriptor.size);
      const manifest = read(descriptor);
      const config = read(manifest.config);
      const layers = (manifest.layers as { digest: string }[]).map(layer => gunzipSync(blob(layer)));
      assert.deepEqual(
        config.rootfs.diff_ids,
        layers.map(layer => `sha256:${sha256(layer)}`),
      );
      const names = layers.map(layer => execFileSync('tar', ['-tf', '-'], { input: layer, encoding: 'utf8' }).trim());
      assert.deepEqual(names, ['etc/passwd', paths.node, paths.program]);
      assert.equal(config.config.User, '65532:65532');
      assert.deepEqual(config.config.Entrypoint, entrypoint);
    }
  });
});
