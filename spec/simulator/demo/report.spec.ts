import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { duration, renderReport } from '../../../lib/simulator/demo/report.ts';
import { demoDocument } from '../../../lib/simulator/demo/result.ts';
import { addRoute, observed } from './observed.ts';

const row = (report: string, start: string): string => report.split('\n').find(line => line.startsWith(start)) ?? '';

describe('the report of the demo', () => {
  it('holds its requests against those of the peer and of the blog of Hetzner', () => {
    const report = renderReport(observed());
    assert.match(row(report, 'take over 1'), /3 \/ 4 +9 \/ 10$/);
    assert.match(row(report, 'scale from 0 to 10 workers'), /13 \/ 24 +26 \/ 36 +27, before 114$/);
    assert.match(row(report, 'idle for 6 min'), /1 \/ 1 +1 \/ 1 +2, before 31$/);
    assert.match(report, /hcloud-cloud-controller-manager v1\.35\.0, measured/);
  });

  it('counts by endpoint and phase', () => {
    const report = renderReport(observed());
    assert.match(row(report, 'GET /servers'), / 1 +3 +1$/);
    assert.match(row(report, addRoute), / 1 +10 +0$/);
  });

  it('gives latencies over the workers only, in seconds', () => {
    const report = renderReport(observed());
    assert.match(row(report, 'initialised'), /0\.01 \/ 0\.20 s +0\.02 \/ 0\.20 s$/);
    assert.match(row(report, 'route accepted'), /0\.02 \/ 0\.30 s +6\.0 \/ 10\.1 s$/);
    assert.match(row(report, 'NetworkUnavailable'), /0\.50 \/ 2\.0 s +6\.5 \/ 10\.6 s$/);
  });

  it('tells idle requests to Kubernetes, most first, and the memory', () => {
    const report = renderReport(observed());
    assert.match(report, /in 6 min of idling: 180 x update leases, 1 x watch nodes\n/);
    assert.match(report, /Resident memory of the controller: 61 MiB, peer 65 MiB\n/);
    assert.match(renderReport({ ...observed(), memoryMiB: undefined }), /not known on this system/);
  });

  it('says for what time the figures of others stand when its own idle time is another', () => {
    assert.match(row(renderReport(observed({ idle: 30 })), 'idle for 30 s'), /1 \/ 1 in 6 min +2, before 31 in 6 min$/);
  });

  it('compares nothing that is not the same work', () => {
    for (const other of [{ workers: 2 }, { interval: 200 }]) {
      const report = renderReport(observed(other));
      assert.match(row(report, 'scale from 0'), /13 \/ 24$/);
      assert.match(row(report, 'idle for'), /1 \/ 1$/);
      assert.match(row(report, 'initialised'), /0\.01 \/ 0\.20 s$/);
      assert.match(report, /controller: 61 MiB\n/);
      const { hetznerRequests, latencies, memoryMiB } = demoDocument(observed(other), '1');
      assert.deepEqual([hetznerRequests.scaleUp.peer, hetznerRequests.scaleUp.hetznerBlog], [null, null]);
      assert.deepEqual([hetznerRequests.idle.peer, latencies.routed?.peer, memoryMiB.peer], [null, null, null]);
    }
  });

  it('is the same as a document', () => {
    const document = demoDocument(observed(), '1.2.3');
    assert.equal(document.version, '1.2.3');
    const { scaleUp, idle } = document.hetznerRequests;
    assert.deepEqual([scaleUp.withoutActions, scaleUp.withActions, scaleUp.peer?.withActions], [13, 24, 36]);
    assert.deepEqual([idle.withActions, idle.peer?.withActions, idle.hetznerBlog?.after], [1, 1, 2]);
    assert.deepEqual(document.latencies.available, { p50: 500, p99: 2_000, peer: { p50: 6_500, p99: 10_600 } });
    assert.deepEqual(document.nodes[2], { name: 'w2', initialised: 200, routed: 300, available: 2_000 });
  });
});

describe('durations', () => {
  it('are in minutes where those are whole', () => {
    assert.deepEqual([0, 30, 60, 90, 360].map(duration), ['0 s', '30 s', '1 min', '90 s', '6 min']);
  });
});
