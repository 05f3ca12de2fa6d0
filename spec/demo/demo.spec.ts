import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { eventually } from '../support/cluster.ts';
import { bundle } from '../support/controller-process.ts';

const run = promisify(execFile);

describe('the demo', () => {
  let directory = '';
  let program = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'demo-'));
    program = join(directory, 'copy.mjs');
    copyFileSync(bundle, program);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  const demo = (...args: string[]) =>
    run(process.execPath, [program, 'demo', ...args], {
      cwd: directory,
      // What the user has set for a real cluster must not reach the controller of the demo.
      env: { HCLOUD_ENDPOINT: 'http://127.0.0.1:9/v1', HCLOUD_TOKEN: 'real', KUBECONFIG: '/nowhere' },
    });

  it('takes over, scales and idles, from the bundle in another folder, and prints one document', async () => {
    const { stdout, stderr } = await demo('--json', '--workers=2', '--interval=200', '--idle=1');
    const document = JSON.parse(stdout);
    assert.deepEqual(
      document.nodes.map((node: { name: string }) => node.name),
      ['cp1', 'w1', 'w2'],
    );
    const { takeOver, scaleUp, idle } = document.hetznerRequests;
    assert.equal(takeOver.byEndpoint['POST /networks/{id}/actions/add_route'], 1);
    assert.equal(scaleUp.byEndpoint['POST /networks/{id}/actions/add_route'], 2);
    assert.equal(takeOver.withoutActions, 3);
    assert.equal(idle.withActions, 0);
    for (const node of document.nodes)
      assert.ok(node.available >= node.routed && node.routed > 0, JSON.stringify(node));
    assert.match(stderr, /^ {2}w2 +joined at/m);
  });

  it('writes a page with a mark for each request and a bar for each node, and says before it begins where it can not', async () => {
    const file = join(directory, 'report.html');
    const { stdout } = await demo('--json', '--workers=1', '--interval=200', '--idle=0', `--report=${file}`);
    const { hetznerRequests } = JSON.parse(stdout);
    const page = readFileSync(file, 'utf8');
    const requests = hetznerRequests.takeOver.withActions + hetznerRequests.scaleUp.withActions;
    // Once for the desk and once for the phone.
    assert.equal(page.match(/<circle /g)?.length, 2 * requests);
    assert.equal(page.match(/<g class="node"><title>(cp1|w1) was ready/g)?.length, 4);
    const refused = await demo('--report=/nowhere/report.html').catch((err: { stderr: string }) => err);
    assert.match(refused.stderr, /^--report: .*ENOENT/);
    assert.doesNotMatch(refused.stderr, /Taking over/);
  });

  it('BUG-010: joins three networks by gateways, from nothing to 253 nodes that all reach each other, within the targets', async () => {
    const { stdout, stderr } = await demo('--scenario=networks', '--json', '--idle=1');
    const { networks, hetznerRequests, podPairs, readyAfter, loss } = JSON.parse(stdout);
    assert.deepEqual(
      networks.map(({ name, nodes, routes, ways }: Record<string, unknown>) => [name, nodes, routes, ways]),
      [
        ['core', 59, 61, 2],
        ['pool-a', 97, 99, 2],
        ['pool-b', 97, 99, 2],
      ],
    );
    const { start, idle, targets } = hetznerRequests;
    assert.equal(start.writes, targets.writes, JSON.stringify(start.byEndpoint));
    assert.ok(start.reads <= targets.reads, JSON.stringify(start.byEndpoint));
    // Polls come by time: there are more where the machine has other things to do.
    assert.ok(start.polls < Math.max(targets.polls, readyAfter.all / 250), JSON.stringify(start.byEndpoint));
    assert.equal(idle.writes, 0);
    assert.deepEqual(podPairs, { all: 253 * 252, reached: 253 * 252, withoutOneWay: 253 * 252 - 97 * 97 });
    assert.deepEqual([loss.network, loss.joined, loss.touched], ['pool-b', 'pool-a-98', []]);
    assert.match(stderr, /^Losing network pool-b/m);
  });

  it('refuses what it does not know with exit code 1 and nothing on standard output', async () => {
    const refused = await demo('--fast').catch(
      (err: unknown) => err as { code: number; stdout: string; stderr: string },
    );
    assert.ok('code' in refused, 'it ran');
    assert.equal(refused.code, 1);
    assert.equal(refused.stdout, '');
    assert.match(refused.stderr, /^Unknown option '--fast'/);
  });

  /** A demo whose first node is done, and the pid of its controller. */
  const underWay = async () => {
    const child = spawn(process.execPath, [program, 'demo', '--json'], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', chunk => {
      stderr += chunk;
    });
    const exit = once(child, 'close').then(([code]) => code as number | null);
    const scaling = async () => (stderr.includes('Scaling') ? true : undefined);
    await eventually('the demo scales', scaling, 30_000);
    const [controller = 0] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
      .split(' ')
      .map(Number);
    return { child, controller, exit, stderr: () => stderr };
  };

  it('ends with exit code 1 and the last log lines of the controller when that ends', async () => {
    const { controller, exit, stderr } = await underWay();
    process.kill(controller, 'SIGKILL');
    assert.equal(await exit, 1);
    assert.match(stderr(), /^The controller ended with SIGKILL$/m);
    assert.match(stderr(), /^\{"ts":.*"msg":"Created route".*"node":"cp1"/m);
  });

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGKILL', null],
  ] as const) {
    it(`takes the controller with it on ${signal}`, async () => {
      const { child, controller, exit } = await underWay();
      child.kill(signal);
      assert.equal(await exit, code);
      await eventually('the controller is gone', async () => (existsSync(`/proc/${controller}`) ? undefined : true));
    });
  }
});
