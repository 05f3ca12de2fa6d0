import { resourceVersionOf } from './watch-event.ts';

/** What a Lease says about leadership. */
export interface LeaseRecord {
  /** Empty: nobody. */
  readonly holder: string;
  /** ms the holder may go without a sign of life, by its own word. */
  readonly duration: number;
  readonly transitions: number;
  /** RFC 3339, as read. */
  readonly acquireTime: string | undefined;
  readonly renewTime: string | undefined;
}

/** A Lease as last seen. Who judges it uses only his own clock: the timestamps inside come from someone else's. */
export interface LeaseView {
  readonly record: LeaseRecord;
  readonly resourceVersion: string;
  /** clock.monotonic() when this state of the record was first seen here. */
  readonly observedAt: number;
  /** The object as read, so that fields of others survive our update. */
  readonly raw: Readonly<Record<string, unknown>>;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const number = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0);
const string = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Reads a Lease object; throws when it has no resourceVersion, for then it cannot be updated safely. Missing fields: nobody holds it. */
export const readLease = (raw: unknown, now: number): LeaseView => {
  const resourceVersion = resourceVersionOf(raw);
  if (!isRecord(raw) || resourceVersion === undefined) throw new Error('lease without a resourceVersion');
  const spec = isRecord(raw.spec) ? raw.spec : {};
  return {
    record: {
      holder: string(spec.holderIdentity) ?? '',
      duration: number(spec.leaseDurationSeconds) * 1000,
      transitions: number(spec.leaseTransitions),
      acquireTime: string(spec.acquireTime),
      renewTime: string(spec.renewTime),
    },
    resourceVersion,
    observedAt: now,
    raw,
  };
};

/**
 * The newer view; its clock starts anew only when the record changed. A label someone added to the Lease is not a sign of
 * life of its holder.
 */
export const observe = (before: LeaseView | undefined, seen: LeaseView): LeaseView => {
  if (before === undefined) return seen;
  const a = before.record;
  const b = seen.record;
  const same =
    a.holder === b.holder &&
    a.renewTime === b.renewTime &&
    a.acquireTime === b.acquireTime &&
    a.duration === b.duration &&
    a.transitions === b.transitions;
  return same ? { ...seen, observedAt: before.observedAt } : seen;
};

/** Given away by its holder, as `releasedSpec` does and client-go: the duration tells it from a Lease that was emptied by hand. */
const isReleased = ({ holder, duration }: LeaseRecord): boolean => holder === '' && duration <= 1000;

/**
 * Until when (monotonic) nobody may take a lease though it looks free, `grace` being what held before `seen` was. Who empties
 * or deletes a Lease by hand tells its holder nothing: he goes on until his next renewal. Only his release frees it at once.
 */
export const graceAfter = (
  grace: number,
  before: LeaseView | undefined,
  seen: LeaseView | undefined,
  identity: string,
): number => {
  if (seen !== undefined && isReleased(seen.record)) return Number.NEGATIVE_INFINITY;
  // Where it was emptied before we looked, the holder is unknown and the record all there is to go by.
  const last = before ?? (seen?.record.holder === '' ? seen : undefined);
  if (last === undefined || last.record.holder === identity) return grace;
  if (before !== undefined && before.record.holder === seen?.record.holder) return grace;
  return Math.max(grace, last.observedAt + last.record.duration);
};

export type LeaseDecision =
  /** There is none. */
  | { readonly do: 'create' }
  /** Free, lapsed or ours already. */
  | { readonly do: 'take' }
  /** Someone holds it for at least `lapsesIn` ms more. */
  | { readonly do: 'wait'; readonly lapsesIn: number };

/** Whether `identity` may take the lease at the instant `now` (monotonic), and not in a `grace` (see `graceAfter`). */
export const decide = (
  view: LeaseView | undefined,
  identity: string,
  now: number,
  grace = Number.NEGATIVE_INFINITY,
): LeaseDecision => {
  if (now < grace && view?.record.holder !== identity) return { do: 'wait', lapsesIn: grace - now };
  if (view === undefined) return { do: 'create' };
  const { holder, duration } = view.record;
  if (holder === '' || holder === identity) return { do: 'take' };
  const lapsesIn = view.observedAt + duration - now;
  return lapsesIn <= 0 ? { do: 'take' } : { do: 'wait', lapsesIn };
};

/** The API server wants six digits in a MicroTime. `ms` since the epoch. */
export const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');

export interface LeaseClaim {
  readonly identity: string;
  /** ms */
  readonly duration: number;
  /** Wall clock, ms since the epoch. */
  readonly now: number;
}

/** The spec with which `identity` takes or renews the lease. A holder that goes on keeps acquireTime and transitions. */
export const claimedSpec = (before: LeaseView | undefined, claim: LeaseClaim): Record<string, unknown> => {
  const old = before?.record;
  const goesOn = old?.holder === claim.identity;
  const now = microTime(claim.now);
  return {
    holderIdentity: claim.identity,
    // Whole seconds are all a Lease can say; rounded up, for nobody may take it sooner than we give it up.
    leaseDurationSeconds: Math.max(1, Math.ceil(claim.duration / 1000)),
    acquireTime: (goesOn ? old.acquireTime : undefined) ?? now,
    renewTime: now,
    leaseTransitions: old === undefined ? 0 : old.transitions + (goesOn ? 0 : 1),
  };
};

/** The spec that gives the lease away: no holder, and so short that even those who look at the duration alone wait for a second only. */
export const releasedSpec = (before: LeaseView, now: number): Record<string, unknown> => ({
  holderIdentity: '',
  leaseDurationSeconds: 1,
  acquireTime: microTime(now),
  renewTime: microTime(now),
  leaseTransitions: before.record.transitions,
});

/** What a holder tells of itself on the Lease; undefined takes off what another holder told. */
export type LeaseAnnotations = Readonly<Record<string, string | undefined>>;

const metadataOf = ({ raw }: LeaseView): Readonly<Record<string, unknown>> =>
  isRecord(raw.metadata) ? raw.metadata : {};

export const annotationsOf = (view: LeaseView): Readonly<Record<string, unknown>> => {
  const { annotations } = metadataOf(view);
  return isRecord(annotations) ? annotations : {};
};

/** The object to PUT: the one that was seen with our part of it changed. Its resourceVersion makes the update safe. */
export const updatedLease = (
  view: LeaseView,
  spec: Record<string, unknown>,
  annotations: LeaseAnnotations = {},
): Record<string, unknown> => {
  const present = annotationsOf(view);
  const differs = Object.entries(annotations).some(([key, value]) => present[key] !== value);
  return {
    ...view.raw,
    ...(differs && { metadata: { ...metadataOf(view), annotations: { ...present, ...annotations } } }),
    spec: { ...(isRecord(view.raw.spec) ? view.raw.spec : {}), ...spec },
  };
};
