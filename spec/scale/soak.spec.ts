import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { balanced } from '../support/balanced.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { deleteNode } from '../support/nodes.ts';
import { deleteService } from '../support/services.ts';
import { virtualApp } from '../support/virtual-app.ts';

/**
 * A month of churn: each hour a node is replaced, each six hours a Service. What the program holds levels off. In virtual time,
 * with fewer nodes and Services than its clusters have (1,000 and 200 take an hour of CPU): what leaks grows with events, not with nodes.
 */
const { DAYS = '30', NODES = '60', SERVICES = '12' } = process.env;
const [days, nodes, services] = [Number(DAYS), Number(NODES), Number(SERVICES)];
const HOUR = 3_600_000;
const EVENTS = '/api/v1/namespaces/default/events';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

interface Held {
  readonly heap: number;
  readonly timers: number;
  readonly watches: number;
  readonly listeners: number;
  readonly metrics: number;
}

it(`holds after ${days} days of churn no more than after a third of them (${nodes} nodes, ${services} Services)`, async t => {
  const v = virtualApp(t, { keepRequests: 10 });
  const b = balanced(v);
  const live: number[] = [];
  const names: string[] = [];
  let [next, made] = [0, 0];
  const addNode = async (): Promise<void> => {
    next = (next % 200) + 1;
    while (live.includes(next)) next = (next % 200) + 1;
    live.push(next);
    v.addServer(next);
    await v.join(next);
  };
  const removeNode = async (): Promise<void> => {
    const i = live.shift() as number;
    v.hetzner.servers.remove(v.hetzner.servers.byName(`w${i}`)?.id as number);
    await deleteNode(v, `w${i}`);
  };
  const addService = async (): Promise<void> => {
    names.push(`web-${++made}`);
    await b.create(`web-${made}`, { 'use-private-ip': 'true' });
  };
  v.hetzner.settings.maxLoadBalancers = 1_000;
  for (let i = 0; i < nodes; i += 1) await addNode();
  for (let i = 0; i < services; i += 1) await addService();
  const controller = v.start({ args: ['--node-status-update-frequency=30m'], forgets: true });

  const held = async (): Promise<Held> => {
    v.kubernetes.journal.clear();
    const metrics = (await controller.metrics()).split('\n').length;
    collectGarbage();
    await new Promise(resolve => process.nextTick(resolve));
    collectGarbage();
    return {
      heap: Math.round(process.memoryUsage().heapUsed / 1_024),
      timers: v.timers(),
      watches: v.kubernetes.openWatches().length,
      listeners: process.eventNames().reduce((sum, name) => sum + getEventListeners(process, name).length, 0),
      metrics,
    };
  };

  const samples: Held[] = [];
  for (let hour = 1; hour <= days * 24; hour += 1) {
    await removeNode();
    await addNode();
    if (hour % 6 === 0) {
      await deleteService(v, names.shift() as string);
      await addService();
    }
    await v.advance(HOUR);
    // As the API server does: it keeps events for an hour.
    const events = v.kubernetes.list(EVENTS) as unknown as readonly KubeObject[];
    for (const { metadata } of events) v.kubernetes.delete(`${EVENTS}/${metadata.name}`);
    if (hour % (days * 8) === 0) samples.push(await held());
  }
  const [third, , month] = samples as [Held, Held, Held];
  for (const one of samples) t.diagnostic(JSON.stringify(one));
  assert.equal(controller.error(), undefined);
  assert.equal(v.routes().length, nodes);
  assert.ok(month.heap < third.heap * 1.1 + 2_048, `heap ${third.heap} -> ${month.heap} KiB`);
  assert.ok(Math.abs(month.timers - third.timers) <= 10, `timers ${third.timers} -> ${month.timers}`);
  assert.equal(month.watches, 2);
  assert.equal(month.listeners, third.listeners);
  assert.ok(month.metrics <= third.metrics + 10, `series ${third.metrics} -> ${month.metrics}`);
});
