import { isIP } from 'node:net';
import { asList, asObject, asString, dropEmpty, isObject, type Json, type JsonObject, sameJson } from './json.ts';
import { decodeMetadata } from './metadata.ts';
import { decodeList, decodeObject, decodeText, METADATA_MERGE, type Resource } from './resource.ts';
import { type Cause, duplicate, forbidden, invalidValue, notSupported, required } from './status.ts';
import { secondTime } from './times.ts';

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

const NODE_INFO: JsonObject = {
  machineID: '',
  systemUUID: '',
  bootID: '',
  kernelVersion: '',
  osImage: '',
  containerRuntimeVersion: '',
  kubeletVersion: '',
  kubeProxyVersion: '',
  operatingSystem: '',
  architecture: '',
};

const objects = (value: Json | undefined): JsonObject[] => asList(value).filter(isObject);

const decode = (node: JsonObject): void => {
  decodeMetadata(node);
  decodeObject(node, 'spec', 'Node.spec');
  decodeObject(node, 'status', 'Node.status');
  const [spec, status] = [asObject(node.spec), asObject(node.status)];
  decodeText(spec, 'providerID', text => text);
  decodeText(spec, 'podCIDR', text => text);
  decodeList(spec, 'podCIDRs', 'NodeSpec.spec.podCIDRs', 'string');
  decodeList(spec, 'taints', 'NodeSpec.spec.taints', 'object');
  decodeList(status, 'addresses', 'NodeStatus.status.addresses', 'object');
  decodeList(status, 'conditions', 'NodeStatus.status.conditions', 'object');
  for (const taint of objects(spec.taints)) decodeText(taint, 'timeAdded', secondTime);
  for (const condition of objects(status.conditions)) {
    for (const key of ['lastHeartbeatTime', 'lastTransitionTime']) decodeText(condition, key, secondTime);
  }
};

/** The older single podCIDR and the list are kept equal, as the API's conversion does. */
const alignPodCIDRs = (spec: JsonObject): void => {
  const [single, list] = [asString(spec.podCIDR), asList(spec.podCIDRs)];
  if (single === '' && list[0] !== undefined) spec.podCIDR = list[0];
  else if (single !== '' && list[0] !== single) spec.podCIDRs = [single];
};

const prepare = (node: JsonObject, old: JsonObject | undefined): void => {
  const spec: JsonObject = { ...asObject(node.spec) };
  const status: JsonObject = { ...asObject(node.status) };
  node.spec = spec;
  node.status = status;
  alignPodCIDRs(spec);
  // Admission plugin TaintNodesByCondition: every new Node starts with this taint.
  if (
    old === undefined &&
    !objects(spec.taints).some(taint => taint.key === NOT_READY.key && taint.effect === NOT_READY.effect)
  ) {
    spec.taints = [...asList(spec.taints), { ...NOT_READY }];
  }
  dropEmpty(spec, 'podCIDR', 'podCIDRs', 'providerID', 'unschedulable', 'taints');
  for (const taint of objects(spec.taints)) dropEmpty(taint, 'value', 'timeAdded');
  dropEmpty(status, 'addresses', 'conditions');
  for (const condition of objects(status.conditions)) {
    condition.lastHeartbeatTime ??= null;
    condition.lastTransitionTime ??= null;
    dropEmpty(condition, 'reason', 'message');
  }
  status.daemonEndpoints ??= { kubeletEndpoint: { Port: 0 } };
  status.nodeInfo = { ...NODE_INFO, ...asObject(status.nodeInfo) };
};

const isCIDR = (text: string): boolean => {
  const [address = '', bits = ''] = text.split('/');
  const family = isIP(address);
  return family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
};

const validateTaints = (taints: readonly JsonObject[]): Cause[] =>
  taints.flatMap((taint, i) => {
    const field = `metadata.taints[${i}]`;
    const [key, effect] = [asString(taint.key), asString(taint.effect)];
    if (key === '') return [invalidValue(`${field}.key`, key, 'name part must be non-empty')];
    if (effect === '') return [required(`${field}.effect`)];
    if (!EFFECTS.includes(effect)) return [notSupported(`${field}.effect`, effect, EFFECTS)];
    const again = taints.slice(0, i).some(other => other.key === key && other.effect === effect);
    if (!again) return [];
    const cause = duplicate(field, {
      Key: key,
      Value: asString(taint.value),
      Effect: effect,
      TimeAdded: taint.timeAdded ?? null,
    });
    return [{ ...cause, message: `${cause.message}: taints must be unique by key and effect pair` }];
  });

const validate = (node: JsonObject, old: JsonObject | undefined): Cause[] => {
  const [spec, before] = [asObject(node.spec), asObject(old?.spec)];
  const addresses = objects(asObject(node.status).addresses);
  const causes = validateTaints(objects(spec.taints));
  for (const [i, cidr] of asList(spec.podCIDRs).entries()) {
    if (!isCIDR(asString(cidr)))
      causes.push(
        invalidValue(`spec.podCIDRs[${i}]`, cidr, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'),
      );
  }
  for (const [i, address] of addresses.entries()) {
    if (addresses.slice(0, i).some(other => other.type === address.type && other.address === address.address)) {
      causes.push(
        duplicate(`status.addresses[${i}]`, { Type: asString(address.type), Address: asString(address.address) }),
      );
    }
  }
  if (asList(before.podCIDRs).length > 0 && !sameJson(before.podCIDRs, spec.podCIDRs)) {
    causes.push(forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
  }
  if (asString(before.providerID) !== '' && before.providerID !== spec.providerID) {
    causes.push(invalidValue('spec.providerID', null, 'field cannot be modified once set'));
  }
  return causes;
};

export const NODES: Resource = {
  plural: 'nodes',
  kind: 'Node',
  group: '',
  version: 'v1',
  namespaced: false,
  hasStatus: true,
  createOnUpdate: false,
  unconditionalUpdate: true,
  deleteAnswers: 'status',
  selectable: ['metadata.name', 'spec.unschedulable'],
  merge: {
    fields: {
      metadata: METADATA_MERGE,
      spec: { fields: { podCIDRs: { mergeKey: '' } } },
      status: { fields: { addresses: { mergeKey: 'type' }, conditions: { mergeKey: 'type' } } },
    },
  },
  decode,
  prepare,
  validate,
};
