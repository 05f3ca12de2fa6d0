/**
 * The bytes of `source`; calls `onIdle` when none came for `limit` ms. That says how many ms more to wait, or (undefined)
 * aborts the source: a half-open connection never ends by itself.
 */
export async function* idleGuard(
  source: AsyncIterable<Uint8Array>,
  limit: number,
  onIdle: () => number | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  let timer: ReturnType<typeof setTimeout>;
  const expire = (): void => {
    const more = onIdle();
    if (more !== undefined) timer = setTimeout(expire, more);
  };
  timer = setTimeout(expire, limit);
  try {
    for await (const chunk of source) {
      clearTimeout(timer);
      yield chunk;
      timer = setTimeout(expire, limit);
    }
  } finally {
    clearTimeout(timer);
  }
}
