/**
 * The bytes of `source`; calls `onIdle` once when none came for `limit()` ms. `limit` is asked anew with every chunk.
 * `onIdle` is expected to abort the source: a half-open connection never ends by itself.
 */
export async function* idleGuard(
  source: AsyncIterable<Uint8Array>,
  limit: () => number,
  onIdle: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let timer = setTimeout(onIdle, limit());
  try {
    for await (const chunk of source) {
      clearTimeout(timer);
      yield chunk;
      // Armed after the chunk was handled: its events may have changed the limit.
      clearTimeout(timer);
      timer = setTimeout(onIdle, limit());
    }
  } finally {
    clearTimeout(timer);
  }
}
