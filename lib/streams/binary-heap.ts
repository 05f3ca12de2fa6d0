/** Something a heap holds. It knows its place, so that it can be moved or taken out in O(log n). */
export interface HeapItem {
  /** Written by the heap only. An item is in at most one heap at a time. */
  index: number;
}

/** Priority queue: the item that comes before all others is at the top. */
export interface Heap<T extends HeapItem> {
  readonly size: number;
  peek(): T | undefined;
  push(item: T): void;
  pop(): T | undefined;
  /** Takes out an item that is in this heap. */
  remove(item: T): void;
  /** Restores the order after the item's rank has changed. */
  update(item: T): void;
}

/** `before` must be a strict total order, or equal items come out in any order. */
export function binaryHeap<T extends HeapItem>(before: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = [];
  const at = (index: number) => items[index] as T;
  const put = (item: T, index: number) => {
    items[index] = item;
    item.index = index;
  };

  const up = (item: T) => {
    let index = item.index;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(item, at(parent))) break;
      put(at(parent), index);
      index = parent;
    }
    put(item, index);
  };

  const down = (item: T) => {
    let index = item.index;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && before(at(child + 1), at(child))) child += 1;
      if (!before(at(child), item)) break;
      put(at(child), index);
      index = child;
    }
    put(item, index);
  };

  const update = (item: T) => {
    up(item);
    down(item);
  };

  const remove = (item: T) => {
    const last = items.pop() as T;
    if (last === item) return;
    put(last, item.index);
    update(last);
  };

  return {
    get size() {
      return items.length;
    },
    peek: () => items[0],
    push(item) {
      put(item, items.length);
      up(item);
    },
    pop() {
      const top = items[0];
      if (top !== undefined) remove(top);
      return top;
    },
    remove,
    update,
  };
}
