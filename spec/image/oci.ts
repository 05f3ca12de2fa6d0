import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { partOf } from './contents.ts';
import { type Architecture, entrypoint, environment, user } from './definition.ts';
import { type TarEntry, tarOf } from './tar.ts';

/** An image of one architecture, as blobs by their digest. */
export interface Image {
  readonly digest: string;
  readonly descriptor: Descriptor;
  readonly blobs: ReadonlyMap<string, Buffer>;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly architecture: string; readonly os: string };
}

const mediaType = (name: string): string => `application/vnd.oci.image.${name}`;
const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const json = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);

export interface ImageOptions {
  readonly architecture: Architecture;
  readonly version: string;
  /** Commit the sources are from. */
  readonly revision: string;
  /** Seconds since the epoch, for all files and the image itself. */
  readonly created: number;
}

/** What changes rarely lies below: an update of the program is a layer of its own. */
const layersOf = (entries: readonly TarEntry[]): readonly (readonly TarEntry[])[] => {
  const layer = (entry: TarEntry): number => ({ program: 2, node: 1 })[partOf(entry) as string] ?? 0;
  return [0, 1, 2].map(i => entries.filter(entry => layer(entry) === i));
};

export async function imageOf(entries: readonly TarEntry[], options: ImageOptions): Promise<Image> {
  const { architecture, created, version, revision } = options;
  const blobs = new Map<string, Buffer>();
  const add = (type: string, bytes: Buffer): Descriptor => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    return { mediaType: mediaType(type), digest, size: bytes.length };
  };
  const archives = layersOf(entries).map(layer => tarOf(layer, created));
  const packed = await Promise.all(archives.map(archive => promisify(gzip)(archive)));
  const layers = packed.map(bytes => add('layer.v1.tar+gzip', bytes));
  const config = add(
    'config.v1+json',
    json({
      created: new Date(created * 1_000).toISOString(),
      architecture,
      os: 'linux',
      config: {
        User: user,
        Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
        Entrypoint: entrypoint,
        WorkingDir: '/',
        ExposedPorts: { '8233/tcp': {}, '10258/tcp': {} },
        Labels: {
          'org.opencontainers.image.title': 'hcloud-reactive-controller',
          'org.opencontainers.image.version': version,
          'org.opencontainers.image.revision': revision,
          'org.opencontainers.image.licenses': 'Apache-2.0',
        },
      },
      rootfs: { type: 'layers', diff_ids: archives.map(digestOf) },
    }),
  );
  const manifest = add(
    'manifest.v1+json',
    json({ schemaVersion: 2, mediaType: mediaType('manifest.v1+json'), config, layers }),
  );
  return { digest: manifest.digest, descriptor: { ...manifest, platform: { architecture, os: 'linux' } }, blobs };
}

/** An archive with an OCI image layout that holds the images under one tag, and the digest of their index. */
export function layoutOf(images: readonly Image[], tag: string, created: number): { digest: string; archive: Buffer } {
  const index = json({
    schemaVersion: 2,
    mediaType: mediaType('index.v1+json'),
    manifests: images.map(({ descriptor }) => descriptor),
  });
  const digest = digestOf(index);
  const annotations = { 'org.opencontainers.image.ref.name': tag };
  const top = { mediaType: mediaType('index.v1+json'), digest, size: index.length, annotations };
  const file = (path: string, content: Buffer): TarEntry => ({ path, kind: 'file', mode: 0o644, content });
  const blobs = new Map([[digest, index], ...images.flatMap(image => [...image.blobs])]);
  const entries = [
    file('oci-layout', json({ imageLayoutVersion: '1.0.0' })),
    file('index.json', json({ schemaVersion: 2, mediaType: mediaType('index.v1+json'), manifests: [top] })),
    ...[...blobs].map(([name, bytes]) => file(`blobs/${name.replace(':', '/')}`, bytes)),
  ];
  return { digest, archive: tarOf(entries, created) };
}
