import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assetVersions } from '../support/assets.ts';
import { eventually } from '../support/cluster.ts';
import { startProxy, type TCPProxy } from '../support/proxy.ts';

describe('the assets', () => {
  let directory = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'assets-'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  const resolve = async (environment: Record<string, string>): Promise<{ code: number; out: string; err: string }> => {
    const child = spawn(process.execPath, [join(import.meta.dirname, '..', 'support', 'assets.ts')], {
      env: environment,
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', chunk => (out += chunk));
    child.stderr.on('data', chunk => (err += chunk));
    const [code] = (await once(child, 'close')) as [number];
    return { code, out, err };
  };

  /** A `go` that "builds" by writing a file, slowly enough for nobody. */
  const fakeGo = (): string => {
    const bin = join(directory, 'bin');
    mkdirSync(bin, { recursive: true });
    const go =
      '#!/bin/sh\nif [ "$1" = build ]; then while [ "$1" != -o ]; do shift; done; echo built > "$2"; /bin/chmod +x "$2"; fi\n';
    writeFileSync(join(bin, 'go'), go);
    chmodSync(join(bin, 'go'), 0o755);
    return bin;
  };

  it('are named after the versions in go.mod', () => {
    const goMod =
      'require k8s.io/kubernetes v1.37.2\n\nrequire (\n\tk8s.io/api v0.37.2\n\tgo.etcd.io/etcd/server/v3 v3.7.3 // indirect\n)\n';
    assert.deepEqual(assetVersions(goMod), { kubernetes: '1.37.2', etcd: '3.7.3' });
    assert.throws(() => assetVersions('module x'), /requires no k8s\.io\/kubernetes/);
  });

  it('are built with Go once, completely or not at all', async () => {
    const environment = { PATH: fakeGo(), XDG_CACHE_HOME: join(directory, 'cache') };
    const first = await resolve(environment);
    assert.equal(first.code, 0, first.err);
    assert.match(first.err, /building kube-apiserver/);
    assert.match(first.out, /k8s-[\d.]+-etcd-[\d.]+\/kube-apiserver\n$/);
    assert.equal(
      readdirSync(join(directory, 'cache', 'hcloud-reactive-controller', 'assets')).length,
      1,
      'no leftovers',
    );
    assert.equal((await resolve(environment)).err, '', 'the second time they are there');
  });

  it('are explained where they cannot be had, which fails in CI', async () => {
    const environment = { PATH: join(directory, 'nothing'), XDG_CACHE_HOME: join(directory, 'empty') };
    const skipped = await resolve(environment);
    const why = /install Go to have them built into .*KUBEBUILDER_ASSETS/;
    assert.equal(skipped.code, 3);
    assert.match(skipped.err, /^#+\n# SKIPPED: /);
    assert.match(skipped.err, why);
    const failed = await resolve({ ...environment, CI: 'true' });
    assert.equal(failed.code, 1);
    assert.match(failed.err, why);
  });

  it('must be in KUBEBUILDER_ASSETS when that is set', async () => {
    const answer = await resolve({ PATH: '', KUBEBUILDER_ASSETS: directory });
    assert.notEqual(answer.code, 0);
    assert.match(answer.err, /does not hold etcd and kube-apiserver/);
  });
});

describe('the TCP proxy', () => {
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  let proxy: TCPProxy;
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    proxy = await startProxy((server.address() as AddressInfo).port);
  });
  after(async () => {
    await proxy.close();
    server.close();
  });

  const open = async (): Promise<Socket> => {
    const socket = connect(proxy.port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  const echo = async (socket: Socket, text: string): Promise<string> => {
    socket.write(text);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    return chunk.toString();
  };

  it('forwards both ways and counts connections', async () => {
    const socket = await open();
    assert.equal(await echo(socket, 'hello'), 'hello');
    assert.equal(proxy.connections(), 1);
    socket.destroy();
    await eventually('the connection is gone', async () => (proxy.connections() === 0 ? true : undefined));
  });

  it('holds everything back while frozen, closes nothing, and delivers it afterwards', async () => {
    const socket = await open();
    await echo(socket, 'a');
    proxy.freeze();
    let got = '';
    socket.on('data', chunk => (got += chunk));
    let closed = false;
    socket.on('close', () => (closed = true));
    socket.write('b');
    await new Promise(resolve => setTimeout(resolve, 100));
    assert.deepEqual([got, closed], ['', false]);
    proxy.thaw();
    await eventually('the chunk arrives', async () => (got === 'b' ? true : undefined));
    socket.destroy();
  });

  it('strands present connections for good while new ones work', async () => {
    const old = await open();
    await echo(old, 'a');
    let got = '';
    old.on('data', chunk => (got += chunk));
    proxy.strand();
    old.write('b');
    const fresh = await open();
    assert.equal(await echo(fresh, 'c'), 'c');
    proxy.freeze();
    proxy.thaw();
    assert.equal(await echo(fresh, 'd'), 'd');
    assert.deepEqual([got, old.destroyed], ['', false]);
    old.destroy();
    fresh.destroy();
  });

  it('cuts with a reset', async () => {
    const socket = await open();
    await echo(socket, 'a');
    const failed = once(socket, 'error');
    proxy.cut();
    assert.equal(((await failed)[0] as NodeJS.ErrnoException).code, 'ECONNRESET');
  });

  it('refuses new connections until it accepts again', async () => {
    const present = await open();
    await echo(present, 'a');
    await proxy.refuse();
    const refused = connect(proxy.port, '127.0.0.1');
    assert.equal(((await once(refused, 'error'))[0] as NodeJS.ErrnoException).code, 'ECONNREFUSED');
    assert.equal(await echo(present, 'still'), 'still');
    present.destroy();
    await proxy.accept();
    const again = await open();
    assert.equal(await echo(again, 'back'), 'back');
    again.destroy();
  });

  it('delays each chunk', async () => {
    const socket = await open();
    await echo(socket, 'a');
    proxy.delay(60);
    const started = performance.now();
    assert.equal(await echo(socket, 'b'), 'b');
    assert.ok(performance.now() - started >= 110, 'once on each way');
    proxy.delay(0);
    socket.destroy();
  });
});
