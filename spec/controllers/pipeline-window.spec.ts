import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPipeline, type Step } from '../../lib/controllers/pipeline.ts';
import type { Action } from '../../lib/hetzner/types.ts';
import { systemClock } from '../../lib/streams/clock.ts';

const turn = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 0));

/** An API that takes changes side by side; its answers and the ends of its actions come when the spec says. */
const parallelAPI = () => {
  let nextID = 1;
  const answers: (() => void)[] = [];
  const ends: (() => void)[] = [];
  const step: Step = () =>
    new Promise<Action>(resolve => {
      const id = nextID++;
      answers.push(() => resolve({ id, command: 'add_route', status: 'running' } as Action));
    });
  const waitForAction = (): Promise<void> => new Promise(resolve => ends.push(resolve));
  return { step, waitForAction, answers, ends, sent: () => nextID - 1 };
};

it('sends ever more changes side by side as the API accepts them, without waiting for an action to end', async () => {
  const api = parallelAPI();
  const pipeline = createPipeline({ waitForAction: api.waitForAction, isLocked: () => false, clock: systemClock });
  const runs = Array.from({ length: 20 }, () => pipeline.run([api.step], new AbortController().signal));
  assert.equal(api.sent(), 2, 'starts careful');
  for (let round = 0; round < 20 && api.sent() < 20; round++) {
    for (const answer of api.answers.splice(0)) answer();
    await turn();
  }
  assert.equal(api.sent(), 20, 'no action has ended yet');
  for (const answer of api.answers.splice(0)) answer();
  await turn();
  for (const end of api.ends.splice(0)) end();
  await Promise.all(runs);
});
