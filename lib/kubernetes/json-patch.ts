import type { KubeNode, KubeObject, Taint } from './types.ts';

/** RFC 6902. */
export type JSONPatchOp =
  | { readonly op: 'test' | 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

/** JSON pointer of nested fields; `~` and `/` in names are escaped (RFC 6901). */
export const pointer = (...segments: readonly string[]): string =>
  segments.map(segment => `/${segment.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** Fails the patch when the object is another one of the same name. */
export const testUID = (object: Pick<KubeObject, 'uid'>): JSONPatchOp => ({
  op: 'test',
  path: '/metadata/uid',
  value: object.uid,
});

/** Fails the patch when anything changed since: for decisions on something that is not there, which no test can name. */
const testVersion = (object: Pick<KubeObject, 'resourceVersion'>): JSONPatchOp => ({
  op: 'test',
  path: '/metadata/resourceVersion',
  value: object.resourceVersion,
});

/** Sets `spec.providerID`; nothing when it is that already. */
export const setProviderID = (node: KubeNode, providerID: string): JSONPatchOp[] =>
  node.providerID === providerID ? [] : [{ op: 'add', path: '/spec/providerID', value: providerID }];

/** Sets the one IPv4 pod CIDR of a node, which can be done once, on condition that nothing changed since. */
export const setPodCIDR = (node: Pick<KubeNode, 'resourceVersion'>, podCIDR: string): JSONPatchOp[] => [
  testVersion(node),
  { op: 'add', path: '/spec/podCIDR', value: podCIDR },
  { op: 'add', path: '/spec/podCIDRs', value: [podCIDR] },
];

/** Removes an annotation; nothing where the object was seen without it. */
export const removeAnnotation = (object: Pick<KubeObject, 'annotations'>, key: string): JSONPatchOp[] =>
  object.annotations[key] === undefined ? [] : [{ op: 'remove', path: pointer('metadata', 'annotations', key) }];

/**
 * Sets and (value undefined) removes labels, each by itself; labels that are right already are left out. Where the object
 * was seen without any label the map itself is added, on condition that nothing changed since.
 */
export const setLabels = (
  object: Pick<KubeObject, 'labels' | 'resourceVersion'>,
  wanted: Readonly<Record<string, string | undefined>>,
): JSONPatchOp[] => {
  const changed = Object.entries(wanted).filter(([key, value]) => object.labels[key] !== value);
  if (changed.length === 0) return [];
  if (Object.keys(object.labels).length === 0) {
    return [testVersion(object), { op: 'add', path: '/metadata/labels', value: Object.fromEntries(changed) }];
  }
  return changed.map(([key, value]) => {
    const path = pointer('metadata', 'labels', key);
    return value === undefined ? { op: 'remove', path } : { op: 'add', path, value };
  });
};

const sameTaint = (a: Taint, b: Taint | undefined): boolean =>
  b !== undefined &&
  a.key === b.key &&
  a.effect === b.effect &&
  (a.value ?? '') === (b.value ?? '') &&
  a.timeAdded === b.timeAdded;

/**
 * Replaces the taints as a whole, on condition that they are still what the decision was made on: patches of single elements
 * hit the wrong one when another controller adds or removes a taint. Nothing when they are the same.
 */
export const replaceTaints = (node: KubeNode, taints: readonly Taint[]): JSONPatchOp[] => {
  const before = node.taints;
  if (before.length === taints.length && before.every((taint, i) => sameTaint(taint, taints[i]))) return [];
  const path = '/spec/taints';
  if (before.length === 0) return [testVersion(node), { op: 'add', path, value: taints }];
  const test: JSONPatchOp = { op: 'test', path, value: before };
  return [test, taints.length === 0 ? { op: 'remove', path } : { op: 'replace', path, value: taints }];
};
