import { isIP } from 'node:net';
import { asList, asObject, asString, dropEmpty, isObject, type Json, type JsonObject } from './json.ts';
import { decodeMetadata } from './metadata.ts';
import { decodeList, decodeObject, decodeStringMap, METADATA_MERGE, type Resource } from './resource.ts';
import { type Cause, forbidden, invalidValue, notSupported, required } from './status.ts';

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const FIRST_NODE_PORT = 30000;
const LAST_NODE_PORT = 32767;

const objects = (value: Json | undefined): JsonObject[] => asList(value).filter(isObject);
const portsOf = (service: JsonObject): JsonObject[] => objects(asObject(service.spec).ports);
const ingressOf = (service: JsonObject): JsonObject[] =>
  objects(asObject(asObject(service.status).loadBalancer).ingress);

const decode = (service: JsonObject): void => {
  decodeMetadata(service);
  decodeObject(service, 'spec', 'Service.spec');
  decodeObject(service, 'status', 'Service.status');
  const spec = asObject(service.spec);
  decodeStringMap(spec, 'selector', 'ServiceSpec.spec.selector');
  decodeList(spec, 'ports', 'ServiceSpec.spec.ports', 'object');
  decodeList(
    asObject(asObject(service.status).loadBalancer),
    'ingress',
    'LoadBalancerStatus.status.loadBalancer.ingress',
    'object',
  );
};

const usedNodePorts = (existing: readonly JsonObject[]): Set<Json | undefined> =>
  new Set(
    existing.flatMap(service => [
      ...portsOf(service).map(port => port.nodePort),
      asObject(service.spec).healthCheckNodePort,
    ]),
  );

const freeNodePort = (used: Set<Json | undefined>): number => {
  for (let port = FIRST_NODE_PORT; port <= LAST_NODE_PORT; port++) {
    if (used.has(port)) continue;
    used.add(port);
    return port;
  }
  throw new RangeError('no node port is free');
};

const freeClusterIP = (existing: readonly JsonObject[]): string => {
  const used = new Set(existing.map(service => asObject(service.spec).clusterIP));
  for (let i = 1; i < 65534; i++) {
    const address = `10.96.${i >> 8}.${i & 255}`;
    if (!used.has(address)) return address;
  }
  throw new RangeError('no cluster IP is free');
};

