import { createHash } from 'node:crypto';
import type { DebianPackage } from './debian.ts';

export interface SBOMInput {
  readonly version: string;
  /** Seconds since the epoch. */
  readonly created: number;
  /** Digest of the image it belongs to. */
  readonly digest: string;
  /** Content of package-lock.json. */
  readonly lock: { readonly packages: Readonly<Record<string, LockedPackage>> };
  readonly nodeVersion: string;
  readonly debian: readonly DebianPackage[];
}

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
}

interface Component {
  readonly type: string;
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly [key: string]: unknown;
}

const purlName = (name: string): string => name.split('/').map(encodeURIComponent).join('/');

function npmComponent([path, locked]: [string, LockedPackage]): Component {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const { version = '', license, integrity } = locked;
  const purl = `pkg:npm/${purlName(name)}@${version}`;
  const sum = integrity?.startsWith('sha512-')
    ? Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')
    : undefined;
  return {
    type: 'library',
    'bom-ref': `${purl}#${path}`,
    name,
    version,
    purl,
    ...(license !== undefined && {
      licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }],
    }),
    ...(sum !== undefined && { hashes: [{ alg: 'SHA-512', content: sum }] }),
  };
}

const debianComponent = ({ name, version, architecture }: DebianPackage): Component => {
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`;
  return { type: 'library', 'bom-ref': purl, name, version, purl };
};

/** A CycloneDX 1.6 document of all that is in the image; the same for the same input. */
export function sbomOf({ version, created, digest, lock, nodeVersion, debian }: SBOMInput): object {
  const bundled = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  const node: Component = {
    type: 'platform',
    'bom-ref': `pkg:generic/node@${nodeVersion}`,
    name: 'node',
    version: nodeVersion,
    purl: `pkg:generic/node@${nodeVersion}`,
    licenses: [{ license: { id: 'MIT' } }],
  };
  const libraries = new Map(debian.map(one => debianComponent(one)).map(one => [one.purl, one]));
  const components = [...bundled.map(npmComponent), node, ...libraries.values()];
  const main = `pkg:oci/hcloud-reactive-controller@${encodeURIComponent(digest)}`;
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([version, digest, components]))}`,
    version: 1,
    metadata: {
      timestamp: new Date(created * 1_000).toISOString(),
      component: {
        type: 'container',
        'bom-ref': main,
        name: 'hcloud-reactive-controller',
        version,
        purl: main,
        licenses: [{ license: { id: 'Apache-2.0' } }],
      },
    },
    components,
    dependencies: [{ ref: main, dependsOn: components.map(component => component['bom-ref']) }],
  };
}

/** A UUID (version 8, made by rule) of a text. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
