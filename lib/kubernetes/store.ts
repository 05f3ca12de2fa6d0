import type { Observable } from 'rxjs';
import type { KubeObject } from './types.ts';

/** One difference between what the store held and what it holds now. A uid change is `deleted`, then `added`. */
export interface StoreChange<T> {
  readonly key: string;
  readonly type: 'added' | 'updated' | 'deleted';
  /** The object now; for `deleted` its last known state. */
  readonly object: T;
  /** The object before, for `updated`. */
  readonly previous?: T;
  /** Part of the content at subscribe time or of the first list. */
  readonly initial: boolean;
}

/** The read side: the collection as last seen. Always changed before anyone is told. */
export interface Store<T extends KubeObject> {
  get(key: string): T | undefined;
  /** The same array until something changes. */
  list(): readonly T[];
  /** clock.monotonic() when this uid was first seen here; for objects of the first list, when that list was requested. */
  observedAt(key: string): number | undefined;
  /** True once the first list was complete; never false again. */
  readonly synced: boolean;
  /** `synced` now and, where false, when it turns true. */
  readonly synced$: Observable<boolean>;
  /** Current content as `added` (initial: true), then live changes. */
  watch(): Observable<StoreChange<T>>;
}
