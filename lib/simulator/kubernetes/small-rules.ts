import { asObject, asString, dropEmpty, type JsonObject } from './json.ts';
import { decodeMetadata, nameOf, namespaceOf } from './metadata.ts';
import { decodeInteger, decodeObject, decodeText, METADATA_MERGE, type Resource } from './resource.ts';
import { type Cause, invalidValue, required } from './status.ts';
import { microTime, secondTime } from './times.ts';

/** coordination.k8s.io/v1 Lease: its times need exactly six digits after the point. */
export const LEASES: Resource = {
  plural: 'leases',
  kind: 'Lease',
  group: 'coordination.k8s.io',
  version: 'v1',
  namespaced: true,
  hasStatus: false,
  createOnUpdate: true,
  unconditionalUpdate: false,
  deleteAnswers: 'status',
  selectable: ['metadata.name', 'metadata.namespace'],
  merge: { fields: { metadata: METADATA_MERGE } },
  decode: lease => {
    decodeMetadata(lease);
    decodeObject(lease, 'spec', 'Lease.spec');
    const spec = asObject(lease.spec);
    for (const key of ['leaseDurationSeconds', 'leaseTransitions']) decodeInteger(spec, key, `LeaseSpec.spec.${key}`);
    for (const key of ['acquireTime', 'renewTime']) decodeText(spec, key, microTime);
  },
  prepare: lease => {
    const spec: JsonObject = { ...asObject(lease.spec) };
    for (const [key, value] of Object.entries(spec)) if (value === null) delete spec[key];
    lease.spec = spec;
  },
  validate: lease => {
    const { leaseDurationSeconds: duration, leaseTransitions: transitions } = asObject(lease.spec);
    const causes: Cause[] = [];
    if (duration !== undefined && Number(duration) <= 0) {
      causes.push(invalidValue('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
    }
    if (transitions !== undefined && Number(transitions) < 0) {
      causes.push(invalidValue('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
    }
    return causes;
  },
};

/** An event without eventTime is of the old form: nearly nothing is checked. One with eventTime must be complete. */
const validateEvent = (event: JsonObject): Cause[] => {
  const causes: Cause[] = [];
  const [subject, namespace] = [asString(asObject(event.involvedObject).namespace), namespaceOf(event)];
  const matches = subject === '' ? namespace === 'default' : subject === namespace;
  if (!matches) causes.push(invalidValue('involvedObject.namespace', subject, 'does not match event.namespace'));
  if (event.eventTime === null) return causes;
  for (const key of ['reportingComponent', 'reportingInstance', 'action', 'reason']) {
    if (asString(event[key]) === '') causes.push(required(key));
  }
  return causes;
};

export const EVENTS: Resource = {
  plural: 'events',
  kind: 'Event',
  group: '',
  version: 'v1',
  namespaced: true,
  hasStatus: false,
  createOnUpdate: true,
  unconditionalUpdate: true,
  deleteAnswers: 'status',
  selectable: [
    'metadata.name',
    'metadata.namespace',
    ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
      key => `involvedObject.${key}`,
    ),
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
  merge: { fields: { metadata: METADATA_MERGE } },
  decode: event => {
    decodeMetadata(event);
    decodeObject(event, 'involvedObject', 'Event.involvedObject');
    decodeInteger(event, 'count', 'Event.count');
    decodeText(event, 'eventTime', microTime);
    for (const key of ['firstTimestamp', 'lastTimestamp']) decodeText(event, key, secondTime);
  },
  prepare: event => {
    event.involvedObject = asObject(event.involvedObject);
    event.source = asObject(event.source);
    for (const key of ['firstTimestamp', 'lastTimestamp', 'eventTime']) event[key] ??= null;
    for (const key of ['reportingComponent', 'reportingInstance']) event[key] ??= '';
    dropEmpty(event, 'reason', 'message', 'type', 'action', 'count');
  },
  validate: validateEvent,
};

/** Namespaces, as far as other objects need them to exist. */
export const NAMESPACES: Resource = {
  plural: 'namespaces',
  kind: 'Namespace',
  group: '',
  version: 'v1',
  namespaced: false,
  hasStatus: true,
  createOnUpdate: false,
  unconditionalUpdate: true,
  deleteAnswers: 'object',
  selectable: ['metadata.name', 'status.phase'],
  merge: { fields: { metadata: METADATA_MERGE } },
  decode: decodeMetadata,
  prepare: namespace => {
    const metadata = asObject(namespace.metadata);
    metadata.labels = { ...asObject(metadata.labels), 'kubernetes.io/metadata.name': nameOf(namespace) };
    namespace.spec = { finalizers: ['kubernetes'], ...asObject(namespace.spec) };
    namespace.status = { phase: 'Active', ...asObject(namespace.status) };
  },
  validate: () => [],
};
