import { type Block, contains, overlaps } from '../ip.ts';

/** A range cut into slots of one size, and how many blocks lie in each. */
export interface Slots {
  readonly range: Block;
  readonly size: number;
  /** Slots with anything in them. */
  used(): number;
  /** Counts the block in each slot it reaches into, whatever its size; true when it is not alone in all of them. */
  take(block: Block): boolean;
  /** Undoes one `take`; returns how many slots that frees. */
  free(block: Block): number;
  /** The first free slot behind the last one that was given, so that a freed one is the last to be used again. */
  next(): Block | undefined;
  /** The search goes on behind this block. */
  continueBehind(block: Block): void;
}

/** Cuts `range` into slots with the prefix length `maskSize`. 65,536 of them, the most that the settings allow, cost 128 KiB. */
export function createSlots(range: Block, maskSize: number): Slots {
  const size = 2 ** (maskSize - range.prefix);
  const slotSize = 2 ** (32 - maskSize);
  const counts = new Uint16Array(size);
  let used = 0;
  let cursor = 0;
  const slotOf = (address: number): number => Math.floor((address - range.first) / slotSize);

  const span = (block: Block): readonly [number, number] => {
    if (!overlaps(range, block)) return [0, 0];
    const first = Math.max(block.first, range.first);
    const last = Math.min(block.last, range.last);
    return [slotOf(first), slotOf(last) + 1];
  };

  return {
    range,
    size,
    used: () => used,
    take(block) {
      let shared = false;
      const [from, to] = span(block);
      for (let slot = from; slot < to; slot += 1) {
        const before = counts[slot] as number;
        counts[slot] = before + 1;
        if (before === 0) used += 1;
        else shared = true;
      }
      return shared;
    },
    free(block) {
      let freed = 0;
      const [from, to] = span(block);
      for (let slot = from; slot < to; slot += 1) {
        const left = (counts[slot] as number) - 1;
        counts[slot] = left;
        if (left === 0) freed += 1;
      }
      used -= freed;
      return freed;
    },
    next() {
      if (used === size) return undefined;
      const behind = counts.indexOf(0, cursor);
      const first = range.first + (behind < 0 ? counts.indexOf(0) : behind) * slotSize;
      return { first, last: first + slotSize - 1, prefix: maskSize };
    },
    continueBehind(block) {
      if (contains(range, block)) cursor = (slotOf(block.last) + 1) % size;
    },
  };
}
