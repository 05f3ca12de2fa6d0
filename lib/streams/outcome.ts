/**
 * How one run of a key ended. A run never throws: errors are values (design rule 6).
 *
 * - `done`: converged, the key is forgotten until the next trigger.
 * - `again`: fine so far, look again after `after` ms.
 * - `failed`: try again with backoff.
 * - `rejected`: trying again cannot help; wait until something about the key changes.
 */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly after: number }
  | { readonly kind: 'failed'; readonly err: unknown; readonly after?: number }
  | { readonly kind: 'rejected'; readonly err: unknown };

export const done: Outcome = { kind: 'done' };

/** Look again after `after` ms. */
export const again = (after: number): Outcome => ({ kind: 'again', after });

/** Failed; backs off by the queue's rule, or by exactly `after` ms where the run knows better. */
export const failed = (err: unknown, after?: number): Outcome =>
  after === undefined ? { kind: 'failed', err } : { kind: 'failed', err, after };

/** Failed for good until something changes. */
export const rejected = (err: unknown): Outcome => ({ kind: 'rejected', err });
