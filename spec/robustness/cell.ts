import type { TestContext } from 'node:test';
import type { FaultCase } from './faults.ts';
import { limits } from './limits.ts';
import type { Operation } from './operations.ts';
import { openStory, type Story } from './story.ts';

/** One field of the fault matrix: the story with one fault in one call. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export interface CellResult {
  readonly operation: string;
  readonly fault: string;
  /** How often the call met the fault; a cell without is empty. */
  readonly struck: number;
  /** Most calls of the operation within a minute. */
  readonly perMinute: number;
  /** ms from the end of the fault until all was right. */
  readonly recovery: number;
  readonly writes: number;
  readonly failures: readonly string[];
}

/** Calls of the operation since then, by time. */
const callsOf = ({ v }: Story, operation: Operation, since: number): number[] =>
  operation.side === 'hetzner'
    ? v.hetzner.requests
        .filter(({ at, method, route }) => at >= since && method === operation.method && route === operation.route)
        .map(({ at }) => at)
    : v.kubernetes.journal
        .all()
        .filter(
          ({ at, user, verb, path }) =>
            at >= since && user !== 'admin' && verb === operation.verb && operation.path.test(path),
        )
        .map(({ at }) => at);

const isRarelyTried = ({ name }: Operation): boolean =>
  name === 'load_balancer: attach_to_network' || name.includes('certificate');

/** Most instants within one minute. */
const densest = (instants: readonly number[]): number => {
  let [from, most] = [0, 0];
  for (const [to, at] of instants.entries()) {
    while (at - (instants[from] as number) >= MINUTE) from += 1;
    most = Math.max(most, to - from + 1);
  }
  return most;
};

const inject = ({ v }: Story, operation: Operation, fault: FaultCase): (() => void) => {
  if (operation.side === 'kubernetes') {
    if (fault.kubernetes === undefined) throw new Error(`${fault.name} is no fault of Kubernetes`);
    return v.kubernetes.faults.add({ verb: operation.verb, path: operation.path, fault: fault.kubernetes });
  }
  const { method, route } = operation;
  if (fault.hetzner === undefined) throw new Error(`${fault.name} is no fault of Hetzner`);
  return v.hetzner.faults.add({ ...fault.hetzner(operation, v.hetzner.settings.token), method, path: route }).remove;
};

export async function runCell(t: TestContext, operation: Operation, fault: FaultCase): Promise<CellResult> {
  const story = await openStory(t);
  const { v } = story;
  const failures: string[] = [];
  const rejections: unknown[] = [];
  const onRejection = (reason: unknown): void => void rejections.push(reason);
  process.on('unhandledRejection', onRejection);
  t.after(() => process.off('unhandledRejection', onRejection));

  const from = v.now();
  const remove = inject(story, operation, fault);
  await story.tell();
  await story.restart();
  await story.advance(4 * MINUTE);
  remove();
  const to = v.now();
  const under = callsOf(story, operation, from);
  // An action that was accepted under the fault goes on after it.
  const isSlow = isRarelyTried(operation) || fault.name === 'action takes 15 min';
  const most = isSlow ? limits.slowRecovery : limits.recovery;
  while (v.now() - to < most && story.wrong().length > 0) await story.advance(15 * SECOND);
  const recovery = v.now() - to;
  failures.push(...story.wrong());

  // At rest: what is right stays right, and nothing is written any more.
  const rest = v.now();
  await story.advance(6 * MINUTE);
  failures.push(...story.wrong().filter(what => !failures.includes(what)));
  for (const what of story.lost()) failures.push(`lost: ${what}`);
  const late = v.hetzner.requests.filter(({ at, method }) => at >= rest + 5 * MINUTE && method !== 'GET');
  for (const { method, path } of late) failures.push(`still writes: ${method} ${path}`);

  // Actions that fail were accepted; how often they are tried is what `perMinute` limits.
  const accepted = v.hetzner.requests.filter(
    ({ method, status, action }) => method !== 'GET' && status >= 200 && status < 300 && action?.error === undefined,
  );
  const perMinute = densest(under);
  if (perMinute > limits.perMinute) failures.push(`${perMinute} calls in a minute`);
  if (accepted.length > limits.writes) failures.push(`${accepted.length} writes`);
  if (story.ends.length > limits.ends) failures.push(`ended ${story.ends.length} times`);
  for (const reason of rejections) failures.push(`unhandled rejection: ${reason}`);
  if (under.length === 0) failures.push('empty: the call was not made');

  // `lines` also fails on secrets and unknown keys.
  const lines = story.controllers.flatMap(controller => controller.lines());
  const { told } = fault;
  const isEvent = /event/.test(operation.name);
  const said = lines
    .filter(({ level }) => level === 'warn' || level === 'error' || isEvent)
    .map(line => JSON.stringify(line));
  const causes = [...said, ...story.ends.map(err => err.message)];
  if (told !== undefined && !causes.some(text => told.test(text)))
    failures.push(`the log does not name ${told.source}`);
  return {
    operation: operation.name,
    fault: fault.name,
    struck: under.length,
    perMinute,
    recovery,
    writes: accepted.length,
    failures,
  };
}
