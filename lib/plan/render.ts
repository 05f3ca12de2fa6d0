import type { PlannedChange } from '../controllers/preview.ts';
import type { Observed } from './observe.ts';
import type { ControllerPlan } from './plan.ts';

const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function changeLines({ at, object, action, details, why }: PlannedChange): string[] {
  const pairs = Object.entries(details).map(([key, value]) => `      ${key}: ${valueText(value)}`);
  return [`  ${object}: ${action} (${at})`, ...pairs, `      because ${why}`];
}

/** The plans as text, one block a controller; empty when there is nothing to say. */
export function renderPlans(plans: readonly ControllerPlan[]): string {
  const blocks = plans
    .filter(({ changes, notes }) => changes.length + notes.length > 0)
    .map(({ controller, changes, notes }) => [
      `${controller}: ${count(changes.length, 'change')}`,
      ...changes.flatMap(changeLines),
      ...notes.map(({ object, text }) => `  ${object}: no change, but look at this\n      ${text}`),
    ]);
  return blocks.map(lines => `${lines.join('\n')}\n`).join('\n');
}

/** One line about what was read and what came out. */
export function renderSummary({ nodes, services, lists, loadBalancers }: Observed, plans: readonly ControllerPlan[]) {
  const { total, hetzner } = summaryOf(plans);
  const read = [
    count(nodes.length, 'node'),
    count(services.length, 'Service'),
    count(lists.cloud?.servers.length ?? 0, 'server'),
    ...(lists.robot === undefined ? [] : [count(lists.robot.servers.length, 'Robot server')]),
    count(loadBalancers.length, 'load balancer'),
  ].join(', ');
  const result = total === 0 ? 'nothing to change' : `${count(total, 'change')}, ${hetzner} of them at Hetzner`;
  return `Read ${read}: ${result}. Nothing was written.`;
}

export function summaryOf(plans: readonly ControllerPlan[]) {
  const all = plans.flatMap(({ changes }) => changes);
  return { total: all.length, hetzner: all.filter(({ at }) => at === 'Hetzner').length };
}

const named = ({ id, name }: { readonly id: number; readonly name: string }) => ({ id, name });

/** The document of `--json`. `network` is the primary one, and the first of `networks`. */
export function planDocument({ network, networks }: Observed, plans: readonly ControllerPlan[], version: string) {
  const { total, hetzner } = summaryOf(plans);
  return {
    version,
    network: network === undefined ? null : named(network),
    networks: (networks?.all ?? (network === undefined ? [] : [network])).map(named),
    changes: { total, hetzner, kubernetes: total - hetzner },
    controllers: plans,
  };
}
