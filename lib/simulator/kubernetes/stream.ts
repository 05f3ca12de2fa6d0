import type { ApiRequest, ApiResponse, KubernetesApi } from './api.ts';
import type { Watch } from './watch.ts';

/** The answering half of one HTTP exchange, played by a socket or by an undici handler. Nothing is called after `end` or `reset`. */
export interface Answer {
  start(status: number, headers: Readonly<Record<string, string>>): void;
  write(chunk: string): void;
  end(): void;
  /** Cut the connection. */
  reset(): void;
}

/** A watch that is being answered. */
export interface WatchStream {
  readonly request: ApiRequest;
  /** Ends the answer in good order. */
  end(): void;
  /** Cuts the connection. */
  cut(): void;
  /** Delivers nothing more, without closing: a half-open connection. */
  freeze(): void;
  /** Sends half of the next line, then ends. */
  breakNextLine(): void;
  /** Sends each line twice from now on, after the one before it once more. */
  repeat(): void;
  /** The client went away. */
  stop(): void;
}

export interface StreamOptions {
  /** ms between bookmarks. */
  readonly bookmarkInterval: number;
  readonly onClosed: () => void;
}

/** The real server closes a watch without timeoutSeconds after 30 to 60 minutes. */
const DEFAULT_TIMEOUT = 45 * 60 * 1000;
/** The last bookmark of a watch comes this long before its end, as in the real server. */
const LAST_BOOKMARK = 2000;
const MAX_TIMER = 2 ** 31 - 1;

const timeoutOf = (request: ApiRequest): number => {
  const seconds = Number(new URL(request.url, 'http://localhost').searchParams.get('timeoutSeconds') ?? 0);
  return Math.min(seconds > 0 ? seconds * 1000 : DEFAULT_TIMEOUT, MAX_TIMER);
};

/** Answers a watch request line by line until the client leaves, its time is up, or a script ends it. */
export const streamWatch = (
  api: KubernetesApi,
  request: ApiRequest,
  answer: Answer,
  options: StreamOptions,
): WatchStream | ApiResponse => {
  const timers: (NodeJS.Timeout | undefined)[] = [];
  const held: string[] = [];
  let state: 'starting' | 'open' | 'frozen' | 'breaking' | 'closed' = 'starting';
  let watch: Watch | undefined;
  let endsAtStart = false;
  let [repeats, previous] = [false, ''];

  const close = (): boolean => {
    if (state === 'closed') return false;
    state = 'closed';
    for (const timer of timers) clearTimeout(timer);
    watch?.stop();
    options.onClosed();
    return true;
  };
  const end = (): void => {
    if (close()) answer.end();
  };
  const onLine = (line: string): void => {
    if (state === 'starting') held.push(line);
    if (state === 'open') {
      answer.write(line);
      if (repeats) answer.write(previous + line);
      previous = line;
    }
    if (state !== 'breaking') return;
    answer.write(line.slice(0, Math.floor(line.length / 2)));
    end();
  };
  const onEnd = (): void => {
    if (state === 'starting') endsAtStart = true;
    else end();
  };

  const started = api.watch(request, { onLine, onEnd });
  if ('status' in started) return started;
  watch = started;
  state = 'open';
  answer.start(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
  for (const line of held) answer.write(line);

  const bookmark = (): void => started.bookmark();
  const timeout = timeoutOf(request);
  timers.push(setInterval(bookmark, options.bookmarkInterval));
  if (timeout > 2 * LAST_BOOKMARK) timers.push(setTimeout(bookmark, timeout - LAST_BOOKMARK));
  timers.push(setTimeout(() => (state === 'frozen' ? undefined : end()), timeout));
  if (endsAtStart) end();

  return {
    request,
    end,
    cut: () => {
      if (close()) answer.reset();
    },
    freeze: () => {
      if (state === 'open') state = 'frozen';
    },
    breakNextLine: () => {
      if (state === 'open') state = 'breaking';
    },
    repeat: () => {
      repeats = true;
    },
    stop: () => void close(),
  };
};
