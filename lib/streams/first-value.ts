import { finalize, first, type Observable, Subscription } from 'rxjs';

/**
 * The first value of a stream, which is unsubscribed then. Rejects with `signal.reason` when the signal fires before, with
 * the stream's error, or with RxJS's EmptyError when it completes without a value.
 */
export function firstValue<T>(source: Observable<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const subscription = new Subscription();
    const abort = () => {
      reject(signal.reason);
      subscription.unsubscribe();
    };
    signal.addEventListener('abort', abort);
    const removeListener = () => signal.removeEventListener('abort', abort);
    subscription.add(source.pipe(first(), finalize(removeListener)).subscribe({ next: resolve, error: reject }));
  });
}
