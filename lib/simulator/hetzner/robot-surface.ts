import type { JsonObject } from './body.ts';
import { ApiProblem } from './problem.ts';
import { robot } from './resources/robot.ts';
import { quotaInterval, type RobotEndpoint, type RobotState } from './robot-state.ts';
import { createRouter, type Reply } from './router.ts';
import { type Draft, type Surface, startAction, type Visit } from './surface.ts';
import type { FakeRequest } from './wire.ts';

const json = { 'Content-Type': 'application/json' };

/** The error envelope of Robot, in which details are fields of their own. */
const refused = ({ status, code, message, details }: ApiProblem): Draft => ({
  status,
  headers: json,
  body: JSON.stringify({ error: { status, code, message, ...details } }),
  code,
});

/** A form as an object; `key[]` is a list. Anything else than a form is no input at all. */
function parseForm({ body = '', headers }: FakeRequest): JsonObject {
  if (body === '' || !/^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')) return {};
  const form = new URLSearchParams(body);
  return Object.fromEntries(
    [...new Set(form.keys())].map(key =>
      key.endsWith('[]') ? [key.slice(0, -2), form.getAll(key)] : [key, form.get(key)],
    ),
  );
}

/** The Robot web service below `/robot`: login, route, quota of the endpoint, handler, in this order. */
export function createRobotSurface(state: RobotState): Surface {
  const match = createRouter(robot(state));

  const run = (visit: Visit): Reply => {
    const { world, at, request, match: found, fault } = visit;
    if (!state.logIn(at, request.headers.authorization)) throw new ApiProblem(401, 'UNAUTHORIZED', 'Unauthorized');
    if (fault?.kind === 'error') {
      const { status, code, message = 'made up by the simulator', details = null } = fault;
      throw new ApiProblem(status, code, message, details);
    }
    const route = found?.routes.get(request.method);
    if (found === undefined || route === undefined) throw new ApiProblem(404, 'NOT_FOUND', 'not found');
    const endpoint = `${route.method} /${found.template.split('/')[1]}` as RobotEndpoint;
    if (!state.take(at, endpoint)) {
      // The name of the first field differs between the documentation and what clients report.
      const limit = state.settings.limits[endpoint];
      const details = { max_request: limit, max_requests: limit, interval: quotaInterval / 1_000 };
      throw new ApiProblem(403, 'RATE_LIMIT_EXCEEDED', 'rate limit exceeded', details);
    }
    const start = startAction.bind(undefined, visit);
    return route.answer({ world, at, request, params: found.params, body: parseForm(request), start });
  };

  return {
    prefix: '/robot',
    match,
    answer(visit) {
      try {
        const { status, body } = run(visit);
        return { status, headers: json, body: JSON.stringify(body) };
      } catch (problem) {
        if (!(problem instanceof ApiProblem)) throw problem;
        const draft = refused(problem);
        const bare = problem.code === 'RATE_LIMIT_EXCEEDED' && state.settings.bareRefusals;
        return bare ? { ...draft, headers: {}, body: '' } : draft;
      }
    },
  };
}
