import { createInterner } from './intern.ts';
import { optional, type Raw, record, records, text, texts } from './raw.ts';
import type { KubeNode, KubeObject, NodeAddress, NodeAddressType, NodeCondition, Taint } from './types.ts';

const intern = createInterner();

const strings = (value: unknown, keep: (key: string) => boolean): Record<string, string> => {
  const kept: Record<string, string> = {};
  for (const [key, v] of Object.entries(record(value))) {
    if (typeof v === 'string' && keep(key)) kept[key] = intern(v);
  }
  return kept;
};

/** The part every stored object has. Throws when the object has no name or uid: nothing could be done with it. */
export const pruneMetadata = (raw: unknown, keepAnnotation: (key: string) => boolean): KubeObject => {
  const metadata = record(record(raw).metadata);
  const name = text(metadata.name);
  const uid = text(metadata.uid);
  if (name === '' || uid === '') throw new Error(`object without metadata.${name === '' ? 'name' : 'uid'}`);
  const created = Date.parse(text(metadata.creationTimestamp));
  return {
    name,
    namespace: text(metadata.namespace),
    uid,
    resourceVersion: text(metadata.resourceVersion),
    creationTimestamp: Number.isNaN(created) ? 0 : created,
    deleting: text(metadata.deletionTimestamp) !== '',
    labels: strings(metadata.labels, () => true),
    annotations: strings(metadata.annotations, keepAnnotation),
  };
};

const addressTypes: ReadonlySet<string> = new Set<NodeAddressType>([
  'Hostname',
  'InternalIP',
  'ExternalIP',
  'InternalDNS',
  'ExternalDNS',
]);

const isAddress = (raw: Raw): boolean => addressTypes.has(text(raw.type)) && text(raw.address) !== '';

const addressOf = (raw: Raw): NodeAddress => ({
  type: intern(text(raw.type)) as NodeAddressType,
  address: text(raw.address),
});

/** Fields that were not there stay away: JSON patches compare taints with what the API server holds. */
const taintOf = (raw: Raw): Taint => {
  const value = optional(raw.value);
  const timeAdded = optional(raw.timeAdded);
  return {
    key: intern(text(raw.key)),
    ...(value === undefined ? {} : { value: intern(value) }),
    effect: intern(text(raw.effect)),
    ...(timeAdded === undefined ? {} : { timeAdded }),
  };
};

const conditionOf = (conditions: readonly Raw[], type: string): NodeCondition | undefined => {
  const raw = conditions.find(condition => condition.type === type);
  if (raw === undefined) return undefined;
  const lastTransitionTime = optional(raw.lastTransitionTime);
  return {
    status: intern(text(raw.status)),
    reason: intern(text(raw.reason)),
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
  };
};

/** `podCIDRs`, or the older single `podCIDR`. */
const podCIDRsOf = (spec: Raw): string[] => {
  const all = texts(spec.podCIDRs);
  const single = text(spec.podCIDR);
  return all.length > 0 || single === '' ? all : [single];
};

/** Annotations of a Node that a controller reads. */
const isNodeAnnotation = (key: string): boolean =>
  key === 'alpha.kubernetes.io/provided-node-ip' || key.startsWith('instance.hetzner.cloud/');

/**
 * What is kept of a Node: some 1.5 kB of the 17 kB it has on the wire (images, managedFields and the like are most of it).
 * Any field may be missing; throws only when metadata.name or metadata.uid is.
 */
export const pruneNode = (raw: unknown): KubeNode => {
  const spec = record(record(raw).spec);
  const status = record(record(raw).status);
  const conditions = records(status.conditions);
  return {
    ...pruneMetadata(raw, isNodeAnnotation),
    providerID: text(spec.providerID),
    podCIDRs: podCIDRsOf(spec),
    taints: records(spec.taints).map(taintOf),
    unschedulable: spec.unschedulable === true,
    addresses: records(status.addresses).filter(isAddress).map(addressOf),
    ready: conditionOf(conditions, 'Ready'),
    networkUnavailable: conditionOf(conditions, 'NetworkUnavailable'),
  };
};
