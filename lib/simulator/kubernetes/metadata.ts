import { asList, asObject, asString, dropEmpty, type JsonObject } from './json.ts';
import { decodeList, decodeObject, decodeStringMap, decodeText, type Resource } from './resource.ts';
import { type Cause, forbidden, invalidValue, required } from './status.ts';
import { secondTime } from './times.ts';

const SUBDOMAIN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
const LABEL_PART = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const DNS_LABEL = '[a-z]([-a-z0-9]*[a-z0-9])?';

const matches = (pattern: string, text: string): boolean => new RegExp(`^(?:${pattern})$`).test(text);

export const metadataOf = (object: JsonObject): JsonObject => asObject(object.metadata);
export const nameOf = (object: JsonObject): string => asString(metadataOf(object).name);
export const namespaceOf = (object: JsonObject): string => asString(metadataOf(object).namespace);
export const resourceVersionOf = (object: JsonObject): number => Number(metadataOf(object).resourceVersion ?? 0);

/** Types and times of the metadata, in place. @throws UndecodableValue */
export const decodeMetadata = (object: JsonObject): void => {
  decodeObject(object, 'metadata', 'metadata');
  const metadata = { ...metadataOf(object) };
  object.metadata = metadata;
  for (const key of ['name', 'generateName', 'namespace', 'uid', 'resourceVersion'])
    decodeText(metadata, key, text => text);
  for (const key of ['creationTimestamp', 'deletionTimestamp']) decodeText(metadata, key, secondTime);
  decodeStringMap(metadata, 'labels', 'ObjectMeta.metadata.labels');
  decodeStringMap(metadata, 'annotations', 'ObjectMeta.metadata.annotations');
  decodeList(metadata, 'finalizers', 'ObjectMeta.metadata.finalizers', 'string');
  dropEmpty(
    metadata,
    'labels',
    'annotations',
    'finalizers',
    'ownerReferences',
    'creationTimestamp',
    'deletionTimestamp',
  );
};

const labelKeyProblem = (key: string): string | undefined => {
  const [prefix, name] = key.includes('/')
    ? [key.slice(0, key.indexOf('/')), key.slice(key.indexOf('/') + 1)]
    : [undefined, key];
  if (prefix !== undefined && !matches(SUBDOMAIN, prefix)) return 'prefix part must be a lowercase RFC 1123 subdomain';
  if (name.length > 63) return 'name part must be no more than 63 bytes';
  if (matches(LABEL_PART, name)) return undefined;
  return (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
    `(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${LABEL_PART}')`
  );
};

const nameProblem = (resource: Resource, name: string): string | undefined => {
  if (resource.kind === 'Service') {
    if (matches(DNS_LABEL, name) && name.length <= 63) return undefined;
    return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
  }
  if (matches(SUBDOMAIN, name) && name.length <= 253) return undefined;
  return (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
    `alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`
  );
};

/** The checks every kind shares. */
export const validateMetadata = (resource: Resource, object: JsonObject, old: JsonObject | undefined): Cause[] => {
  const causes: Cause[] = [];
  const metadata = metadataOf(object);
  const name = nameOf(object);
  if (name === '') causes.push(required('metadata.name', 'name or generateName is required'));
  else if (old === undefined) {
    const problem = nameProblem(resource, name);
    if (problem !== undefined) causes.push(invalidValue('metadata.name', name, problem));
  }
  for (const [key, value] of Object.entries(asObject(metadata.labels))) {
    const problem = labelKeyProblem(key);
    if (problem !== undefined) causes.push(invalidValue('metadata.labels', key, problem));
    const text = asString(value);
    if (text.length > 63 || !matches(`(${LABEL_PART})?`, text)) {
      causes.push(
        invalidValue(
          'metadata.labels',
          text,
          "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
            `alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${LABEL_PART})?')`,
        ),
      );
    }
  }
  for (const key of Object.keys(asObject(metadata.annotations))) {
    const problem = labelKeyProblem(key.toLowerCase());
    if (problem !== undefined) causes.push(invalidValue('metadata.annotations', key, problem));
  }
  return old === undefined ? causes : [...causes, ...validateMetadataUpdate(metadata, metadataOf(old))];
};

const validateMetadataUpdate = (metadata: JsonObject, old: JsonObject): Cause[] => {
  const causes: Cause[] = [];
  for (const key of ['uid', 'creationTimestamp', 'deletionTimestamp']) {
    if (metadata[key] !== old[key]) causes.push(invalidValue(`metadata.${key}`, metadata[key], 'field is immutable'));
  }
  const before = asList(old.finalizers);
  const added = asList(metadata.finalizers).filter(item => !before.includes(item));
  if (old.deletionTimestamp !== undefined && added.length > 0) {
    const list = added.map(item => `"${asString(item)}"`).join(', ');
    causes.push(
      forbidden(
        'metadata.finalizers',
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
      ),
    );
  }
  return causes;
};
