import { randomUUID } from 'node:crypto';
import { asList, asObject, asString, clone, isObject, type Json, type JsonObject, sameJson } from './json.ts';
import { jsonPatch, PatchFailure } from './json-patch.ts';
import { mergePatch } from './merge-patch.ts';
import { metadataOf, nameOf, validateMetadata } from './metadata.ts';
import { getObject } from './reads.ts';
import type { Resource } from './resource.ts';
import type { Route } from './route.ts';
import {
  alreadyExists,
  badRequest,
  failure,
  invalid,
  invalidValue,
  modified,
  noSuchResource,
  notFound,
  otherObject,
  patchRefused,
  preconditionFailed,
  undecodablePatch,
  unsupportedMediaType,
} from './status.ts';
import { type Store, storageKey } from './store.ts';
import { strategicMerge, UnknownDirective } from './strategic-merge.ts';
import { formatTime, UndecodableValue } from './times.ts';

/** A successful write: 200 or 201, and the object (or the Status of a deletion). */
export interface Written {
  readonly code: number;
  readonly body: JsonObject;
}

export interface WriteContext {
  readonly store: Store;
  /** ms since the epoch, for creationTimestamp and deletionTimestamp. */
  readonly now: () => number;
}

const apiVersionOf = (resource: Resource): string =>
  resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;

/** An object as it was sent, with the kind that the path implies. @throws StatusError 400 */
const parseObject = (resource: Resource, body: string): JsonObject => {
  let object: unknown;
  try {
    object = JSON.parse(body);
  } catch {
    throw badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): couldn't get version/kind; json parse error`,
    );
  }
  if (!isObject(object)) throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind})`);
  const { kind = resource.kind, apiVersion = apiVersionOf(resource) } = object;
  if (kind !== resource.kind || apiVersion !== apiVersionOf(resource)) {
    throw badRequest(`${asString(kind)} in version "${asString(apiVersion)}" cannot be handled as a ${resource.kind}`);
  }
  return decoded(resource, object, why =>
    badRequest(`${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: ${why}`),
  );
};

const decoded = (resource: Resource, object: JsonObject, refuse: (why: string) => Error): JsonObject => {
  const copy = clone(object);
  try {
    resource.decode(copy);
  } catch (error) {
    if (error instanceof UndecodableValue) throw refuse(error.message);
    throw error;
  }
  return { kind: resource.kind, apiVersion: apiVersionOf(resource), ...copy };
};

const checked = (
  { store }: WriteContext,
  resource: Resource,
  object: JsonObject,
  old: JsonObject | undefined,
): void => {
  const existing = store.all(resource);
  resource.prepare(object, old, existing);
  const causes = [...validateMetadata(resource, object, old), ...resource.validate(object, old, existing)];
  if (causes.length > 0) throw invalid(resource, nameOf(object), causes);
};

/** The namespace of the path must exist, be alive and be the object's. */
const placeIn = (context: WriteContext, route: Route, object: JsonObject, namespaces: Resource): void => {
  const { resource, namespace } = route;
  const sent = asString(metadataOf(object).namespace);
  if (sent !== '' && sent !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (!resource.namespaced) return;
  metadataOf(object).namespace = namespace;
  const parent = getObject(context.store, namespaces, '', namespace);
  if (asObject(parent.status).phase === 'Terminating') {
    const name = nameOf(object);
    throw failure(
      403,
      'Forbidden',
      `${resource.plural} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
      { name, kind: resource.plural },
    );
  }
};

const insert = (context: WriteContext, route: Route, object: JsonObject, namespaces: Resource): Written => {
  const { resource } = route;
  placeIn(context, route, object, namespaces);
  const metadata = metadataOf(object);
  if (asString(metadata.name) === '' && asString(metadata.generateName) !== '') {
    metadata.name = `${asString(metadata.generateName)}${randomUUID().slice(0, 5)}`;
  }
  delete metadata.deletionTimestamp;
  delete metadata.resourceVersion;
  metadata.uid = randomUUID();
  metadata.creationTimestamp = formatTime(context.now());
  checked(context, resource, object, undefined);
  if (context.store.get(resource, storageKey(route.namespace, nameOf(object))) !== undefined)
    throw alreadyExists(resource, nameOf(object));
  return { code: 201, body: context.store.put(resource, object) };
};

/** POST to a collection. `namespaces` is the resource that namespaced objects need one of. */
export const create = (context: WriteContext, route: Route, body: string, namespaces: Resource): Written => {
  const object = parseObject(route.resource, body);
  // The real server answers this one with 500.
  if (asString(metadataOf(object).resourceVersion) !== '')
    throw failure(500, '', 'resourceVersion should not be set on objects to be created');
  return insert(context, route, object, namespaces);
};

/** A write through one door leaves what belongs to the other as it was: /status changes status and metadata, the rest all but status. */
const isolated = (route: Route, object: JsonObject, old: JsonObject): JsonObject => {
  if (!route.resource.hasStatus) return object;
  if (route.subresource === 'status')
    return { ...old, metadata: object.metadata ?? {}, ...('status' in object ? { status: object.status ?? {} } : {}) };
  const { status: _sent, ...rest } = object;
  return 'status' in old ? { ...rest, status: clone(old.status ?? {}) } : rest;
};