/** What the API server allocated before stays when an update leaves it out. */
const keepAllocations = (spec: JsonObject, before: JsonObject): void => {
  if (asString(spec.clusterIP) === '' && spec.type !== 'ExternalName') {
    for (const key of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'])
      if (before[key] !== undefined) spec[key] ??= before[key];
  }
  if (before.healthCheckNodePort !== undefined) spec.healthCheckNodePort ??= before.healthCheckNodePort;
  const ports = objects(before.ports);
  for (const port of objects(spec.ports)) {
    const same = ports.find(other => other.port === port.port && other.protocol === (port.protocol ?? 'TCP'));
    if (same?.nodePort !== undefined && same.nodePort !== 0) port.nodePort ||= same.nodePort;
  }
};

const prepareStatus = (service: JsonObject): void => {
  const status: JsonObject = { ...asObject(service.status) };
  const balancer: JsonObject = { ...asObject(status.loadBalancer) };
  // Only a load balancer has an ingress; a change of type empties it.
  if (asObject(service.spec).type !== 'LoadBalancer') delete balancer.ingress;
  dropEmpty(balancer, 'ingress');
  for (const ingress of objects(balancer.ingress)) {
    dropEmpty(ingress, 'ip', 'hostname', 'ports');
    if (ingress.ip !== undefined) ingress.ipMode ??= 'VIP';
  }
  status.loadBalancer = balancer;
  service.status = status;
};

const prepare = (service: JsonObject, old: JsonObject | undefined, existing: readonly JsonObject[]): void => {
  const spec: JsonObject = { ...asObject(service.spec) };
  service.spec = spec;
  spec.type ||= 'ClusterIP';
  spec.sessionAffinity ||= 'None';
  spec.ports = objects(spec.ports).map(port => ({
    ...port,
    protocol: port.protocol ?? 'TCP',
    targetPort: port.targetPort ?? port.port ?? 0,
  }));
  keepAllocations(spec, asObject(old?.spec));
  const [balanced, external] = [spec.type === 'LoadBalancer', spec.type === 'LoadBalancer' || spec.type === 'NodePort'];
  if (external) spec.externalTrafficPolicy ||= 'Cluster';
  else delete spec.externalTrafficPolicy;
  if (balanced) spec.allocateLoadBalancerNodePorts ??= true;
  else
    for (const key of ['allocateLoadBalancerNodePorts', 'loadBalancerClass', 'loadBalancerSourceRanges'])
      delete spec[key];
  if (spec.type !== 'ExternalName') {
    spec.clusterIP ||= freeClusterIP(existing);
    spec.clusterIPs ??= [spec.clusterIP];
    spec.ipFamilies ??= ['IPv4'];
    spec.ipFamilyPolicy ??= 'SingleStack';
    spec.internalTrafficPolicy ||= 'Cluster';
  }
  const used = usedNodePorts(existing);
  for (const port of objects(spec.ports)) {
    if (!external) delete port.nodePort;
    else if (spec.allocateLoadBalancerNodePorts !== false) port.nodePort ||= freeNodePort(used);
  }
  if (balanced && spec.externalTrafficPolicy === 'Local') spec.healthCheckNodePort ||= freeNodePort(used);
  else delete spec.healthCheckNodePort;
  dropEmpty(
    spec,
    'selector',
    'ports',
    'externalIPs',
    'loadBalancerIP',
    'loadBalancerClass',
    'loadBalancerSourceRanges',
    'publishNotReadyAddresses',
  );
  prepareStatus(service);
};

const inPortRange = (value: Json | undefined): boolean =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65535;

const validatePorts = (service: JsonObject, existing: readonly JsonObject[]): Cause[] => {
  const ports = portsOf(service);
  const used = usedNodePorts(existing.filter(other => asObject(other.metadata).uid !== asObject(service.metadata).uid));
  return ports.flatMap((port, i) => {
    const causes: Cause[] = [];
    const field = `spec.ports[${i}]`;
    if (ports.length > 1 && asString(port.name) === '') causes.push(required(`${field}.name`));
    for (const key of ['port', 'targetPort']) {
      if (typeof port[key] !== 'string' && !inPortRange(port[key])) {
        causes.push(invalidValue(`${field}.${key}`, port[key], 'must be between 1 and 65535, inclusive'));
      }
    }
    if (port.nodePort !== undefined && used.has(port.nodePort)) {
      causes.push(invalidValue(`${field}.nodePort`, port.nodePort, 'provided port is already allocated'));
    }
    return causes;
  });
};

const validate = (service: JsonObject, old: JsonObject | undefined, existing: readonly JsonObject[]): Cause[] => {
  const [spec, before] = [asObject(service.spec), asObject(old?.spec)];
  const causes: Cause[] = [];
  if (portsOf(service).length === 0 && spec.clusterIP !== 'None' && spec.type !== 'ExternalName')
    causes.push(required('spec.ports'));
  causes.push(...validatePorts(service, existing));
  if (!TYPES.includes(asString(spec.type))) causes.push(notSupported('spec.type', asString(spec.type), TYPES));
  if (
    before.type === 'LoadBalancer' &&
    spec.type === 'LoadBalancer' &&
    before.loadBalancerClass !== spec.loadBalancerClass
  ) {
    causes.push(invalidValue('spec.loadBalancerClass', spec.loadBalancerClass, 'may not change once set'));
  }
  for (const [i, ingress] of ingressOf(service).entries()) {
    const field = `status.loadBalancer.ingress[${i}]`;
    if (ingress.ip !== undefined && isIP(asString(ingress.ip)) === 0) {
      causes.push(
        invalidValue(`${field}.ip`, ingress.ip, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'),
      );
    }
    if (ingress.ip === undefined && ingress.ipMode !== undefined)
      causes.push(forbidden(`${field}.ipMode`, 'may not be set when `ip` is not set'));
  }
  return causes;
};

export const SERVICES: Resource = {
  plural: 'services',
  kind: 'Service',
  group: '',
  version: 'v1',
  namespaced: true,
  hasStatus: true,
  createOnUpdate: true,
  unconditionalUpdate: true,
  deleteAnswers: 'object',
  selectable: ['metadata.name', 'metadata.namespace', 'spec.clusterIP', 'spec.type'],
  merge: {
    fields: {
      metadata: METADATA_MERGE,
      spec: { fields: { ports: { mergeKey: 'port' } } },
      status: { fields: { conditions: { mergeKey: 'type' } } },
    },
  },
  decode,
  prepare,
  validate,
};
