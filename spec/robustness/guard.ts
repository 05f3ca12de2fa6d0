import type { Exchanger } from '../../lib/simulator/kubernetes/dispatcher.ts';
import type { Interleaving } from '../support/interleaving.ts';
import { nodePath } from '../support/nodes.ts';
import type { VirtualController } from '../support/virtual-app.ts';
import { type Course, serverOf } from './course.ts';

/** Watches over what must hold at each moment of a course. */
export interface Guard extends Pick<Interleaving, 'between'> {
  watch(course: Course): void;
  /** That process is no more, and with it what it knew of refusals; looks through its log for runs that overlapped. */
  restarted(controller: VirtualController): void;
  readonly violations: readonly string[];
}

/** ms for which a pipeline goes one change at a time after a refusal. */
const serialFor = 600_000;
/** An answer may be on its way for so long, in ms, and changes that were sent before it comes may arrive. */
const slack = 4_000;
/** A server of a name for so long, in ms, may be known to the controller. */
const knownAfter = 3_600_000;

export const createGuard = (): Guard => {
  const violations: string[] = [];
  let course: Course | undefined;
  /** By network: when a change of it was refused. */
  const refusedAt = new Map<string, number>();

  /** No Node of an existing server is deleted. */
  const aroundDeletion = (name: string, run: () => void): void => {
    const v = course?.v;
    const node = v?.node(name);
    const server = v && node && serverOf(v, node);
    run();
    if (v === undefined || server === undefined || v.kubernetes.get(nodePath(name)) !== undefined) return;
    // One that was never tied to a server may get one of its name at the very last moment.
    if (node?.spec.providerID === undefined && v.now() - Date.parse(server.created) < knownAfter) return;
    violations.push(`${v.now()}: deleted Node ${name} of server ${server.id}`);
  };

  /** After a refusal no change of a network is sent while another of ours runs. */
  const aroundChange = (network: string, run: () => void): void => {
    const v = course?.v;
    if (v === undefined) {
      run();
      return;
    }
    const now = v.now();
    const refused = refusedAt.get(network) ?? Number.NEGATIVE_INFINITY;
    const isSerial = now - refused > slack && now - refused < serialFor - slack;
    const running = v.hetzner
      .actions()
      .filter(
        ({ done, command, resources }) =>
          !done && command.endsWith('_route') && resources.some(one => String(one.id) === network),
      );
    const before = v.hetzner.count({ method: 'POST' });
    run();
    // An answer that got lost leaves an action nobody knows of.
    if (isSerial && running.length > 0 && course?.faulty === false)
      violations.push(`${now}: a change of network ${network} while ${running.map(({ command }) => command)} runs`);
    const last = v.hetzner.requests.at(-1);
    if (v.hetzner.count({ method: 'POST' }) > before && (last?.status === 423 || last?.status === 409))
      refusedAt.set(network, now);
  };

  /** No two runs of one key at once, by what the log says of their ends and durations. */
  const checkRuns = (controller: VirtualController): void => {
    const ends = new Map<string, number>();
    for (const line of controller.lines()) {
      if (typeof line.controller !== 'string' || typeof line.key !== 'string') continue;
      if (!/^(Reconciled|Failed to reconcile)/.test(line.msg)) continue;
      // Each network has routes of its own.
      if (line.controller === 'route' && (course?.networks.length ?? 0) > 1) continue;
      const end = Date.parse(String(line.ts));
      const started = end - (typeof line.durationMs === 'number' ? line.durationMs : 0);
      const key = `${line.controller} ${line.key}`;
      // Durations are rounded.
      if (started + 1 < (ends.get(key) ?? 0)) violations.push(`two runs of ${key} at once, until ${line.ts}`);
      ends.set(key, end);
    }
  };

  return {
    watch: watched => {
      course = watched;
    },
    restarted: controller => {
      refusedAt.clear();
      checkRuns(controller);
    },
    violations,
    between: (api, inner): Exchanger => ({
      exchange: (request, answer) => {
        let leave = (): void => {};
        const run = (): void => {
          leave = inner.exchange(request, answer);
        };
        const node = /\/api\/v1\/nodes\/([^/?]+)$/.exec(request.url)?.[1];
        const network = /\/networks\/(\d+)\/actions\/\w+$/.exec(request.url)?.[1];
        if (api === 'kubernetes' && request.method === 'DELETE' && node !== undefined) aroundDeletion(node, run);
        else if (api === 'hetzner' && request.method === 'POST' && network !== undefined) aroundChange(network, run);
        else run();
        return () => leave();
      },
    }),
  };
};
