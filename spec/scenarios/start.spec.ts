import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { bundle, type ControllerProcess } from '../support/controller-process.ts';
import { isInitialised, type Scenario, type StartOptions, scenarios } from '../support/scenario.ts';

const scenario = scenarios();

/** What it wrote until it ended by itself with exit code 1; no trace of a stack in it. */
const refusal = async (controller: ControllerProcess): Promise<string[]> => {
  assert.equal(await controller.exited, 1);
  const output = controller.output();
  assert.doesNotMatch(output, /\n\s+at |"stack"|\.mjs/, 'no stack trace');
  return output.split('\n').filter(line => line !== '');
};

/** The message it ended with, of a start that got as far as its log. */
const fatal = async (controller: ControllerProcess): Promise<string> => {
  await refusal(controller);
  const errors = controller.lines().filter(line => line.level === 'error');
  assert.equal(errors.length, 1);
  return JSON.stringify(errors[0]?.err);
};

const works = async (s: Scenario, options: StartOptions): Promise<ControllerProcess> => {
  s.addServer(1);
  await s.join(1);
  const controller = s.start(options);
  await s.waitRouted(1);
  return controller;
};

const attachedCheck = (s: Scenario, endpoint = s.metadataURL): StartOptions => ({
  env: { HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: undefined, HCLOUD_METADATA_ENDPOINT: endpoint },
});

