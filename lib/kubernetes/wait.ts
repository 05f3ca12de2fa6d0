/** setTimeout fires at once beyond this. */
const maxTimer = 2 ** 31 - 1;

/** Resolves after `ms`, or at once when `signal` aborts (the caller looks at the signal). Leaves no timer or listener behind. */
export const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(Math.max(0, ms), maxTimer));
    signal.addEventListener('abort', end);
  });

/** An AbortController that also follows `parent`; `unlink` must be called when it is no longer needed. */
export const linkedController = (parent: AbortSignal): { controller: AbortController; unlink: () => void } => {
  const controller = new AbortController();
  const follow = (): void => controller.abort(parent.reason);
  if (parent.aborted) follow();
  else parent.addEventListener('abort', follow);
  return { controller, unlink: () => parent.removeEventListener('abort', follow) };
};
