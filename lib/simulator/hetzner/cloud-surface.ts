import { type JsonObject, parseBody } from './body.ts';
import { ApiProblem, envelope } from './problem.ts';
import type { RateLimit } from './rate-limit.ts';
import { actions } from './resources/actions.ts';
import { datacenters, locations, serverTypes } from './resources/catalogue.ts';
import { certificates } from './resources/certificates.ts';
import { loadBalancers, loadBalancerTypes } from './resources/load-balancers.ts';
import { networks } from './resources/networks.ts';
import { servers } from './resources/servers.ts';
import { createRouter, type Reply, type Route } from './router.ts';
import { type Draft, type Surface, startAction, type Visit } from './surface.ts';

/** All resources of the Cloud API. A further one is added here with its table of routes. */
const routes: readonly Route[] = [
  ...servers,
  ...networks,
  ...loadBalancers,
  ...certificates,
  ...actions,
  ...locations,
  ...serverTypes,
  ...loadBalancerTypes,
  ...datacenters,
];

const commonHeaders = {
  'Access-Control-Allow-Credentials': 'true',
  'Access-Control-Allow-Origin': '*',
  'Strict-Transport-Security': 'max-age=15724800; includeSubDomains',
  Vary: 'Accept-Encoding',
};

function authenticate({ request, world }: Visit): void {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (token === undefined) throw new ApiProblem(401, 'unauthorized', 'token is required');
  if (token !== world.settings.token)
    throw new ApiProblem(401, 'unauthorized', 'the token you have provided is invalid');
}

/** Unknown paths are refused before authentication, in another layout than all other errors (seen live). */
const noRoute: Draft = {
  status: 404,
  headers: { ...commonHeaders, 'Content-Type': 'application/json; charset=UTF-8' },
  body: JSON.stringify(envelope('not_found', 'api route not found', null), null, 2),
  code: 'not_found',
};

function run(visit: Visit): Reply {
  const { request, match, world, at, fault } = visit;
  if (fault?.kind === 'error')
    throw new ApiProblem(fault.status, fault.code, fault.message ?? 'made up by the simulator', fault.details ?? null);
  const route = match?.routes.get(request.method);
  if (route === undefined) throw new ApiProblem(405, 'method_not_allowed', 'method not allowed');
  if (world.settings.readOnly && request.method !== 'GET')
    throw new ApiProblem(401, 'token_readonly', 'token is only allowed to perform GET requests');
  const body: JsonObject = parseBody(request.body);
  return route.answer({
    world,
    at,
    request,
    params: match?.params ?? {},
    body,
    start: change => startAction(visit, change),
  });
}

/** The Cloud API below `/v1`: route, authentication, quota, verb, body, handler, in this order. */
export function createCloudSurface(quota: RateLimit): Surface {
  const match = createRouter(routes);
  let answered = 0;
  return {
    prefix: '/v1',
    match,
    answer(visit) {
      if (visit.match === undefined) return noRoute;
      // Hexadecimal and without leading zeros, as on the live API; from a counter, so that runs repeat.
      const correlation = (BigInt(++answered) * 0x9e3779b97f4a7c15f39cc0605cedc835n) & ((1n << 112n) - 1n);
      const headers: Record<string, string> = { ...commonHeaders, 'X-Correlation-Id': correlation.toString(16) };
      let counted = false;
      try {
        authenticate(visit);
        counted = true;
        if (!quota.take(visit.at))
          throw new ApiProblem(429, 'rate_limit_exceeded', `limit of ${quota.limit} requests per hour reached`);
        const reply = run(visit);
        Object.assign(headers, quota.headers(visit.at), reply.headers);
        if (reply.body === undefined) return { status: reply.status, headers, body: '' };
        headers['Content-Type'] = 'application/json';
        return { status: reply.status, headers, body: JSON.stringify(reply.body) };
      } catch (problem) {
        if (!(problem instanceof ApiProblem)) throw problem;
        if (counted) Object.assign(headers, quota.headers(visit.at));
        headers['Content-Type'] = 'application/json';
        const body = JSON.stringify(envelope(problem.code, problem.message, problem.details));
        return { status: problem.status, headers, body, code: problem.code };
      }
    },
  };
}
