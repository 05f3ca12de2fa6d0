import { BehaviorSubject, defer, filter, type Observable, tap } from 'rxjs';
import type { Clock } from '../streams/clock.ts';
import type { ListWatchEvent } from './list-watch.ts';
import type { Store } from './store.ts';
import { createStoreContent } from './store-content.ts';
import { type KubeObject, keyOf } from './types.ts';

export type ListWatchError = Extract<ListWatchEvent<never>, { type: 'error' }>;

export interface Reflector<T extends KubeObject> {
  readonly store: Store<T>;
  /** Subscribing keeps the store in step with the API server; emits the errors on the way, each with its retry delay. */
  readonly run$: Observable<ListWatchError>;
}

const isError = <T>(event: ListWatchEvent<T>): event is ListWatchError => event.type === 'error';

/**
 * Writes list/watch events into a store. Objects of a list wait in a side buffer until the list is complete, so no reader
 * ever sees half of one; then the store's content is swapped and the differences are told.
 */
export const createReflector = <T extends KubeObject>(options: {
  readonly events$: Observable<ListWatchEvent<T>>;
  readonly clock: Clock;
}): Reflector<T> => {
  const { events$, clock } = options;
  const content = createStoreContent<T>();
  const synced$ = new BehaviorSubject(false);
  let listed = new Map<string, T>();
  let listedAt = 0;

  const write = (event: ListWatchEvent<T>): void => {
    switch (event.type) {
      case 'init':
        listed = new Map();
        listedAt = clock.monotonic();
        break;
      case 'initApply':
        listed.set(keyOf(event.object), event.object);
        break;
      case 'initDone': {
        const first = !synced$.value;
        // Objects that a later list brings were first seen when it came, not when it was asked for.
        content.replace(listed, first ? listedAt : clock.monotonic(), first);
        listed = new Map();
        if (first) synced$.next(true);
        break;
      }
      case 'apply':
        content.apply(event.object, clock.monotonic());
        break;
      case 'delete':
        content.remove(event.object);
        break;
      case 'error':
        break;
    }
  };

  return {
    store: {
      get: content.get,
      list: content.list,
      observedAt: content.observedAt,
      watch: content.watch,
      get synced() {
        return synced$.value;
      },
      synced$: synced$.asObservable(),
    },
    run$: defer(() => events$.pipe(tap(write), filter(isError))),
  };
};