/** A port that takes connections and says nothing: a black hole that answers the handshake. */
const silentServer = async (t: TestContext): Promise<string> => {
  const server = createServer(socket => socket.on('error', () => {}));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hetzner/v1/metadata`;
};

it('BUG-086: all wrong values are told at once, one line each, without the usage text', async t => {
  const s = await scenario(t);
  const env = {
    HCLOUD_LOAD_BALANCERS_ENABLED: 'yes',
    HCLOUD_SERVER_CACHE_MODE: 'foo',
    HCLOUD_METRICS_ENABLED: '',
  };
  const lines = await refusal(s.start({ env, args: ['--leader-elekt', '--node-monitor-period=often'] }));
  const wrong = [...Object.keys(env), '--leader-elekt', '--node-monitor-period'];
  assert.equal(lines.length, wrong.length, lines.join('\n'));
  for (const name of wrong) assert.equal(lines.filter(line => line.startsWith(name)).length, 1, name);
  assert.deepEqual(s.hetzner.requests, [], 'nobody is asked anything');
});

it('BUG-086: the feature gate and flags without a meaning here are accepted', async t => {
  const s = await scenario(t);
  const args = [
    '--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=false',
    '--route-reconciliation-period=30s',
    '--concurrent-node-syncs=5',
  ];
  const controller = await works(s, { args });
  assert.deepEqual(
    controller.lines().filter(({ level }) => level === 'error'),
    [],
  );
});

it('BUG-087: line breaks around secrets, names and ids do not count', async t => {
  const s = await scenario(t);
  const directory = mkdtempSync(join(tmpdir(), 'token-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'token');
  writeFileSync(file, `${s.token}\n`);
  await works(s, { env: { HCLOUD_TOKEN: undefined, HCLOUD_TOKEN_FILE: file, HCLOUD_NETWORK: `${s.networkID}\n` } });
});

it('BUG-087: a token with a line break in its variable is accepted', async t => {
  const s = await scenario(t);
  await works(s, { env: { HCLOUD_TOKEN: `${s.token}\n`, HCLOUD_NETWORK: ' k8s\n' } });
});

it('BUG-088: a network that does not exist ends the start with its name', async t => {
  const s = await scenario(t);
  assert.match(await fatal(s.start({ env: { HCLOUD_NETWORK: 'nope' } })), /HCLOUD_NETWORK.*\\"nope\\"/);
  assert.match(await fatal(s.start({ env: { HCLOUD_NETWORK: '4711' } })), /HCLOUD_NETWORK.*4711/);
});

it('BUG-088: a machine that is not in the network ends the start, one that is goes on', async t => {
  const s = await scenario(t);
  const outside = s.addServer(8, { ip: false });
  const inside = s.addServer(9);
  s.hetzner.metadataFor(outside);
  const message = await fatal(s.start(attachedCheck(s)));
  assert.match(message, /not attached to network k8s .*HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK=true/);
  s.hetzner.metadataFor(inside);
  const controller = await works(s, attachedCheck(s));
  assert.deepEqual(
    controller.lines().filter(({ level }) => level === 'warn'),
    [],
  );
});

it('BUG-088: a network that is made anew does not end it, although its machine is not in it yet', async t => {
  const s = await scenario(t);
  s.hetzner.metadataFor(s.addServer(9));
  const controller = await works(s, attachedCheck(s));
  s.hetzner.networks.remove(s.networkID);
  s.hetzner.networks.create({ name: 'k8s', ipRange: '10.0.0.0/8', subnets: ['10.0.0.0/16'] });
  s.addServer(2, { ip: false });
  await s.join(2);
  await controller.waitForLine(
    ({ msg }) => msg === 'Found another network under the name, starting anew with it',
    'it',
  );
  s.addServer(3, { ip: false });
  await s.join(3);
  await s.waitInitialised('w3');
});

it('BUG-088: a metadata service that is out of reach, silent or of somebody else does not keep it from starting', async t => {
  const s = await scenario(t);
  s.addServer(1);
  await s.join(1);
  for (const endpoint of ['http://127.0.0.1:1/hetzner/v1/metadata', await silentServer(t), s.metadataURL]) {
    const controller = s.start(attachedCheck(s, endpoint));
    const warning = await controller.waitForLine(({ level }) => level === 'warn', 'the check is skipped');
    assert.equal(warning.setting, 'HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK');
    await s.waitForNode('w1', node => node !== undefined && isInitialised(node));
    await controller.stop();
    assert.equal(controller.lines().filter(({ level }) => level === 'warn').length, 1);
  }
});

it('BUG-089: a token of another length is accepted with a warning', async t => {
  const token = 'abcdefghij'.repeat(4);
  const s = await scenario(t, { token });
  const controller = await works(s, { env: { HCLOUD_TOKEN: token } });
  const warnings = controller.lines().filter(({ level }) => level === 'warn');
  assert.deepEqual(
    warnings.map(({ setting }) => setting),
    ['HCLOUD_TOKEN'],
  );
  assert.ok(!controller.output().includes(token), 'it is a secret all the same');
});

it('BUG-089: an empty token is an error, and so is one that Hetzner refuses', async t => {
  const s = await scenario(t);
  const [line, ...others] = await refusal(s.start({ env: { HCLOUD_TOKEN: '' } }));
  assert.match(line ?? '', /^HCLOUD_TOKEN is not set/);
  assert.deepEqual(others, []);
  assert.match(
    await fatal(s.start({ env: { HCLOUD_TOKEN: 'z'.repeat(64) } })),
    /HCLOUD_TOKEN: Hetzner refused the token/,
  );
});

it('BUG-089: a token file that is not there, and two wrong settings beside it, are told together', async t => {
  const s = await scenario(t);
  const env = { HCLOUD_TOKEN: undefined, HCLOUD_TOKEN_FILE: '/does/not/exist', HCLOUD_DEBUG: 'maybe' };
  const lines = await refusal(s.start({ env, args: ['--cluster-cidr=10.244.0.0'] }));
  const names = lines.map(line => /^[-\w]+/.exec(line)?.[0]).sort();
  assert.deepEqual(names, ['--cluster-cidr', 'HCLOUD_DEBUG', 'HCLOUD_TOKEN_FILE']);
});

it('waits for a Kubernetes API and a Hetzner API that are down at its start, then works', async t => {
  const s = await scenario(t);
  s.addServer(1);
  await s.join(1);
  const outage = s.hetzner.faults.add({ kind: 'html', status: 503 });
  await s.cluster.killAPIServer();
  const controller = s.start();
  await controller.waitForLine(({ msg }) => msg === 'Could not reach the lease', 'it tries to lead');
  assert.deepEqual(s.hetzner.requests, [], 'who does not lead asks Hetzner nothing');
  await s.cluster.startAPIServer();
  await controller.waitForLine(({ msg }) => msg === 'Failed to reach Hetzner, will try again', 'it tries Hetzner');
  outage.remove();
  await s.waitRouted(1, 60_000);
  assert.deepEqual(
    controller.lines().filter(({ level }) => level === 'error'),
    [],
  );
});

it('BUG-091: says its version at the start, and on request', async t => {
  const s = await scenario(t);
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const controller = s.start();
  const started = await controller.waitForLine(({ msg }) => msg === 'Started', 'the start');
  assert.equal(started.version, version);
  const asked = execFileSync(process.execPath, [bundle, '--version'], { encoding: 'utf8' });
  assert.ok(asked.includes(` ${version} `), asked);
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  it(`ends in order when ${signal} comes with its first line, and asks Hetzner nothing`, async t => {
    const s = await scenario(t);
    const controller = s.start({ args: ['--secure-port=0'] });
    await controller.waitForLine(({ msg }) => msg === 'Started', 'the start');
    controller.kill(signal);
    assert.equal(await controller.exited, 0, controller.output());
    assert.deepEqual(
      controller
        .lines()
        .map(({ msg }) => msg)
        .slice(-2),
      ['Received signal, stopping', 'Stopped'],
    );
    assert.deepEqual(s.hetzner.requests, []);
  });
}

it('survives SIGUSR2 with its first line, and logs at debug from then on', async t => {
  const s = await scenario(t);
  const controller = s.start();
  await controller.waitForLine(({ msg }) => msg === 'Started', 'the start');
  controller.kill('SIGUSR2');
  await controller.waitForLine(({ level }) => level === 'debug', 'a line at debug');
  assert.equal(await controller.stop(), 0);
});
