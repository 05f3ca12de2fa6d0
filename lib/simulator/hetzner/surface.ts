import type { ActionChange, ActionCourse, ActionRecord } from './actions.ts';
import type { Fault } from './faults.ts';
import type { Match } from './router.ts';
import type { FakeRequest } from './wire.ts';
import type { World } from './world.ts';

/** One API behind a path prefix: its routes, its way to authenticate, to count and to refuse. */
export interface Surface {
  readonly prefix: string;
  match(path: string): Match | undefined;
  answer(visit: Visit): Draft;
}

/** One request on its way through a surface. */
export interface Visit {
  readonly world: World;
  readonly at: number;
  readonly request: FakeRequest;
  readonly match: Match | undefined;
  /** The fault that strikes this request. A surface answers `error` in its own envelope; the rest is done around it. */
  readonly fault: Fault | undefined;
  /** Actions that the request started. */
  readonly actions: ActionRecord[];
}

/** An answer before its disposition is known. */
export interface Draft {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly code?: string | undefined;
}

/** Starts an action for the visit, with the course that a fault of kind `action` or the settings give it. */
export function startAction(visit: Visit, change: ActionChange): ActionRecord {
  const { world, at, fault } = visit;
  const usual = world.settings.actionDuration;
  const special: Partial<ActionCourse> = fault?.kind === 'action' ? fault : {};
  const action = world.actions.start(at, change, {
    duration: special.duration ?? (typeof usual === 'number' ? usual : usual(change.command)),
    effectAfter: special.effectAfter,
    error: special.error,
  });
  visit.actions.push(action);
  return action;
}
