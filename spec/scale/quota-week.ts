import { mock } from 'node:test';
import { deleteNode } from '../support/nodes.ts';
import { isInitialised } from '../support/scenario.ts';
import { virtualApp } from '../support/virtual-app.ts';

/**
 * Days in a large cluster that shares its quota with others, who use it up every few hours. Prints one line of JSON.
 * A list of 1,000 servers takes 20 requests, and at 3,600 an hour one request a second is refilled.
 *
 *     node spec/scale/quota-week.ts DAYS NODES SEED
 */
export interface QuotaWeek {
  readonly days: number;
  readonly nodes: number;
  readonly seed: number;
  /** Times that others used the quota up while nodes joined. */
  readonly bursts: number;
  /** ms from a join to the last of its burst that is initialised, at most. */
  readonly longest: number;
  /** ms of that after the quota had come back, at most. */
  readonly afterReturn: number;
  readonly requests: number;
  readonly refused: number;
  /** What is not as it should be in the end. */
  readonly wrong: readonly string[];
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Others leave nothing, not even what is refilled, for at most this long. */
const longestDrain = 10 * MINUTE;

/** What is not as it must be. */
export const shortcomings = (week: QuotaWeek): string[] => [
  ...week.wrong,
  ...(week.bursts < 4 * week.days ? [`${week.bursts} bursts`] : []),
  ...(week.longest <= MINUTE ? ['the quota was never empty'] : []),
  ...(week.longest > longestDrain + MINUTE ? [`a node waited ${week.longest} ms`] : []),
  ...(week.afterReturn > MINUTE ? [`a node waited ${week.afterReturn} ms after the quota had come back`] : []),
  ...(week.refused > 8 * week.bursts ? [`${week.refused} requests were refused`] : []),
];

/** Park and Miller. */
const numbers = (seed: number) => {
  let state = seed;
  return (most: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return Math.floor((state / 2_147_483_647) * most);
  };
};

const quotaWeek = async (days: number, nodes: number, seed: number): Promise<QuotaWeek> => {
  const endings: (() => unknown)[] = [];
  const v = virtualApp({ mock, after: end => endings.push(end) }, { keepRequests: 1_000_000 });
  const upTo = numbers(seed);
  const servers = new Map<string, number>();
  const made = (i: number): string => {
    const name = `w${i}`;
    servers.set(name, v.hetzner.servers.create({ name }).id);
    return name;
  };
  const register = (name: string) => v.join(Number(name.slice(1)), { podCIDRs: [] });
  const areInitialised = (names: readonly string[]): boolean =>
    names.every(name => {
      const node = v.node(name);
      return node !== undefined && isInitialised(node);
    });

  for (let i = 1; i <= nodes; i += 1) await register(made(i));
  const args = ['--configure-cloud-routes=false', '--node-status-update-frequency=30m'];
  const controller = v.start({ args, env: { HCLOUD_NETWORK: undefined } });
  await v.until('all are initialised', () => areInitialised([...servers.keys()]), 10 * MINUTE);
  await v.advance(HOUR);

  let [next, longest, afterReturn, bursts] = [nodes, 0, 0, 0];
  const from = v.now();
  while (v.now() - from < days * 24 * HOUR) {
    await v.advance(HOUR + upTo(4 * HOUR));
    let returns = v.now();
    if (upTo(2) === 0) {
      const forMs = upTo(longestDrain);
      v.hetzner.drain({ forMs });
      returns += forMs;
    } else {
      v.hetzner.drain({ tokens: upTo(3_600) });
    }
    const leaving = [...servers.keys()].slice(0, 1 + upTo(15));
    for (const name of leaving) {
      await deleteNode(v, name);
      v.hetzner.servers.remove(servers.get(name) as number);
      servers.delete(name);
    }
    const joining = leaving.map(() => made(++next));
    const since = v.now();
    for (const name of joining) await register(name);
    await v.until('those that joined are initialised', () => areInitialised(joining), HOUR);
    longest = Math.max(longest, v.now() - since);
    afterReturn = Math.max(afterReturn, v.now() - Math.max(since, returns));
    bursts += 1;
  }

  const wrong = controller.lines().flatMap(({ level, msg }) => (level === 'error' ? [msg] : []));
  if (controller.error() !== undefined) wrong.push(`ended with ${controller.error()}`);
  const left = v.kubernetes.list('/api/v1/nodes').length;
  if (left !== nodes) wrong.push(`${left} nodes`);
  const refused = v.hetzner.requests.filter(({ status }) => status === 429).length;
  const requests = v.spent(from).all;
  for (const end of endings) await end();
  return { days, nodes, seed, bursts, longest, afterReturn, requests, refused, wrong };
};

if (import.meta.main) {
  const [days = 2, nodes = 1_000, seed = 5] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify(await quotaWeek(days, nodes, seed))}\n`);
}
