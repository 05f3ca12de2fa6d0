/** One row of the table. Numbers in `target` are upper bounds for the numbers a group measures, in the same order. */
export interface Figure {
  readonly work: string;
  readonly peer: string;
  /** What the API makes unavoidable. */
  readonly floor: string;
  readonly target: readonly number[];
  readonly unit: string;
}

/** Where the column `peer` comes from. */
export const peerSource =
  'hcloud-cloud-controller-manager v1.35.0 (chart defaults), measured against a fake Hetzner API (20 ms an answer, ' +
  'actions of 400 ms) and a real etcd and kube-apiserver 1.37 on 2 cores; its times and memory are of that machine';

const requests = 'requests without / with GET /actions';
const balanced = `${requests} / s`;

const looked = 'requests / s; no write';
const used = '... resident memory / CPU / Kubernetes traffic';
const perProcess = 'MiB / s / MiB';

const figure = (work: string, unit: string, peer: string, floor: string, ...target: readonly number[]): Figure => ({
  work,
  unit,
  peer,
  floor,
  target,
});

export const figures = {
  'take-over-1': figure('take over at start, 1 node', requests, '9 / 10', '3 / 4', 3, 4),
  'take-over-11': figure('take over at start, 11 nodes without routes', requests, '28 / 39', '13 / 24', 13, 18),
  'scale-10': figure('scale up 10 workers, one every 2 s', requests, '26 / 36', '11 / 21', 13, 24),
  'scale-10-initialised': figure('... join to initialised', 's, p50 / p99', '0.02 / 0.2', 'one list', 0.1, 0.5),
  'scale-10-route': figure('... join to route present', 's, p50 / p99', '6.0 / 10.1', 'one POST', 0.5, 1),
  'scale-10-available': figure(
    '... join to NetworkUnavailable=False',
    's, p50 / p99',
    '6.5 / 10.6',
    "the action's end",
    1,
    2,
  ),
  idle: figure('idle for 6 minutes, 11 nodes', requests, '1 / 1', '1', 1, 1),
  'idle-kubernetes': figure('... Kubernetes requests but for watches and the lease', 'requests', 'none', 'none', 0),
  'idle-cpu': figure('... CPU', 's a minute', '0.13', '', 0.1),
  'burst-parallel': figure(
    '99 workers at once, API accepts changes side by side',
    requests,
    '207 / 306',
    '102 / 106',
    104,
    125,
  ),
  'burst-parallel-route': figure('... join to route present', 's, p50 / p99', '9.8 / 19.0', '', 2, 4),
  'burst-locked': figure(
    '99 workers at once, API locks the network during an action',
    requests,
    '849 / 948 (590 refused)',
    '102 / 201',
    106,
    210,
  ),
  'burst-locked-route': figure('... join to route present', 's, p50 / p99', '34 / 80', '99 x action', 30, 60),
  refused: figure(
    'add_route refused as locked for 45 s while 5 nodes join',
    's from the unlock to the last route / most tries a route',
    'never written (until the 12-24 h pass)',
    '',
    10,
    10,
  ),
  'balancers-created': figure('10 Services created, 11 nodes', balanced, '211 / 361 / 84', '11 / 12', 12, 16, 3),
  'balancers-node-added': figure('... node added, with its route', balanced, '47 / 80 / 16', '12 / 13', 13, 18, 2),
  'balancers-node-removed': figure('... node removed', requests, '44 / 75', '12 / 13', 14, 20),
  'balancers-restart': figure('... restart, nothing changed', `${requests}; no write`, '47 / 67, 20 writes', '3', 4, 4),
  'balancers-port': figure('... one port changed', requests, '5 / 8', '2 / 3', 2, 4),
  'balancers-idle': figure('... idle minute', 'requests', '0', '0', 0),
  'balancers-deleted': figure('... 10 Services deleted', requests, '30 / 30', '10', 11, 11),
  'memory-11': figure('resident memory, 11 nodes', 'MiB', '65', 'bare Node 41', 65),
  'memory-100': figure('resident memory, 100 nodes', 'MiB', '71', 'bare Node 41', 70),
  'join-1000': figure('1,000 nodes join at once, routes off', 'requests', '294', 'one list: 20', 70),
  'join-1000-initialised': figure('... join to initialised', 's, p50 / p99', '69 / 137', '', 5, 15),
  'join-1000-resources': figure('... resident memory / CPU', 'MiB / s', '82 / 8.1', '', 82, 6),
  'join-1000-kubernetes': figure('... Kubernetes traffic', 'MiB', 'not measured', '', 20),
  'take-over-1000': figure('take over 1,000 nodes in order, routes off', looked, 'not measured', '20', 20, 3),
  'take-over-1000-resources': figure(used, perProcess, 'not measured', '', 82, 1.5, 10),
  'take-over-5000': figure('take over 5,000 nodes in order, routes off', looked, 'not measured', '100', 100, 10),
  'take-over-5000-resources': figure(used, perProcess, 'not measured', '', 95, 4, 40),
  'take-over-networks': figure('... in 50 networks with their 5,000 routes', looked, 'cannot', '101', 102, 12),
  'take-over-networks-resources': figure(used, perProcess, 'cannot', '', 115, 8, 45),
  start: figure('start to leading and converged, 11 nodes in order', 's', '1.1-2.2', '', 1.5),
  stop: figure('stop on SIGTERM, lease released', 's', '0.01', '', 0.2),
  quota: figure(
    'quota empty for 60 s, 3 nodes join, 6 Services made; nodes first',
    'requests while empty / refused later / s to the end',
    '54 / 280 / 2 of 6 incomplete after 300',
    '',
    7,
    9,
    180,
  ),
  renamed: figure(
    'server renamed in the console',
    'changes at Hetzner',
    'its route is deleted and written again at each pass',
    '0',
    0,
  ),
  failovers: figure('two writers at once over 100 failovers', 'writes outside of the term', 'not measured', '0', 0),
  soak: figure(
    '20 minutes of churn: growth after the first quarter',
    'MiB heap / MiB resident / handles / sockets',
    'not measured',
    '0',
    2,
    5,
    2,
    2,
  ),
} satisfies Readonly<Record<string, Figure>>;

export type FigureName = keyof typeof figures;

/** What was measured for one row. */
export interface Result {
  readonly row: FigureName;
  readonly ours: readonly number[];
  readonly note?: string;
  /** A condition that has no number did not hold: missed, whatever the numbers. */
  readonly broken?: string;
}
