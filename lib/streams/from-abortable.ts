import { Observable } from 'rxjs';

/**
 * The result of an async function as a stream. The function is called on subscription; unsubscribing before it has ended fires
 * its signal, and what it says afterwards is ignored. A throw becomes an error.
 */
export function fromAbortable<T>(f: (signal: AbortSignal) => Promise<T>): Observable<T> {
  return new Observable(subscriber => {
    const controller = new AbortController();
    let ended = false;
    // Added first, so that it also holds when `f` makes the subscriber leave. No abort after the end: the value may still use the signal.
    subscriber.add(() => {
      if (!ended) controller.abort();
    });
    f(controller.signal).then(
      value => {
        ended = true;
        subscriber.next(value);
        subscriber.complete();
      },
      err => {
        ended = true;
        subscriber.error(err);
      },
    );
  });
}
