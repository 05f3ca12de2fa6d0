import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { untilConverged } from '../support/converge.ts';
import { writeKubeconfig } from '../support/kubeconfig.ts';
import { heartbeat } from '../support/nodes.ts';
import { startProxy } from '../support/proxy.ts';
import { scenarios } from '../support/scenario.ts';

const scenario = scenarios();

// What is common to all scenarios (each line JSON with known keys, no secret anywhere) is checked by `scenarios` at the end
// of each; here is what makes the controller say as much as it can, about answers that repeat what they were asked with.

it('says nothing secret at full length either: HCLOUD_DEBUG, level debug, answers that echo the token, broken ones, lost connections', async t => {
  const s = await scenario(t);
  const { protocol, port } = new URL(s.cluster.url);
  const proxy = await startProxy(Number(port));
  t.after(() => proxy.close());
  const echo = `Bearer ${s.token} is not ${encodeURIComponent(s.token)}\n\u2028\u001b[31m`;
  const body = { error: { code: 'server_error', message: echo, details: { token: s.token, [s.token]: 1 } } };
  const headers = { 'x-echo': s.token, 'x-correlation-id': `${s.token}-1` };
  for (const method of ['GET', 'POST']) {
    s.hetzner.faults.add({ kind: 'rewrite', status: 500, headers, body: () => body, method, times: 1 });
    s.hetzner.faults.add({
      kind: 'rewrite',
      status: 502,
      headers,
      body: () => `<html>${echo}</html>`,
      method,
      times: 1,
      skip: 1,
    });
    s.hetzner.faults.add({ kind: 'rewrite', body: () => `{"token":"${s.token}`, method, times: 1, skip: 2 });
    s.hetzner.faults.add({ kind: 'reset', method, times: 1, skip: 3 });
  }
  for (const i of [1, 2]) s.addServer(i);
  const controller = s.start({
    kubernetesURL: `${protocol}//127.0.0.1:${proxy.port}`,
    env: { HCLOUD_DEBUG: 'true' },
    args: ['--v=5'],
  });
  await s.join(1);
  await untilConverged(s, [1], 120_000);
  proxy.cut();
  await s.join(2);
  await untilConverged(s, [1, 2], 120_000);
  proxy.cut();
  await heartbeat(s.cluster, 'w1');
  await controller.stop();

  const lines = controller.rawLines();
  assert.ok(
    lines.some(line => line.includes('x-echo') && line.includes('[redacted]')),
    'the echo was written, redacted',
  );
  assert.ok(controller.lines().some(line => line.level === 'debug'));
  assert.ok(controller.lines().some(line => 'err' in line));
  assert.ok(
    lines.every(line => Buffer.byteLength(line) < 16 * 1024),
    'container runtimes would break a longer line in two',
  );
  assert.equal(controller.output(), `${lines.join('\n')}\n`, 'nothing but log lines is written');
  for (const part of [s.token, s.token.slice(0, 24), Buffer.from(s.token).toString('base64').slice(4, 40)]) {
    assert.ok(!controller.output().includes(part), 'part of the token in the output');
  }
});

it('ends with a message and without the token when Hetzner refuses that at the start and repeats it', async t => {
  const s = await scenario(t);
  const token = `${s.token.slice(0, 63)}x`;
  s.hetzner.faults.add({
    kind: 'error',
    status: 401,
    code: 'unauthorized',
    message: `token ${token} is unknown`,
    details: { token },
  });
  const controller = s.start({ env: { HCLOUD_TOKEN: token, HCLOUD_DEBUG: 'true' } });
  assert.equal(await controller.exited, 1);
  assert.match(controller.output(), /unauthorized|is unknown/);
  assert.ok(!controller.output().includes(token));
});

it('does not repeat the credentials that the Kubernetes API refuses', async t => {
  const s = await scenario(t);
  const secret = 'service-account-token-nobody-knows';
  const directory = mkdtempSync(join(tmpdir(), 'log-secrets-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const kubeconfig = join(directory, 'kubeconfig');
  writeKubeconfig(kubeconfig, s.cluster.url, secret, s.cluster.ca);
  const controller = s.start({
    env: { KUBERNETES_SERVICE_HOST: undefined, KUBERNETES_SERVICE_PORT: undefined },
    args: [`--kubeconfig=${kubeconfig}`, '--v=5'],
  });
  await controller.waitForLine(line => JSON.stringify(line).includes('401'), 'a refused request');
  await controller.stop();
  assert.ok(!controller.output().includes(secret));
});
