import { binaryHeap, type HeapItem } from './binary-heap.ts';
import type { Trigger } from './workqueue.ts';

/** One key that waits or runs. The fields describe its next run, or its present one until a trigger comes in. */
export interface Entry extends HeapItem {
  readonly key: string;
  state: 'delayed' | 'ready' | 'running';
  reason: string;
  priority: number;
  /** Instant from which it may run, so also the one since which it is ready. */
  runAt: number;
  /** Failures in a row before the next run. */
  attempt: number;
  /** Triggered while running. */
  dirty: boolean;
  /** Waits because of its own last outcome; such a reason gives way to that of a trigger that is not later. */
  own: boolean;
  /** Order among the ready ones, lower first. */
  rank: number;
  /** Order of arrival, for equal ranks. */
  seq: number;
}

/** What an outcome asks for. */
export interface Retry {
  readonly reason: string;
  readonly priority: number;
  /** ms */
  readonly after: number;
}

/** Which keys wait, which are ready and which run. All operations are O(log n); `now` never goes back. */
export interface Backlog {
  readonly ready: number;
  readonly delayed: number;
  readonly running: number;
  /** Instant at which the next delayed key is due. */
  nextDue(): number | undefined;
  add(trigger: Trigger, now: number): void;
  /** Makes the delayed keys ready whose time has come. */
  promote(now: number): void;
  /** The first ready key, from now on running. */
  take(): Entry | undefined;
  /** Its run is over. It waits again when triggered meanwhile or when `retry` says so, otherwise it is forgotten. */
  release(entry: Entry, attempt: number, retry: Retry | undefined, now: number): void;
}

/**
 * The dirty and processing sets of client-go's work queue (`util/workqueue/queue.go`), with run times and priorities.
 *
 * A ready key gains one priority level per `ageing` ms. As all keys age alike, their order never changes while they wait,
 * so one fixed rank does: the instant since which the key is ready, moved back by `ageing` for each level.
 */
export function keyedBacklog(ageing: number): Backlog {
  const entries = new Map<string, Entry>();
  const ready = binaryHeap<Entry>((a, b) => (a.rank === b.rank ? a.seq < b.seq : a.rank < b.rank));
  const delayed = binaryHeap<Entry>((a, b) => (a.runAt === b.runAt ? a.seq < b.seq : a.runAt < b.runAt));
  let seq = 0;

  const makeReady = (entry: Entry) => {
    entry.state = 'ready';
    entry.rank = entry.runAt - entry.priority * ageing;
    ready.push(entry);
  };

  const makeDelayed = (entry: Entry) => {
    entry.state = 'delayed';
    delayed.push(entry);
  };

  /** Reason: the first stays. Priority: the highest. Run time: the earliest. */
  const merge = (entry: Entry, reason: string, priority: number, runAt: number) => {
    if (entry.own && runAt <= entry.runAt) Object.assign(entry, { own: false, reason });
    entry.priority = Math.max(entry.priority, priority);
    if (runAt >= entry.runAt) return;
    entry.runAt = runAt;
    entry.seq = ++seq;
  };

  const addToKnown = (entry: Entry, reason: string, priority: number, runAt: number, now: number) => {
    if (entry.state === 'running') {
      if (entry.dirty) return merge(entry, reason, priority, runAt);
      Object.assign(entry, { dirty: true, own: false, reason, priority, runAt });
      return;
    }
    merge(entry, reason, priority, runAt);
    if (entry.state === 'ready') {
      entry.rank = entry.runAt - entry.priority * ageing;
      ready.update(entry);
    } else if (entry.runAt <= now) {
      delayed.remove(entry);
      makeReady(entry);
    } else {
      delayed.update(entry);
    }
  };

  return {
    get ready() {
      return ready.size;
    },
    get delayed() {
      return delayed.size;
    },
    get running() {
      return entries.size - ready.size - delayed.size;
    },
    nextDue: () => delayed.peek()?.runAt,

    add({ key, reason, priority = 0, after = 0 }, now) {
      const runAt = after > 0 ? now + after : now;
      const known = entries.get(key);
      if (known !== undefined) return addToKnown(known, reason, priority, runAt, now);
      const entry: Entry = {
        ...{ key, reason, priority, runAt, attempt: 0, dirty: false, own: false },
        ...{ state: 'ready', rank: 0, seq: ++seq, index: 0 },
      };
      entries.set(key, entry);
      if (runAt > now) makeDelayed(entry);
      else makeReady(entry);
    },

    promote(now) {
      for (let next = delayed.peek(); next !== undefined && next.runAt <= now; next = delayed.peek()) {
        delayed.remove(next);
        makeReady(next);
      }
    },

    take() {
      const entry = ready.pop();
      if (entry === undefined) return undefined;
      entry.state = 'running';
      entry.dirty = false;
      return entry;
    },

    release(entry, attempt, retry, now) {
      if (retry === undefined && !entry.dirty) {
        entries.delete(entry.key);
        return;
      }
      entry.attempt = attempt;
      if (retry !== undefined) {
        const runAt = retry.after > 0 ? now + retry.after : now;
        if (entry.dirty) merge(entry, entry.reason, retry.priority, runAt);
        else Object.assign(entry, { own: true, reason: retry.reason, priority: retry.priority, runAt });
      }
      // Joins at the end: a key that is triggered all the time must not overtake the others.
      entry.runAt = Math.max(entry.runAt, now);
      entry.seq = ++seq;
      // A run's own wish always takes the way over the timer, so that a synchronous run cannot spin for ever.
      if (entry.own || entry.runAt > now) makeDelayed(entry);
      else makeReady(entry);
    },
  };
}
