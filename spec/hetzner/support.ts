import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { HetznerError, type HetznerFault } from '../../lib/hetzner/errors.ts';
import type { CallOptions, Priority } from '../../lib/hetzner/types.ts';
import type { LogFields } from '../../lib/observability/log-keys.ts';
import type { Logger, LogLevel } from '../../lib/observability/logger.ts';
import type { Clock } from '../../lib/streams/clock.ts';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers one request; does nothing to leave it unanswered. */
export type Handler = (request: Received, response: ServerResponse) => void;

/** A loopback server that keeps what it received; closed with the test. */
export const listen = async (t: TestContext, handler: Handler) => {
  const received: Received[] = [];
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', chunk => chunks.push(chunk));
    message.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const request = { method: message.method ?? '', url: message.url ?? '', headers: message.headers, body };
      received.push(request);
      handler(request, response);
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, server };
};

/** Answers with JSON. */
export const reply = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? '' : JSON.stringify(body));
};

export interface Line {
  readonly level: LogLevel;
  readonly msg: string;
  readonly fields: LogFields;
}

/** A log that is kept for assertions. */
export const memoryLogger = (): Logger & { readonly lines: Line[] } => {
  const lines: Line[] = [];
  const write =
    (level: LogLevel) =>
    (msg: string, fields: LogFields = {}) => {
      lines.push({ level, msg, fields });
    };
  const logger = {
    lines,
    error: write('error'),
    warn: write('warn'),
    info: write('info'),
    debug: write('debug'),
    isEnabled: () => true,
    child: () => logger,
  };
  return logger;
};

/** Follows Date, which `mock.timers` drives. */
export const virtualClock: Clock = { now: () => Date.now(), monotonic: () => Date.now() };

/** Virtual time of one test, in which promises get their turn between the ticks. */
export const virtualTime = (t: TestContext) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: 1_000_000 });
  const settle = () => new Promise<void>(resolve => setImmediate(resolve));
  return {
    settle,
    /** Lets `ms` pass in steps of `step`; timers of 0 ms take one step. */
    advance: async (ms: number, step = 1) => {
      await settle();
      for (let passed = 0; passed < ms; passed += step) {
        t.mock.timers.tick(Math.min(step, ms - passed));
        await settle();
      }
    },
    /** Steps until the promise is settled. */
    until: async <T>(promise: Promise<T>, step = 1, most = 600_000): Promise<T> => {
      let open = true;
      const close = () => {
        open = false;
      };
      promise.then(close, close);
      await settle();
      for (let passed = 0; open && passed < most; passed += step) {
        t.mock.timers.tick(step);
        await settle();
      }
      if (open) throw new Error(`still pending after ${most} ms`);
      return promise;
    },
  };
};

export const calling = (
  priority: Priority = 'route',
  signal: AbortSignal = new AbortController().signal,
): CallOptions => ({
  priority,
  signal,
});

export const hetznerError = (fault: Partial<HetznerFault> = {}): HetznerError =>
  new HetznerError({
    api: 'cloud',
    status: 503,
    code: 'unavailable',
    message: 'try later',
    method: 'GET',
    route: '/servers',
    ...fault,
  });

export const refusal = (): HetznerError =>
  hetznerError({ status: 429, code: 'rate_limit_exceeded', message: 'limit of 3600 requests per hour reached' });

/** What a promise was rejected with. */
export const rejection = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise;
  } catch (err) {
    return err;
  }
  throw new Error('was not rejected');
};
