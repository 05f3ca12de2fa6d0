import { Observable } from 'rxjs';

/**
 * The result of an async function as a stream. The function is called on subscription; unsubscribing before it has ended fires
 * its signal, and what it says afterwards is ignored. A throw becomes an error and fires the signal, too: what the function had
 * going beside what failed (`Promise.all`) ends with it.
 */
export function fromAbortable<T>(f: (signal: AbortSignal) => Promise<T>): Observable<T> {
  return new Observable(subscriber => {
    const controller = new AbortController();
    let answered = false;
    // Added first, so that it also holds when `f` makes the subscriber leave. No abort after a value, which may
    // still use the signal.
    subscriber.add(() => {
      if (!answered) controller.abort();
    });
    f(controller.signal).then(
      value => {
        answered = true;
        subscriber.next(value);
        subscriber.complete();
      },
      err => subscriber.error(err),
    );
  });
}
