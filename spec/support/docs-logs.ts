import type { LogKey } from '../../lib/observability/log-keys.ts';
import { renderTable } from '../../lib/settings/reference.ts';
import { type LogCall, logCalls } from './log-calls.ts';

/** A line of the log: one message at one level, wherever it is written. */
export interface LogLineKind {
  readonly message: string;
  readonly level: string;
  readonly keys: readonly string[];
  /** Values that are the same in each such line. */
  readonly values: Readonly<Record<string, string>>;
  readonly controller: string | undefined;
}

/** Every kind of line that can be in the log, in the order of levels, then of the parts of the program. */
export function logLineKinds(calls: readonly LogCall[] = logCalls()): readonly LogLineKind[] {
  const kinds = new Map<string, LogLineKind>();
  const all = calls.flatMap(({ messages, levels, keys, values, controller }) =>
    messages.flatMap(message => levels.map(level => ({ message, level, keys, values, controller }))),
  );
  for (const kind of all) {
    const id = [kind.level, kind.message, kind.controller].join();
    const known = kinds.get(id);
    kinds.set(id, known === undefined ? kind : { ...kind, keys: [...new Set([...known.keys, ...kind.keys])] });
  }
  const rank = (level: string): number => ['error', 'warn', 'info', 'debug'].indexOf(level);
  return [...kinds.values()].sort((a, b) => rank(a.level) - rank(b.level));
}

const code = (text: string): string => `\`${text}\``;

/** Markdown table of all lines. */
export const logLinesReference = (): string =>
  renderTable(
    ['Level', 'Message', 'In runs of', 'Keys'],
    logLineKinds().map(({ level, message, controller = '', keys }) => [
      level,
      message,
      controller,
      keys.map(code).join(', '),
    ]),
  );

/** One line for each kind at info. */
export function logExamples(): string {
  const lines = logLineKinds()
    .filter(({ level }) => level === 'info')
    .map(({ message, level, controller, keys, values }) => {
      const run = controller === undefined ? [] : [['controller', controller], ...pick(['reconcileID', 'reason'])];
      const head = [
        ['ts', '2026-01-31T12:00:00.123Z'],
        ['level', level],
        ['msg', message],
      ];
      return JSON.stringify(Object.fromEntries([...head, ...run, ...pick(keys, { ...values, ...typical[message] })]));
    });
  return `\`\`\`json\n${lines.join('\n')}\n\`\`\``;
}

/** Values that only one message has, where those of the other examples would mislead. */
const typical: Readonly<Record<string, LogLineKind['values']>> = {
  'Started health server': { address: '0.0.0.0:10258' },
  'Changed log level': { reason: 'debug' },
};

const pick = (keys: readonly string[], values: LogLineKind['values'] = {}): [string, unknown][] =>
  keys.map(key => [key, values[key] ?? examples[key as LogKey]]);

const examples: Readonly<Record<LogKey, unknown>> = {
  controller: 'node',
  reconcileID: 'f3a91c07',
  reason: 'node added',
  attempt: 1,
  after: 5000,
  durationMs: 412,
  node: 'worker-1',
  key: 'default/web',
  resource: 'nodes',
  rv: '48151',
  uid: '0b4e...',
  count: 2,
  podCIDR: '10.244.1.0/24',
  range: '10.244.0.0/16',
  providerID: 'hcloud://4711',
  serverID: 4711,
  service: 'default/web',
  loadBalancerID: 815,
  certificateID: 42,
  subject: 'port 80',
  networkID: 1234,
  network: 'my-network',
  neighbour: 'pool-a',
  destination: '10.244.1.0/24',
  gateway: '10.0.1.1',
  previousGateway: '10.0.1.9',
  addresses: 'Hostname=worker-1 InternalIP=10.0.1.1',
  labels: { 'topology.kubernetes.io/region': 'fsn1' },
  actionID: 99,
  method: 'GET',
  route: '/servers',
  statusCode: 200,
  correlationID: '8d3f...',
  budgetRemaining: 3598,
  budgetLimit: 3600,
  identity: 'ccm-7d9f_0c1e',
  leader: 'ccm-5b2a_77d0',
  lease: 'kube-system/cloud-controller-manager',
  version: '0.1.0',
  nodeVersion: '24.21.0',
  settings: [{ setting: 'HCLOUD_NETWORK', value: 'my-network', source: 'environment variable' }],
  setting: 'HCLOUD_TOKEN',
  source: 'flag',
  hint: 'set --cluster-cidr',
  address: ':8233',
  check: 'nodes',
  signal: 'SIGTERM',
  exitCode: 0,
  body: '{}',
  headers: { accept: 'application/json' },
  err: { type: 'HetznerError', message: 'GET /servers: 503 service_error' },
};
