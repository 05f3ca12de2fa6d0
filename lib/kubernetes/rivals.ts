import type { Clock } from '../streams/clock.ts';
import { everything, type LabelSelector, parseLabelSelector } from './label-selector.ts';
import { optional, record, text } from './raw.ts';
import { type KubeReader, readAll } from './reader.ts';

/** Annotation of a Lease that names the nodes its holder looks after; without it they are all. */
export const selectorAnnotation = 'instance.hetzner.cloud/node-selector';

/** Another instance of the controller in the same cluster, as its Lease tells. */
export interface Rival {
  readonly lease: string;
  /** As written; empty for all nodes. */
  readonly selector: string;
  readonly matches: LabelSelector;
}

export interface RivalsOptions {
  readonly client: KubeReader;
  readonly clock: Pick<Clock, 'now'>;
  readonly namespace: string;
  /** Name of our own Lease. */
  readonly own: string;
  /** Name of the Lease of an instance without selector; those of others begin with it. */
  readonly base: string;
}

/** A Lease that was not renewed for so long, in ms, by the wall clocks of both sides, is nobody's any more. */
const abandonedAfter = 300_000;

interface LeaseFacts {
  readonly name: string;
  readonly selector: string | undefined;
  readonly created: number;
  readonly isHeld: boolean;
}

/**
 * The instances that were there before this one: whose Lease is older, or has the lesser name where both are of the same
 * second. Where selectors overlap the nodes are theirs. One without selector counts as the first of all, for it looks out
 * for nobody.
 */
export async function earlierRivals(options: RivalsOptions, signal: AbortSignal): Promise<readonly Rival[]> {
  const { client, clock, namespace, own, base } = options;
  const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const leases = await readAll(client, path, raw => factsOf(raw, clock.now()), signal);
  const ours = leases.find(({ name }) => name === own);
  return leases
    .filter(lease => lease.name !== own && lease.isHeld)
    .filter(({ name, selector }) => selector !== undefined || name === base)
    .filter(lease => ours === undefined || lease.selector === undefined || isBefore(lease, ours))
    .map(({ name, selector = '' }) => ({ lease: name, selector, matches: parseLabelSelector(selector) ?? everything }))
    .sort((a, b) => (a.lease < b.lease ? -1 : 1));
}

const isBefore = (a: LeaseFacts, b: LeaseFacts): boolean =>
  a.created < b.created || (a.created === b.created && a.name < b.name);

function factsOf(raw: unknown, now: number): LeaseFacts {
  const metadata = record(record(raw).metadata);
  const spec = record(record(raw).spec);
  const renewed = Date.parse(text(spec.renewTime));
  return {
    name: text(metadata.name),
    selector: optional(record(metadata.annotations)[selectorAnnotation]),
    created: Date.parse(text(metadata.creationTimestamp)),
    isHeld: text(spec.holderIdentity) !== '' && renewed > now - abandonedAfter,
  };
}
