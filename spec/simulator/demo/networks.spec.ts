import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { renderNetworksReport } from '../../../lib/simulator/demo/networks/report.ts';
import { kindsOf, type NetworksSeen } from '../../../lib/simulator/demo/networks/result.ts';
import { build, clusterCIDR, environment, members, zones } from '../../../lib/simulator/demo/networks/topology.ts';
import { createFakeHetzner } from '../../../lib/simulator/hetzner/fake.ts';
import { accepted } from '../../settings/load-with.ts';

describe('the networks of the demo', () => {
  it('are those of the documentation, and settings the controller takes', () => {
    const { settings } = accepted({ env: environment, argv: [`--cluster-cidr=${clusterCIDR}`] });
    assert.equal(settings.hcloud.furtherNetworks?.podCIDRs.length, zones.length);
    const page = readFileSync(join(import.meta.dirname, '../../../docs/networks.md'), 'utf8');
    for (const { name, ipRange, pods, gateway } of zones) {
      const row = page.split('\n').find(line => line.startsWith(`| \`${name}\` |`)) ?? '';
      for (const text of [ipRange, pods, gateway]) assert.ok(row.includes(text), `${name}: ${text}`);
    }
    for (const value of Object.values(environment)) assert.ok(page.includes(value), value);
  });

  it('hold 253 servers, of which none reaches another while there are no routes', () => {
    const project = createFakeHetzner();
    const { pods } = build(project);
    assert.equal(members.length, 253);
    assert.equal(project.unreachablePods(pods).length, 253 * 252);
  });
});

describe('the report of the demo of networks', () => {
  const phase = (hetzner: Record<string, number>) => ({ from: 0, seconds: 1, requests: [], hetzner });
  const seen: NetworksSeen = {
    options: { scenario: 'networks', idle: 60, json: false },
    zones: [{ name: 'core', nodes: 59, routes: 61, ways: 2 }],
    phases: {
      start: phase({
        'POST /networks/{id}/actions/add_route': 259,
        'DELETE /x': 1,
        'GET /servers': 5,
        'GET /networks': 2,
        'GET /actions': 40,
      }),
      idle: phase({ 'GET /servers': 3 }),
      loss: phase({}),
    },
    journeys: [100, 200, 300].map(at => ({ name: 'n', podCIDR: '', joined: 0, available: 1_000 + at * 100 })),
    from: 1_000,
    pairs: { all: 6, reached: 6, withoutOneWay: 5 },
    loss: { network: 'pool-b', status: 503, joined: 'pool-a-98', took: 912, touched: ['cp1'] },
    memoryMiB: undefined,
  };

  it('tells requests by kind', () => {
    assert.deepEqual(kindsOf(seen.phases.start.hetzner), { writes: 260, reads: 7, polls: 40 });
  });

  it('tells what was reached, how long it took, and what a loss did', () => {
    const lines = renderNetworksReport(seen).split('\n');
    for (const line of [
      'writes: 253 routes to nodes, 6 to networks        260           259',
      'idle for 1 min                                      3   12 in 6 min',
      'core         59       61                     2',
      'Pods that reach each other: 6 of 6 pairs of nodes; 5 without one of the routes between networks',
      'Ready after the start of the controller, p50 / p99 / all: 20.0 s / 30.0 s / 30.0 s',
      'Loss of network pool-b, for which Hetzner answers 503: pool-a-98 joined another network and was ready after 0.9 s',
      'Nodes that were there and were changed meanwhile: cp1',
    ])
      assert.ok(lines.includes(line), `${line}\n${lines.join('\n')}`);
  });
});
