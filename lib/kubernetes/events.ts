import type { Logger } from '../observability/logger.ts';
import type { Clock } from '../streams/clock.ts';
import type { KubeClient } from './client.ts';
import { isForbidden, isNotFound } from './errors.ts';
import type { EventReason } from './event-reasons.ts';
import { createEventCorrelator, type EventSeries, type EventTarget, type EventType } from './event-series.ts';
import { wait } from './wait.ts';

export type { EventTarget, EventType } from './event-series.ts';

export interface EventRecorder {
  /** Tells users about `target` (`kubectl describe`). Returns at once and never fails: an event is never worth blocking work. */
  event(target: EventTarget, type: EventType, reason: EventReason, message: string): void;
  /** Sends what is waiting, for `closeTimeout` at most, and ends. */
  close(): Promise<void>;
}

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** What `kubectl` shows as the source. */
  readonly component: string;
  /** Host or pod this process is. */
  readonly instance: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** ms, a second when not given. */
  readonly closeTimeout?: number;
}

/** Series that may wait for sending at a time. */
const maxWaiting = 200;
const requestTimeout = 10_000;
const maxMessage = 1024;

/** Event times of core/v1 have whole seconds. */
const seconds = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

const namespaceOf = (target: EventTarget): string => target.namespace || 'default';
const collection = (target: EventTarget): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespaceOf(target))}/events`;

/**
 * Records core/v1 Events. The same event again within ten minutes counts up the Event object there is; events about one target
 * are capped; what cannot be sent is dropped. One request at a time.
 */
export const createEventRecorder = (options: EventRecorderOptions): EventRecorder => {
  const { client, component, instance, clock, logger, closeTimeout = 1000 } = options;
  const correlate = createEventCorrelator();
  const waiting = new Set<EventSeries>();
  const controller = new AbortController();
  const { signal } = controller;
  let names = 0;
  let warned = false;
  let closed = false;
  let sending: Promise<void> | undefined;

  const nameFor = (series: EventSeries): string => {
    names += 1;
    const unique = (BigInt(Math.round(series.firstAt)) * 1_000_000n + BigInt(names)).toString(16);
    return `${series.target.name.slice(0, 200)}.${unique}`;
  };

  const create = async (series: EventSeries): Promise<void> => {
    const { target, type, reason, message } = series;
    const name = nameFor(series);
    const { namespace, ...reference } = target;
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: namespaceOf(target) },
      involvedObject: namespace === '' ? reference : target,
      type,
      reason,
      message,
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
      firstTimestamp: seconds(series.firstAt),
      lastTimestamp: seconds(series.lastAt),
      eventTime: null,
      count: series.count,
    };
    await client.request({ method: 'POST', path: collection(target), body, signal, timeout: requestTimeout });
    series.objectName = name;
  };

  const countUp = async (series: EventSeries, objectName: string): Promise<void> => {
    const path = `${collection(series.target)}/${encodeURIComponent(objectName)}`;
    const body = { count: series.count, lastTimestamp: seconds(series.lastAt) };
    const contentType = 'application/merge-patch+json';
    await client.request({ method: 'PATCH', path, body, contentType, signal, timeout: requestTimeout });
  };

  const send = async (series: EventSeries): Promise<void> => {
    if (series.objectName === undefined) return create(series);
    try {
      await countUp(series, series.objectName);
    } catch (err) {
      if (!isNotFound(err)) throw err;
      // Deleted by someone; the API server forgets them after an hour anyway.
      series.objectName = undefined;
      await create(series);
    }
  };

  const report = (series: EventSeries, err: unknown): void => {
    const fields = { reason: series.reason, key: `${series.target.kind}/${series.target.name}`, err };
    if (isForbidden(err) && !warned) {
      warned = true;
      logger.warn('Was not allowed to record events', fields);
    } else {
      logger.debug('Could not record event', fields);
    }
  };

  const drain = async (): Promise<void> => {
    for (const series of waiting) {
      if (signal.aborted) break;
      // Out of the set first: one more of it meanwhile must be sent, too.
      waiting.delete(series);
      await send(series).catch(err => report(series, err));
    }
    sending = undefined;
  };

  return {
    event: (target, type, reason, message) => {
      if (closed) return;
      const at = { wall: clock.now(), monotonic: clock.monotonic() };
      const series = correlate({ target, type, reason, message: message.slice(0, maxMessage) }, at);
      if (series === undefined || (waiting.size >= maxWaiting && !waiting.has(series))) {
        logger.debug('Dropped event', { reason, key: `${target.kind}/${target.name}` });
        return;
      }
      waiting.add(series);
      sending ??= drain();
    },
    close: async () => {
      closed = true;
      if (sending !== undefined) {
        const deadline = new AbortController();
        await Promise.race([sending, wait(closeTimeout, deadline.signal)]);
        deadline.abort();
      }
      controller.abort();
    },
  };
};
