import { ApiProblem } from './problem.ts';
import type { World } from './world.ts';

/** What changes one at a time. */
export interface Excluding {
  readonly type: 'network' | 'load_balancer';
  readonly id: number;
  readonly lockedUntil: number;
}

export interface ExclusionRule {
  readonly mode: 'parallel' | 'locked' | 'conflict';
  /** Commands of actions that never run beside each other. */
  readonly always: readonly string[];
  /** Commands that run beside each other only in parallel mode; all others when absent. */
  readonly otherwise?: readonly string[];
  readonly what: string;
}

/** Refuses a change while another one runs, as far as the rule says. */
export function refuseWhileChanging(
  world: World,
  { type, id, lockedUntil }: Excluding,
  at: number,
  command: string,
  { mode, always, otherwise, what }: ExclusionRule,
): void {
  const locked = new ApiProblem(423, 'locked', `cannot perform operation because ${what} is locked`);
  if (at < lockedUntil) throw locked;
  if (mode === 'parallel' && !always.includes(command)) return;
  const excludes = (running: string): boolean =>
    always.includes(running) || (mode !== 'parallel' && (otherwise?.includes(running) ?? true));
  if (!world.actions.runningOn(type, id).some(one => excludes(one.command))) return;
  throw mode === 'locked' ? locked : new ApiProblem(409, 'conflict', `${what} is currently being changed`);
}
