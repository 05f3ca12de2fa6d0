import { figures, type Result } from '../bench/figures.ts';
import { type Kept, lastRun } from '../robustness/last-run.ts';
import { limits } from '../robustness/limits.ts';
import { type Cell, cells, faults, representative } from '../robustness/matrix.ts';
import type { Operation } from '../robustness/operations.ts';
import { type RowSummary, renderRows, table } from '../robustness/results.ts';
import type { Held, Soak } from '../scale/growth.ts';
import type { QuotaWeek } from '../scale/quota-week.ts';

const callsWith = (own: readonly Cell[]): string => {
  const operations = own.map(({ operation }) => operation);
  const sides = new Map<Operation['side'], number>();
  for (const { side } of operations) sides.set(side, (sides.get(side) ?? 0) + 1);
  if (operations.length <= 2) return operations.map(({ name }) => name).join(', ');
  return [...sides].map(([side, count]) => `${count} of ${side === 'hetzner' ? 'Hetzner' : 'Kubernetes'}`).join(', ');
};

const ranOn = ({ date, machine, minutes }: Kept<unknown>): string => `${date}, ${machine}, ${minutes} min`;

const held: Readonly<Record<keyof Held, string>> = {
  heap: 'heap, KiB (with the simulated APIs)',
  timers: 'timers',
  watches: 'watches',
  listeners: 'listeners of the process',
  series: 'lines of metrics',
  entries: 'entries of Maps and Sets',
  closures: 'closures',
};

const renderMatrix = (kept: Kept<readonly RowSummary[]>): string => `## Last full matrix

${ranOn(kept)}: ${kept.result.reduce((sum, row) => sum + row.passed, 0)} of ${cells.length} fields passed.

${renderRows(kept.result)}
`;

const renderSoak = (kept: Kept<Soak>): string => {
  const { days, nodes, services, samples } = kept.result;
  const columns = samples.map((_, i) => `after ${((i + 1) * days) / samples.length} days`);
  const rows = (Object.keys(held) as (keyof Held)[]).map(key => [held[key], ...samples.map(one => one[key])]);
  return `## A month of churn

${nodes} nodes and ${services} Services in virtual time; each hour a node is replaced, each six hours a Service, each day the watches break and
Hetzner answers 503 for ten minutes. Names of nodes that went stay in a table of shared texts, which has a bound.
${ranOn(kept)}.

${table(['', ...columns], rows)}
`;
};

const renderWeek = (kept: Kept<QuotaWeek>): string => {
  const { nodes, bursts, longest, afterReturn, requests, refused } = kept.result;
  return `## A week of quota that others use up

${nodes} nodes in virtual time. ${bursts} times nodes joined while others used the quota up: all were initialised within ${Math.ceil(afterReturn / 1_000)} s of
its return, and within ${Math.ceil(longest / 1_000)} s where nothing was left for up to ten minutes; ${refused} of ${requests} requests were refused.
${ranOn(kept)}.
`;
};

const renderBench = (kept: Kept<readonly Result[]>): string => {
  const rows = kept.result.map(({ row, ours, note = '' }) => {
    const { work, unit, target } = figures[row];
    return [work, unit, target.join(' / '), ours.map(value => Math.round(value * 10) / 10).join(' / '), note];
  });
  return `## Figures in real time

Against the real kube-apiserver. ${ranOn(kept)}.

${table(['Work', 'Unit', 'Target', 'Measured', 'Note'], rows)}
`;
};

/** docs/robustness.md, from the tables of the matrix and the last full runs. */
export const renderRobustness = (): string => {
  const { matrix, soak, quotaWeek, bench } = lastRun();
  const sections = [
    matrix && renderMatrix(matrix),
    soak && renderSoak(soak),
    quotaWeek && renderWeek(quotaWeek),
    bench && renderBench(bench),
  ].filter(section => section !== undefined);
  return `# Robustness

What the program survives, and how that is shown. What takes too long for \`make test\` has a command of its own; its last figures are
kept here. Against whom it defends itself says [SECURITY.md](../SECURITY.md).

| What | In \`make test\` | In full |
| --- | --- | --- |
| each fault in each call, whole program | ${representative.length} of ${cells.length} fields, each fault and each call at least once (\`spec/robustness/matrix.spec.ts\`) | \`make robustness\` |
| a month of churn | days of it (\`spec/scale/soak.spec.ts\`) | \`make robustness ARGS="--only soak"\` |
| a week of quota that others use up | days of it (\`spec/scale/quota-week.spec.ts\`) | \`make robustness ARGS="--only quota-week"\` |
| churn in real time, failovers, an empty quota | what happens in each (\`spec/scenarios\`: replicas, hetzner-trouble) | \`make bench ARGS="--only quota,renamed,failovers,soak"\` |
| interleavings: all controllers, each order chosen by a seed (of events, timers, answers, watch events) | 6 seeds, one of them new (\`spec/robustness/interleavings.spec.ts\`) | \`make interleavings\`: 300 new ones (ARGS=seeds; SEED=one again) |
| 1,000 nodes that join at once, 5,000 in 50 networks | 60 nodes in 10 networks (\`spec/scenarios/networks.spec.ts\`) | \`make bench ARGS="--only scale"\` |
| nodes and faults at random; more with SEED and STEPS | \`spec/scenarios/life-at-random.spec.ts\` | with \`make interleavings\` |
| load balancers and faults at random; more with SEED and RUNS | \`spec/scenarios/load-balancer-random.spec.ts\` | |
| a million keys in the work queue | \`spec/scale/workqueue.spec.ts\` | |
| text, JSON and certificates from outside | \`spec/robustness/hostile-input.spec.ts\`, \`tls.spec.ts\`, \`spec/settings/fuzz.spec.ts\` | |

## What happens in each field of the matrix

Nodes join (one with a route that somebody else has made), leave, lose their servers and turn not ready; Services with load balancers
are created, changed in every way and deleted; certificates are issued, fail and are replaced; watches are cut. All this goes on for
six minutes with the fault in one call, then the program is started anew with the fault still there, and after four more minutes
the fault ends. Hetzner and Kubernetes are simulated, time is virtual. In each field holds:

- within ${limits.recovery / 60_000} minutes after the end of the fault all nodes, taints, routes, load balancers, targets, listeners, certificates,
  reverse DNS and statuses are right (${limits.slowRecovery / 60_000} where Hetzner allows few tries, and for actions that go on); six more minutes keep it so, the last without a write
- no node with a server, no load balancer in use, nothing that belongs to somebody else was deleted at any time
- at most ${limits.perMinute} tries of the call in any minute, and at most ${limits.writes} accepted changes at Hetzner in all
- the program does not end, except with a message that names a refused token or a missing network, and goes on when started again
- no rejected promise is left unhandled
- the log names the cause at \`warn\` or \`error\` (code, status or network error), for events at \`debug\`
- the token is in no line of the log, at \`debug\`, although refusals echo it

## Faults

${table(
  ['Fault', 'Calls'],
  faults.map(fault => [fault.name, callsWith(cells.filter(cell => cell.fault === fault))]),
)}

${sections.join('\n')}`;
};
