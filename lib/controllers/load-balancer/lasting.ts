import { classOf, HetznerError, isNotFound } from '../../hetzner/errors.ts';
import type { Failure } from './apply.ts';
import type { LoadBalancerChange } from './plan.ts';

/** What is refused for good is asked for again after this, in ms, or when the Service changes. */
export const lastingRetry = 3_600_000;

/** Codes by which Hetzner says that a request makes no sense, whatever else changes there. */
const codes: readonly string[] = ['invalid_input', 'unsupported_error', 'json_error'];

/** Changes that consist of what the Service says alone: the others depend on servers and networks, which come and go. */
const ownKinds: readonly LoadBalancerChange['kind'][] = [
  'update',
  'changeDNSPtr',
  'changeAlgorithm',
  'changeType',
  'addService',
  'updateService',
];

const isLasting = (err: unknown): boolean =>
  err instanceof HetznerError && classOf(err) === 'permanent' && codes.includes(err.code);

/** Failures in a row, some five minutes, for which a refusal may be a mistake of Hetzner. */
const patience = 7;

/** True when only a change of the Service helps. */
export const areLasting = (failures: readonly Failure[], attempt: number): boolean =>
  attempt >= patience && failures.every(({ change, err }) => ownKinds.includes(change.kind) && isLasting(err));

/** The same of a load balancer that could not even be made without listeners and targets. */
export const isLastingCreation = (err: unknown, attempt: number): boolean =>
  attempt >= patience && (isLasting(err) || isNotFound(err));

/** How a user is told when the next try is. */
export const lastingText = 'it is tried again when the Service changes, else in an hour';
