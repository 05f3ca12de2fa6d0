import { defer, ignoreElements, merge, type Observable, tap } from 'rxjs';
import type { Clock } from '../streams/clock.ts';
import { type LabelSelector, nothing } from './label-selector.ts';
import type { Store, StoreChange } from './store.ts';
import { createStoreContent } from './store-content.ts';
import { type KubeObject, keyOf } from './types.ts';

export interface SelectedStore<T extends KubeObject> {
  readonly store: Store<T>;
  /** Subscribing, before the source is filled, keeps the view in step; it has no values. */
  readonly run$: Observable<never>;
}

/**
 * The objects of a store whose labels match, as a store of its own: one that gains the label is added, one that loses it
 * is deleted, so that whoever reads the view needs to know nothing of labels. An object that is handed over counts as
 * first seen then.
 *
 * @param selector$ what matches; its first value comes at once, each further one is applied to all objects
 */
export function selectedStore<T extends KubeObject>(
  source: Store<T>,
  selector$: Observable<LabelSelector>,
  clock: Pick<Clock, 'monotonic'>,
): SelectedStore<T> {
  const content = createStoreContent<T>();
  let matches: LabelSelector = nothing;

  const put = (object: T, observedAt: number | undefined): void => {
    if (matches(object.labels)) content.apply(object, observedAt ?? clock.monotonic());
    else content.remove(object);
  };
  const follow = ({ type, object }: StoreChange<T>): void => {
    if (type === 'deleted') content.remove(object);
    else put(object, type === 'added' ? source.observedAt(keyOf(object)) : undefined);
  };
  const select = (selector: LabelSelector): void => {
    matches = selector;
    for (const object of source.list()) put(object, undefined);
  };
  return {
    store: {
      get: content.get,
      list: content.list,
      observedAt: content.observedAt,
      watch: content.watch,
      get synced() {
        return source.synced;
      },
      synced$: source.synced$,
    },
    run$: defer(() =>
      merge(selector$.pipe(tap(select)), defer(() => source.watch()).pipe(tap(follow))).pipe(ignoreElements()),
    ),
  };
}
