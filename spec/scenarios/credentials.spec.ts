import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { request } from 'undici';
import { eventually } from '../support/cluster.ts';
import { freePorts } from '../support/free-ports.ts';
import type { KubeObject } from '../support/kube-client.ts';
import { createNode, getNode, setReady } from '../support/nodes.ts';
import { type Scenario, scenarios } from '../support/scenario.ts';

const scenario = scenarios();
const tokenOf = (letter: string): string => letter.repeat(64);

/** Files as a Secret volume has them: replaced as a whole, under our hands. */
const secretFiles = (t: TestContext) => {
  const directory = mkdtempSync(join(tmpdir(), 'secret-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(`${path}.new`, `${text}\n`);
    renameSync(`${path}.new`, path);
    return path;
  };
};
const gauge = async (port: number, api: string): Promise<string | undefined> => {
  const { body } = await request(`http://127.0.0.1:${port}/metrics`);
  return new RegExp(`^hcloud_reactive_credentials_refused\\{api="${api}"\\} (.*)$`, 'm').exec(await body.text())?.[1];
};
/** The Warning about refused credentials on the lease, which stands for the controller. */
const refusal = (s: Scenario, setting: string): Promise<KubeObject> =>
  eventually(
    'the event',
    async () => {
      const list = await s.cluster.client.must('GET', '/api/v1/namespaces/kube-system/events');
      return list.items.find(({ reason, message }) => reason === 'CredentialsRefused' && message?.includes(setting));
    },
    60_000,
  );
const refused = (s: Scenario): number => s.hetzner.requests.filter(({ status }) => status === 401).length;

it('takes over a new token from its file: no restart, no request with the wrong one; a refused one shows in log, event and metric', async t => {
  const s = await scenario(t);
  const put = secretFiles(t);
  const [port = 0] = await freePorts(1);
  const file = put('token', s.token);
  s.addServer(1);
  await s.join(1);
  const controller = s.start({
    env: { HCLOUD_TOKEN: undefined, HCLOUD_TOKEN_FILE: file, HCLOUD_METRICS_ADDRESS: `127.0.0.1:${port}` },
  });
  await s.waitRouted(1);

  put('token', tokenOf('b'));
  // For a while both tokens are good; files are looked at once a second.
  await new Promise(resolve => setTimeout(resolve, 1_100));
  s.hetzner.settings.token = tokenOf('b');
  s.addServer(2);
  await s.join(2);
  await s.waitRouted(2);
  assert.equal(refused(s), 0);

  put('token', tokenOf('c'));
  await new Promise(resolve => setTimeout(resolve, 1_100));
  s.addServer(3);
  await s.join(3);
  await s.join(4, { name: 'later' });
  const event = await refusal(s, 'HCLOUD_TOKEN');
  assert.equal(event.type, 'Warning');
  assert.deepEqual([event.involvedObject?.kind, event.involvedObject?.name], ['Lease', 'cloud-controller-manager']);
  assert.match(event.message ?? '', /Hetzner refuses HCLOUD_TOKEN: .*\(unauthorized\)/);
  assert.equal(await gauge(port, 'cloud'), '1');
  const errors = () => controller.lines().filter(({ level }) => level === 'error');
  assert.deepEqual(
    errors().map(({ msg, setting }) => [msg, setting]),
    [['Had the token refused by Hetzner', 'HCLOUD_TOKEN']],
  );

  put('token', tokenOf('b'));
  await s.waitRouted(3, 90_000);
  assert.equal(await gauge(port, 'cloud'), '0');
  assert.equal(errors().length, 1);
  assert.equal(controller.lines().filter(({ msg }) => msg === 'Started').length, 1);
  for (const token of ['b', 'c'].map(tokenOf)) assert.ok(!controller.output().includes(token));
});

it('a file with the token of another project deletes no node', async t => {
  const s = await scenario(t);
  const put = secretFiles(t);
  for (const i of [1, 2]) {
    s.addServer(i);
    await s.join(i);
  }
  const file = put('token', s.token);
  const controller = s.start({
    args: ['--node-monitor-period=1s'],
    env: { HCLOUD_TOKEN: undefined, HCLOUD_TOKEN_FILE: file },
  });
  for (const i of [1, 2]) await s.waitInitialised(`w${i}`);
  // The project behind the new token has none of our servers.
  put('token', tokenOf('b'));
  s.hetzner.settings.token = tokenOf('b');
  for (const { id } of s.hetzner.servers.list()) s.hetzner.servers.remove(id);
  s.hetzner.servers.create({ name: 'w1', id: 900_001 });
  for (const i of [1, 2]) await setReady(s.cluster, `w${i}`, 'Unknown');
  for (const i of [1, 2]) {
    await controller.waitForLine(
      ({ msg, node }) => msg === 'Kept node, as Hetzner knows no server of this cluster' && node === `w${i}`,
      `w${i} is kept`,
    );
  }
  await new Promise(resolve => setTimeout(resolve, 7_000));
  for (const i of [1, 2]) assert.ok((await getNode(s.cluster, `w${i}`)).metadata.uid);
});

it('takes over a new login to Robot from its files; a refused one is tried once, and shows in log, event and metric', async t => {
  const s = await scenario(t);
  const put = secretFiles(t);
  const [port = 0] = await freePorts(1);
  const { user, password } = s.hetzner.robot.settings.login;
  const robot = (number: number) => {
    s.hetzner.robot.create({ number, name: `bm${number}` });
    return createNode(s.cluster, { name: `bm${number}` });
  };
  await robot(321);
  const controller = s.start({
    args: ['--node-monitor-period=1s', '--node-status-update-frequency=2s'],
    env: {
      HCLOUD_METRICS_ADDRESS: `127.0.0.1:${port}`,
      ROBOT_ENABLED: 'true',
      ROBOT_USER_FILE: put('user', user),
      ROBOT_PASSWORD_FILE: put('password', password),
      ROBOT_ENDPOINT: s.robotURL,
      ROBOT_CACHE_TIMEOUT: '1s',
    },
  });
  await s.waitInitialised('bm321');

  put('user', 'new-user');
  put('password', 'new-password-0123456789');
  s.hetzner.robot.setLogin({ user: 'new-user', password: 'new-password-0123456789' });
  await robot(322);
  await s.waitInitialised('bm322', 60_000);
  assert.equal(refused(s), 0);

  put('password', 'wrong-password-0123456789');
  const event = await refusal(s, 'ROBOT_PASSWORD');
  assert.equal(event.involvedObject?.kind, 'Lease');
  assert.equal(await gauge(port, 'robot'), '1');
  await controller.waitForLine(({ msg }) => msg === 'Stopped asking Robot, which refused the login', 'the error');
  await robot(323);
  assert.equal(refused(s), 1);

  put('password', 'new-password-0123456789');
  await controller.waitForLine(({ msg }) => msg === 'Logged in to Robot again', 'the login works again', 90_000);
  await s.waitInitialised('bm323', 90_000);
  assert.equal(refused(s), 1);
  assert.equal(await gauge(port, 'robot'), '0');
  assert.ok(!s.hetzner.robot.isBanned());
  for (const text of ['new-password', 'wrong-password']) assert.ok(!controller.output().includes(text));
});
