import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderText } from './render.ts';

const root = join(import.meta.dirname, '..', '..');
const NAME = 'hcloud-cloud-controller-manager';

/** Names and labels of the peer's manifests, so that these can be applied over them and tools that edit them go on working. */
const shared = {
  nameOverride: NAME,
  selectorLabels: { app: NAME, 'app.kubernetes.io/name': null, 'app.kubernetes.io/instance': null },
};

/** The manifests for those who do not use Helm. */
export const plainManifests: readonly { readonly path: string; readonly values: object; readonly about: string }[] = [
  { path: 'deploy/ccm.yaml', values: shared, about: 'Without a private network.' },
  {
    path: 'deploy/ccm-networks.yaml',
    values: { ...shared, networking: { enabled: true } },
    about: 'With a private network and routes; adjust --cluster-cidr.',
  },
];

/** Labels by which Helm would take the objects for its own, and where in the chart they come from. */
const HELMS = /^ *(helm\.sh\/chart:|app\.kubernetes\.io\/managed-by:|# Source:).*\n/gm;

/** The text of one manifest. */
export const renderManifest = async ({ values, about }: { values: object; about: string }): Promise<string> => {
  const head = `# ${about} Rendered from charts/hcloud-reactive-controller (make manifests).\n`;
  const text = await renderText(values, { release: 'hccm' });
  return head + text.replaceAll(HELMS, '').replaceAll(/\n\n+---/g, '\n---');
};

export const manifestPath = (path: string): string => join(root, path);

if (import.meta.main) {
  for (const manifest of plainManifests) {
    mkdirSync(join(root, 'deploy'), { recursive: true });
    writeFileSync(manifestPath(manifest.path), await renderManifest(manifest));
  }
}
