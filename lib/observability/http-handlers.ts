import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Health, HealthResult } from './health.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

const plain = 'text/plain; charset=utf-8';

const answer = (req: IncomingMessage, res: ServerResponse, status: number, body: string, type = plain): void => {
  res.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 405 && { allow: 'GET, HEAD' }),
    // A body that is not read would be taken for the next request.
    ...(req.method !== 'GET' && req.method !== 'HEAD' && { connection: 'close' }),
  });
  res.end(req.method === 'HEAD' ? undefined : body);
};

type Route = (req: IncomingMessage, res: ServerResponse, query: URLSearchParams) => void;

const router =
  (routes: ReadonlyMap<string, Route>): RequestListener =>
  (req, res) => {
    const [path = '', query = ''] = (req.url ?? '').split('?', 2);
    const route = routes.get(path);
    if (route === undefined) return answer(req, res, 404, 'not found\n');
    if (req.method !== 'GET' && req.method !== 'HEAD') return answer(req, res, 405, 'method not allowed\n');
    return route(req, res, new URLSearchParams(query));
  };

/** `/metrics` and nothing else. */
export const metricsHandler = (metrics: Metrics): RequestListener =>
  router(
    new Map([
      [
        '/metrics',
        (req, res) => {
          metrics.render().then(
            text => answer(req, res, 200, text, metrics.contentType),
            () => answer(req, res, 500, 'metrics failed\n'),
          );
        },
      ],
    ]),
  );

/** As Kubernetes' programs answer: "ok", or one line a check when asked to or when one fails. Names only, no reasons. */
export const healthText = (probe: string, { ok, checks }: HealthResult, verbose: boolean): string => {
  if (ok && !verbose) return 'ok';
  const lines = checks.map(({ name, reason }) => (reason === undefined ? `[+]${name} ok` : `[-]${name} failed`));
  return [...lines, `${probe} check ${ok ? 'passed' : 'failed'}`, ''].join('\n');
};

/**
 * Writes one line when the set of failing checks changes, not one for each question. Before it has passed for the first time
 * a check does not fail, the process is starting: probes ask from the first second on, and that is no trouble.
 */
const changeLog = (logger: Logger) => {
  const passed = new Set<string>();
  let failing = new Set<string>();
  return ({ checks }: HealthResult): void => {
    const now = new Set<string>();
    for (const { name: check, reason } of checks) {
      if (reason === undefined) {
        if (failing.has(check) && passed.has(check)) logger.info('Passed health check again', { check });
        passed.add(check);
        continue;
      }
      now.add(check);
      if (!failing.has(check)) logger[passed.has(check) ? 'warn' : 'debug']('Failed health check', { check, reason });
    }
    failing = now;
  };
};

/** `/livez`, `/readyz`, `/healthz`. A failing check answers 500, as in Kubernetes' programs. */
export const healthHandler = (health: Health, logger: Logger): RequestListener => {
  const route = (probe: string, ask: () => HealthResult): [string, Route] => {
    const note = changeLog(logger);
    return [
      `/${probe}`,
      (req, res, query) => {
        const result = ask();
        note(result);
        answer(req, res, result.ok ? 200 : 500, healthText(probe, result, query.has('verbose')));
      },
    ];
  };
  return router(new Map([route('livez', health.live), route('readyz', health.ready), route('healthz', health.all)]));
};
