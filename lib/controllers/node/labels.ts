import type { RobotServer } from '../../hetzner/robot-server.ts';
import type { Server } from '../../hetzner/types.ts';

/** Well-known labels in their older (beta) and newer (stable) spelling; both are written (k8s.io/cloud-provider). */
export const labelPairs = [
  { beta: 'beta.kubernetes.io/instance-type', stable: 'node.kubernetes.io/instance-type' },
  { beta: 'failure-domain.beta.kubernetes.io/region', stable: 'topology.kubernetes.io/region' },
  { beta: 'failure-domain.beta.kubernetes.io/zone', stable: 'topology.kubernetes.io/zone' },
] as const;

/** Tells Cloud servers from Robot servers, for affinities (the CSI driver uses it). */
export const providedByLabel = 'instance.hetzner.cloud/provided-by';

/** Zone labels carry the data-centre names of the time when the API still had them; other locations use their name. */
const legacyZones: ReadonlyMap<string, string> = new Map([
  ['nbg1', 'nbg1-dc3'],
  ['hel1', 'hel1-dc2'],
  ['fsn1', 'fsn1-dc14'],
  ['ash', 'ash-dc1'],
  ['hil', 'hil-dc1'],
  ['sin', 'sin-dc1'],
]);

/** The zone label of a location. */
export const zoneOf = (location: string): string => legacyZones.get(location) ?? location;

/**
 * Makes a legal label value of any text: spaces become hyphens, other characters outside [A-Za-z0-9_.-] go, at most
 * 63 characters, with a letter or digit at both ends. Empty when nothing is left.
 */
export const labelValue = (text: string): string =>
  text
    .replaceAll(' ', '-')
    .replaceAll(/[^A-Za-z0-9_.-]/g, '')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 63)
    .replace(/[^A-Za-z0-9]+$/, '');

export interface NodeLabels {
  /** Overwrite what is there. */
  readonly wellKnown: Readonly<Record<string, string>>;
  /** Only added where the key is absent: users set these beforehand. */
  readonly additional: Readonly<Record<string, string>>;
}

/** Labels of a Cloud server. Empty values are left out. */
export const serverLabels = (server: Server, zoneLabelEnabled: boolean): NodeLabels =>
  nodeLabels('cloud', server.type, server.location, zoneLabelEnabled ? zoneOf(server.location) : '');

/** Labels of a Robot server: the zone is the data centre, such as `fsn1-dc14`, the region its site. */
export function robotLabels(server: RobotServer): NodeLabels {
  const zone = server.dc.toLowerCase();
  return nodeLabels('robot', server.product, zone.split('-', 1)[0] ?? '', zone);
}

function nodeLabels(providedBy: 'cloud' | 'robot', type: string, region: string, zone: string): NodeLabels {
  const values = [type, region, zone].map(labelValue);
  const wellKnown: Record<string, string> = {};
  for (const [i, { beta, stable }] of labelPairs.entries()) {
    const value = values[i] ?? '';
    if (value === '') continue;
    wellKnown[beta] = value;
    wellKnown[stable] = value;
  }
  return { wellKnown, additional: { [providedByLabel]: providedBy } };
}

/** Stable labels that differ from their beta spelling, which is the source of the two. */
export function labelsToSync(labels: Readonly<Record<string, string>>): Record<string, string> {
  const changes: Record<string, string> = {};
  for (const { beta, stable } of labelPairs) {
    const value = labels[beta];
    if (value !== undefined && labels[stable] !== value) changes[stable] = value;
  }
  return changes;
}