const replace = (context: WriteContext, route: Route, sent: JsonObject, old: JsonObject): Written => {
  const { resource } = route;
  const object = isolated(route, sent, old);
  const [metadata, before] = [metadataOf(object), metadataOf(old)];
  const version = asString(metadata.resourceVersion);
  if (version !== '' && version !== before.resourceVersion) throw modified(resource, nameOf(old));
  metadata.resourceVersion = before.resourceVersion ?? '';
  for (const key of [
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'generateName',
    'namespace',
  ]) {
    const value = before[key];
    if (value !== undefined) metadata[key] ??= value;
  }
  checked(context, resource, object, old);
  if (sameJson(object, old)) return { code: 200, body: old };
  if (before.deletionTimestamp !== undefined && asList(metadata.finalizers).length === 0) {
    context.store.remove(resource, object);
    return { code: 200, body: object };
  }
  return { code: 200, body: context.store.put(resource, object) };
};

/** PUT of an object or its status. */
export const update = (context: WriteContext, route: Route, body: string, namespaces: Resource): Written => {
  const { resource, namespace, name } = route;
  const object = parseObject(resource, body);
  const metadata = metadataOf(object);
  if (asString(metadata.name) !== name) {
    throw badRequest(
      `the name of the object (${asString(metadata.name)}) does not match the name on the URL (${name})`,
    );
  }
  const old = context.store.get(resource, storageKey(namespace, name));
  if (old === undefined) {
    if (resource.createOnUpdate && route.subresource === '') return insert(context, route, object, namespaces);
    throw notFound(resource, name);
  }
  const uid = asString(metadataOf(old).uid);
  if (asString(metadata.uid) !== '' && metadata.uid !== uid)
    throw otherObject(resource, name, asString(metadata.uid), uid);
  if (asString(metadata.resourceVersion) === '' && !resource.unconditionalUpdate) {
    const cause = invalidValue('metadata.resourceVersion', 0, 'must be specified for an update');
    throw invalid({ ...resource, kind: resource.plural }, name, [cause]);
  }
  return replace(context, route, object, old);
};

const parsePatch = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    throw badRequest('invalid JSON patch');
  }
};

const parseObjectPatch = (body: string): JsonObject => {
  const patch = parsePatch(body);
  if (isObject(patch)) return patch;
  throw badRequest('error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}');
};

const patched = (resource: Resource, old: JsonObject, contentType: string, body: string): JsonObject => {
  switch (contentType.split(';')[0]?.trim()) {
    case 'application/json-patch+json': {
      const operations = parsePatch(body);
      if (!Array.isArray(operations))
        throw badRequest(
          'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
        );
      return jsonPatch(old, operations as Json[]);
    }
    case 'application/merge-patch+json':
      return mergePatch(old, parseObjectPatch(body));
    case 'application/strategic-merge-patch+json':
      return strategicMerge(old, parseObjectPatch(body), resource.merge);
    default:
      throw unsupportedMediaType();
  }
};

/** PATCH of an object or its status. A version in the patch is an optimistic lock, a foreign uid is refused (422, not 409). */
export const patch = (context: WriteContext, route: Route, contentType: string, body: string): Written => {
  const { resource, namespace, name } = route;
  const old = getObject(context.store, resource, namespace, name);
  let result: JsonObject;
  try {
    result = patched(resource, old, contentType, body);
  } catch (error) {
    if (error instanceof PatchFailure) throw patchRefused();
    if (error instanceof UnknownDirective) throw badRequest(error.message);
    throw error;
  }
  const object = decoded(resource, result, undecodablePatch);
  if (nameOf(object) !== name)
    throw badRequest(`the name of the object (${nameOf(object)}) does not match the name on the URL (${name})`);
  return replace(context, route, object, old);
};

/** DELETE of one object: preconditions, then finalizers, then the removal itself. */
export const remove = (context: WriteContext, route: Route, body: string): Written => {
  const { resource, namespace, name } = route;
  if (name === '') throw noSuchResource();
  const old = getObject(context.store, resource, namespace, name);
  const options = body === '' ? {} : parseObjectPatch(body);
  const conditions = asObject(options.preconditions);
  const metadata = metadataOf(old);
  for (const [key, field] of [
    ['uid', 'UID'],
    ['resourceVersion', 'ResourceVersion'],
  ] as const) {
    const sent = conditions[key];
    if (typeof sent === 'string' && sent !== metadata[key])
      throw preconditionFailed(resource, name, field, sent, asString(metadata[key]));
  }
  const waits = asList(metadata.finalizers).length > 0 || resource.kind === 'Namespace';
  if (waits) {
    if (metadata.deletionTimestamp !== undefined) return { code: 200, body: old };
    const deleting: JsonObject = {
      ...old,
      metadata: { ...metadata, deletionTimestamp: formatTime(context.now()), deletionGracePeriodSeconds: 0 },
    };
    if (resource.kind === 'Namespace') deleting.status = { ...asObject(old.status), phase: 'Terminating' };
    return { code: 200, body: context.store.put(resource, deleting) };
  }
  const last = context.store.remove(resource, old);
  if (resource.deleteAnswers === 'object') return { code: 200, body: last };
  const details: JsonObject = {
    name,
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind: resource.plural,
    uid: metadata.uid ?? '',
  };
  return { code: 200, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details } };
};
