import { ApiProblem } from './problem.ts';
import { metadata } from './resources/metadata.ts';
import { createRouter } from './router.ts';
import { type Draft, type Surface, startAction } from './surface.ts';

const plain = (status: number, body: string): Draft => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8' },
  body,
});

/** The metadata service below `/hetzner/v1/metadata`, for the server that `serverId` names. */
export function createMetadataSurface(serverId: () => number | undefined): Surface {
  const match = createRouter(metadata(serverId));
  return {
    prefix: '/hetzner/v1/metadata',
    match,
    answer(visit) {
      const { world, at, request, match: found, fault } = visit;
      if (fault?.kind === 'error') return plain(fault.status, fault.message ?? fault.code);
      const route = found?.routes.get(request.method);
      if (route === undefined) return plain(404, 'not found');
      try {
        const call = { world, at, request, params: {}, body: {}, start: startAction.bind(undefined, visit) };
        const reply = route.answer(call);
        return plain(reply.status, String(reply.body));
      } catch (problem) {
        if (problem instanceof ApiProblem) return plain(problem.status, problem.message);
        throw problem;
      }
    },
  };
}
