/** Actions of the API: they run for a while, and what they do happens at their end. Without timers: `settle` catches up. */

export interface ActionError {
  readonly code: string;
  readonly message: string;
}

export interface ActionRecord {
  readonly id: number;
  readonly command: string;
  readonly started: number;
  /** Instant at which the action leaves `running`. */
  readonly ends: number;
  readonly resources: readonly { readonly id: number; readonly type: string }[];
  /** How it ends; undefined for success. */
  readonly error: ActionError | undefined;
  done: boolean;
}

export interface ActionChange {
  readonly command: string;
  readonly resources: ActionRecord['resources'];
  /** What becomes true at the end, which is the instant it is told. */
  readonly effect?: (at: number) => void;
  /** Takes back what was promised at the start, when the action ends in an error. */
  readonly undo?: (error: ActionError) => void;
  /** How it is bound to end, undefined for success; a course may say otherwise. */
  readonly error?: ActionError | undefined;
}

/** How an action runs, when not as usual. */
export interface ActionCourse {
  /** ms until it ends. */
  readonly duration: number;
  /** ms until its effect is there, when that is not the end: an attached load balancer whose action keeps running. */
  readonly effectAfter?: number | undefined;
  readonly error?: ActionError | undefined;
}

interface Step {
  readonly at: number;
  readonly run: (at: number) => void;
}

export interface ActionBook {
  start(at: number, change: ActionChange, course: ActionCourse): ActionRecord;
  get(id: number): ActionRecord | undefined;
  list(): IterableIterator<ActionRecord>;
  /** Runs what has come due by `at`, in the order of time. */
  settle(at: number): void;
  /** Running actions that name the resource. */
  runningOn(type: string, id: number): ActionRecord[];
}

/** `onStep` hears of each instant at which something may have changed; old actions are forgotten beyond `remembered`, so that a demo can run for days. */
export function createActionBook(
  firstId: number,
  onStep: (at: number) => void = () => {},
  remembered = 20_000,
): ActionBook {
  const book = new Map<number, ActionRecord>();
  const running = new Set<ActionRecord>();
  const steps: Step[] = [];
  let nextId = firstId;

  const plan = (at: number, run: Step['run']): void => {
    const later = steps.findIndex(step => step.at > at);
    steps.splice(later < 0 ? steps.length : later, 0, { at, run });
  };

  const forgetOld = (): void => {
    for (const [id, action] of book) {
      if (book.size <= remembered) return;
      if (action.done) book.delete(id);
    }
  };

  const settle = (at: number): void => {
    for (let step = steps[0]; step !== undefined && step.at <= at; step = steps[0]) {
      steps.shift();
      step.run(step.at);
      onStep(step.at);
    }
  };

  return {
    start(at, change, course) {
      const { command, resources } = change;
      const action: ActionRecord = {
        id: nextId++,
        command,
        started: at,
        ends: at + course.duration,
        resources,
        error: course.error ?? change.error,
        done: false,
      };
      book.set(action.id, action);
      running.add(action);
      const { error } = action;
      const happen = (when: number): void => (error === undefined ? change.effect?.(when) : change.undo?.(error));
      const early = error === undefined ? course.effectAfter : undefined;
      if (early !== undefined) plan(at + early, happen);
      plan(action.ends, when => {
        if (early === undefined) happen(when);
        action.done = true;
        running.delete(action);
      });
      settle(at);
      forgetOld();
      return action;
    },
    get: id => book.get(id),
    list: () => book.values(),
    settle,
    runningOn: (type, id) =>
      [...running].filter(action => action.resources.some(one => one.type === type && one.id === id)),
  };
}
