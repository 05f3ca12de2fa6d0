import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Fault } from '../../lib/simulator/kubernetes/faults.ts';
import { virtualApp } from '../support/virtual-app.ts';

/** Trouble with the lease itself, in virtual time. */

const MINUTE = 60_000;
const args = ['--leader-elect=true'];

const troubles: readonly (readonly [what: string, verb: 'create' | 'update' | 'get', fault: Fault])[] = [
  ['the answers to whose updates are lost', 'update', { kind: 'reset', after: true }],
  ['whose updates are refused as conflicts', 'update', { kind: 'status', code: 409 }],
  ['whose creation is refused as if it were there', 'create', { kind: 'status', code: 409 }],
  ['that cannot be read', 'get', { kind: 'status', code: 500 }],
];

for (const [what, verb, fault] of troubles) {
  it(`asks for a lease ${what} at the retry period, and says so`, async t => {
    const v = virtualApp(t);
    if (verb === 'update') {
      await v.start({ args }).kill();
      await v.advance(MINUTE);
      await v.start({ args }).stop();
    }
    const remove = v.kubernetes.faults.add({ verb, path: /leases/, fault });
    const controller = v.start({ args });
    const from = v.now();
    await v.advance(5 * MINUTE);
    const calls = v.kubernetes.journal.all().filter(({ at, path, user, verb: v }) => {
      return at >= from && user === controller.user && v !== 'watch' && v !== 'list' && path.includes('leases');
    });
    // Every 1.5 to 2 s, each time a read and a write.
    assert.ok(calls.length > 100 && calls.length <= 420, `${calls.length} calls in five minutes`);
    assert.ok(controller.lines().some(({ level, err }) => level === 'warn' && err !== undefined));
    remove();
    await v.until('it leads', () => controller.lines().at(-1)?.msg === 'Became the leader', MINUTE);
  });
}
