/**
 * The bytes of `source`; calls `onIdle` once when none came for `limit` ms.
 * `onIdle` is expected to abort the source: a half-open connection never ends by itself.
 */
export async function* idleGuard(
  source: AsyncIterable<Uint8Array>,
  limit: number,
  onIdle: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let timer = setTimeout(onIdle, limit);
  try {
    for await (const chunk of source) {
      clearTimeout(timer);
      yield chunk;
      timer = setTimeout(onIdle, limit);
    }
  } finally {
    clearTimeout(timer);
  }
}
