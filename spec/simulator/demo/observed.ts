import type { DemoOptions } from '../../../lib/simulator/demo/options.ts';
import type { Observations } from '../../../lib/simulator/demo/result.ts';

export const addRoute = 'POST /networks/{id}/actions/add_route';

/** What a demo may have observed. */
export const observed = (options: Partial<DemoOptions> = {}): Observations => ({
  options: { workers: 10, interval: 2_000, idle: 360, json: false, report: undefined, ...options },
  phases: {
    takeOver: {
      from: 0,
      seconds: 1.5,
      requests: [
        { at: 100, name: 'GET /networks', status: 200 },
        { at: 110, name: 'GET /servers', status: 200 },
        { at: 200, name: addRoute, status: 201 },
        { at: 700, name: 'GET /actions', status: 200 },
      ],
      hetzner: { 'GET /servers': 1, 'GET /networks': 1, [addRoute]: 1, 'GET /actions': 1 },
    },
    scaleUp: {
      from: 1_500,
      seconds: 20,
      requests: [{ at: 1_600, name: addRoute, status: 423 }],
      hetzner: { 'GET /servers': 3, [addRoute]: 10, 'GET /actions': 11 },
    },
    idle: {
      from: 21_500,
      seconds: 360,
      requests: [{ at: 300_000, name: 'GET /servers', status: 200 }],
      hetzner: { 'GET /servers': 1 },
    },
  },
  journeys: [
    { name: 'cp1', podCIDR: '10.244.0.0/24', joined: 0, initialised: 9_000, routed: 9_000, available: 9_000 },
    { name: 'w1', podCIDR: '10.244.1.0/24', joined: 1_000, initialised: 1_010, routed: 1_020, available: 1_500 },
    { name: 'w2', podCIDR: '10.244.2.0/24', joined: 2_000, initialised: 2_200, routed: 2_300, available: 4_000 },
  ],
  kubernetesIdle: { 'watch nodes': 1, 'update leases': 180 },
  memoryMiB: 61.4,
});
