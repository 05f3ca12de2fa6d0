import { isNewerVersion } from '../../kubernetes/resource-version.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import { type Block, blockText, contains, overlaps, parseIPv4CIDR } from '../ip.ts';
import { createSlots, type Slots } from './slots.ts';

/** What the pool knows of a Node. */
export type Holder = Pick<KubeNode, 'name' | 'uid' | 'resourceVersion' | 'creationTimestamp' | 'podCIDRs'>;

/** A block that is kept for a Node until it is known to have one. */
export interface Reservation {
  readonly block: Block;
  /** A write may still be under way that gives it to the Node. */
  readonly unsure: boolean;
}

/** Which blocks are taken: by all Nodes, in the ranges or not, and by reservations. IPv4 only. */
export interface Pool {
  /**
   * What the Node has is taken from now on, and a Node that has something needs no reservation. News older than what is
   * known are ignored.
   */
  observe(node: Holder): void;
  /** The API server's versions went back (a restored backup): what it says now counts. */
  accept(node: Holder): void;
  /** The Node is gone, and with it what it had and what was kept for it. */
  forget(uid: string): void;
  reservedFor(uid: string): Reservation | undefined;
  /** A free block of the range; undefined when there is none. It stays free. */
  next(range: Block): Block | undefined;
  /** Keeps the block for the Node, instead of another one, until it has one or is gone. */
  reserve(uid: string, block: Block): void;
  /** Tells whether a write may still be under way. */
  setUnsure(uid: string, unsure: boolean): void;
  /** Begins to count what is used in a range. */
  open(range: Block): void;
}

export interface PoolOptions {
  /** Prefix length of the blocks that are handed out. */
  readonly maskSize: number;
  /** Called after each change of what is used in a range. */
  readonly onUsage: (range: string, usage: { readonly used: number; readonly size: number }) => void;
  /** Called when a range has more room than before. */
  readonly onFreed: (range: string) => void;
  /** Called when the CIDRs of a Node turn out to overlap those of others, in a range. */
  readonly onShared: (holder: Holder, others: readonly Holder[]) => void;
}

const blocksOf = ({ podCIDRs }: Holder): readonly Block[] =>
  podCIDRs.map(parseIPv4CIDR).filter(block => block !== undefined);

export function createPool({ maskSize, onUsage, onFreed, onShared }: PoolOptions): Pool {
  const holders = new Map<string, { readonly holder: Holder; readonly blocks: readonly Block[] }>();
  const reservations = new Map<string, Reservation>();
  const ranges = new Map<string, Slots>();

  const tell = (range: string, slots: Slots): void => onUsage(range, { used: slots.used(), size: slots.size });

  /** True when one of the blocks is not alone in a slot. */
  const take = (blocks: readonly Block[]): boolean => {
    let shared = false;
    for (const [range, slots] of ranges) {
      for (const block of blocks) shared = slots.take(block) || shared;
      if (blocks.length > 0) tell(range, slots);
    }
    return shared;
  };
  const free = (blocks: readonly Block[]): void => {
    const roomier = new Set<string>();
    for (const [range, slots] of ranges) {
      for (const block of blocks) if (slots.free(block) > 0) roomier.add(range);
      if (blocks.length > 0) tell(range, slots);
    }
    for (const range of roomier) onFreed(range);
  };

  const tellSharers = (holder: Holder, blocks: readonly Block[]): void => {
    const others = [...holders.values()].filter(
      other =>
        other.holder.uid !== holder.uid && other.blocks.some(theirs => blocks.some(one => overlaps(one, theirs))),
    );
    if (others.length > 0)
      onShared(
        holder,
        others.map(other => other.holder),
      );
  };

  /** The search begins behind the block of the youngest Node, which was the last to be handed out, by whoever led then. */
  const slotsOf = (range: Block): Slots => {
    const text = blockText(range);
    const known = ranges.get(text);
    if (known !== undefined) return known;
    const slots = createSlots(range, maskSize);
    ranges.set(text, slots);
    let youngest = Number.NEGATIVE_INFINITY;
    for (const { holder, blocks } of holders.values()) {
      for (const block of blocks) {
        if (slots.take(block)) tellSharers(holder, [block]);
        if (holder.creationTimestamp < youngest || !contains(range, block)) continue;
        youngest = holder.creationTimestamp;
        slots.continueBehind(block);
      }
    }
    for (const { block } of reservations.values()) slots.take(block);
    tell(text, slots);
    return slots;
  };

  const release = (uid: string): void => {
    const reservation = reservations.get(uid);
    reservations.delete(uid);
    if (reservation !== undefined) free([reservation.block]);
  };

  const accept = ({ name, uid, resourceVersion, creationTimestamp, podCIDRs }: Holder): void => {
    const before = holders.get(uid);
    const holder = { name, uid, resourceVersion, creationTimestamp, podCIDRs };
    const blocks = blocksOf(holder);
    holders.set(uid, { holder, blocks });
    if (before?.holder.podCIDRs.join() === podCIDRs.join()) return;
    const kept = podCIDRs.length === 0 ? undefined : reservations.get(uid);
    if (kept !== undefined) reservations.delete(uid);
    const had = [...(before?.blocks ?? []), ...(kept === undefined ? [] : [kept.block])];
    // What was kept for it is what it has now: nothing changes hands.
    if (had.map(blockText).join() === blocks.map(blockText).join()) return;
    if (take(blocks)) tellSharers(holder, blocks);
    free(had);
  };

  return {
    observe(node) {
      const known = holders.get(node.uid)?.holder.resourceVersion ?? '';
      if (!isNewerVersion(known, node.resourceVersion)) accept(node);
    },
    accept,
    forget(uid) {
      release(uid);
      const blocks = holders.get(uid)?.blocks ?? [];
      holders.delete(uid);
      free(blocks);
    },
    reservedFor: uid => reservations.get(uid),
    next: range => slotsOf(range).next(),
    reserve(uid, block) {
      const kept = reservations.get(uid);
      if (kept !== undefined && blockText(kept.block) === blockText(block)) return;
      release(uid);
      reservations.set(uid, { block, unsure: false });
      take([block]);
      for (const slots of ranges.values()) slots.continueBehind(block);
    },
    setUnsure(uid, unsure) {
      const reservation = reservations.get(uid);
      if (reservation !== undefined) reservations.set(uid, { ...reservation, unsure });
    },
    open: range => void slotsOf(range),
  };
}
