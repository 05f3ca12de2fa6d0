import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import tls from 'node:tls';
import { createHealth } from '../../lib/observability/health.ts';
import { type ServersOptions, startServers } from '../../lib/observability/http-server.ts';
import { createMetrics } from '../../lib/observability/metrics.ts';
import { selfSigned } from '../../lib/observability/self-signed.ts';
import { captureLogger } from '../support/log-lines.ts';

type Secure = ServersOptions['settings']['secure'];
const noSecure: Secure = { port: 0, bindAddress: '127.0.0.1', tlsCertFile: undefined, tlsPrivateKeyFile: undefined };
const local = { enabled: true, address: '127.0.0.1:0' };

/** A port that is free now: port 0 means "no listener" for --secure-port. */
const freePort = async (): Promise<number> => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

const start = async (t: TestContext, parts: Partial<ServersOptions> & { secure?: Partial<Secure> } = {}) => {
  const { logger, records } = captureLogger();
  const health = createHealth();
  const metrics = createMetrics();
  const { secure, ...options } = parts;
  const settings = { metrics: local, secure: { ...noSecure, ...secure } };
  const servers = await startServers({ settings, metrics, health, logger, ...options });
  t.after(() => servers.close());
  return { servers, health, metrics, records };
};

interface Answer {
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

const ask = (url: string, options: https.RequestOptions = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const client = url.startsWith('https:') ? https : http;
    const req = client.request(url, { agent: false, ...options }, res => {
      let body = '';
      res.setEncoding('utf8').on('data', chunk => {
        body += chunk;
      });
      res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, body }));
    });
    req.on('error', reject).end();
  });

describe('metrics server', () => {
  it('answers /metrics in the text format and nothing else', async t => {
    const { servers, metrics } = await start(t);
    metrics.operations.inc({ op: 'x' });
    const base = `http://127.0.0.1:${servers.metricsPort}`;
    const answer = await ask(`${base}/metrics?a=b`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
    assert.match(answer.body, /^cloud_controller_manager_operations_total\{op="x"\} 1$/m);
    for (const path of ['/', '/healthz', '/metrics/', '/debug/pprof', '/__proto__']) {
      assert.equal((await ask(`${base}${path}`)).status, 404, path);
    }
  });

  it('answers HEAD without a body and refuses other methods', async t => {
    const { servers } = await start(t);
    const url = `http://127.0.0.1:${servers.metricsPort}/metrics`;
    const head = await ask(url, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.body, '');
    assert.ok(Number(head.headers['content-length']) > 1000);
    const post = await ask(url, { method: 'POST' });
    assert.equal(post.status, 405);
    assert.equal(post.headers.allow, 'GET, HEAD');
  });

  it('is not started when metrics are off', async t => {
    const { servers, records } = await start(t, {
      settings: { metrics: { enabled: false, address: 'nonsense' }, secure: noSecure },
    });
    assert.equal(servers.metricsPort, undefined);
    assert.equal(servers.securePort, undefined);
    assert.deepEqual(records(), []);
  });

  it('listens on all interfaces of both families when the host is empty or unspecified', async t => {
    for (const host of ['', '0.0.0.0', '[::]']) {
      const { servers } = await start(t, {
        settings: { metrics: { enabled: true, address: `${host}:0` }, secure: noSecure },
      });
      assert.equal((await ask(`http://127.0.0.1:${servers.metricsPort}/metrics`)).status, 200, host);
      const v6 = Object.values(networkInterfaces()).some(all => all?.some(a => a.address === '::1'));
      if (v6) assert.equal((await ask(`http://[::1]:${servers.metricsPort}/metrics`)).status, 200, host);
    }
  });

  it('listens only where it was told to', async t => {
    const { servers } = await start(t);
    await assert.rejects(ask(`http://127.0.0.2:${servers.metricsPort}/metrics`), /ECONNREFUSED/);
  });

  it('refuses an address that is none, naming setting and value', async () => {
    for (const address of ['8233', 'a:b', ':99999', '::1:80', '[::1]', '']) {
      const settings = { metrics: { enabled: true, address }, secure: noSecure };
      await assert.rejects(
        startServers({ settings, metrics: createMetrics(), health: createHealth(), logger: captureLogger().logger }),
        (err: Error) => err.message.startsWith(`HCLOUD_METRICS_ADDRESS: "${address}" is no listen address`),
      );
    }
  });
});

describe('BUG-083: a busy port', () => {
  it('of the metrics server is told with setting, address and a way out, and leaves nothing open', async t => {
    const blocker = net.createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    t.after(() => blocker.close());
    const address = `127.0.0.1:${(blocker.address() as AddressInfo).port}`;
    const port = await freePort();
    const settings = { metrics: { enabled: true, address }, secure: { ...noSecure, port } };
    await assert.rejects(
      startServers({ settings, metrics: createMetrics(), health: createHealth(), logger: captureLogger().logger }),
      {
        name: 'ListenError',
        code: 'EADDRINUSE',
        message: `HCLOUD_METRICS_ADDRESS: cannot listen on ${address}, another process has this port (EADDRINUSE); set another address, or HCLOUD_METRICS_ENABLED=false`,
      },
    );
    await assert.rejects(ask(`https://127.0.0.1:${port}/livez`), /ECONNREFUSED/, 'the other listener was closed');
  });

  it('of the health server is told with its flag', async t => {
    const blocker = net.createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    t.after(() => blocker.close());
    const { port } = blocker.address() as AddressInfo;
    await assert.rejects(start(t, { secure: { port } }), {
      message: `--secure-port: cannot listen on 127.0.0.1:${port}, another process has this port (EADDRINUSE); set another port, or 0 for none`,
    });
  });

  it('or an address that this machine does not have is told alike', async t => {
    const settings = { metrics: { enabled: true, address: '192.0.2.1:8233' }, secure: noSecure };
    await assert.rejects(
      start(t, { settings }),
      /HCLOUD_METRICS_ADDRESS: .* does not have this address \(EADDRNOTAVAIL\)/,
    );
  });
});

describe('health server', () => {
  it('answers over TLS with a certificate that a client can verify', async t => {
    const port = await freePort();
    const { servers } = await start(t, { secure: { port } });
    assert.equal(servers.securePort, port);
    const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const der = socket.getPeerCertificate().raw;
    socket.destroy();
    const ca = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----`;
    const answer = await ask(`https://localhost:${port}/livez`, { ca, family: 4 });
    assert.deepEqual([answer.status, answer.body], [200, 'ok']);
    await assert.rejects(ask(`https://localhost:${port}/livez`, { family: 4 }), /self-signed certificate/);
  });

  it('answers 500 with names but no reasons, tells the reason once in the log, and answers ok again', async t => {
    const port = await freePort();
    const { health, records } = await start(t, { secure: { port } });
    const get = (path: string) => ask(`https://127.0.0.1:${port}${path}`, { rejectUnauthorized: false });
    let synced = false;
    health.setCheck('nodes', () => (synced ? undefined : 'list failed: 10.0.0.1'));
    assert.equal((await get('/readyz')).status, 500);
    synced = true;
    for (const path of ['/readyz', '/healthz']) assert.equal((await get(path)).body, 'ok');
    const early = records().filter(r => r.check === 'nodes' && r.level !== 'debug');
    assert.deepEqual(early, [], 'a process that starts is no trouble');
    synced = false;
    for (const path of ['/readyz', '/readyz', '/healthz?verbose']) {
      const answer = await get(path);
      assert.equal(answer.status, 500, path);
      assert.match(answer.body, /^\[\+\]ping ok\n\[-\]nodes failed\n/);
      assert.doesNotMatch(answer.body, /10\.0\.0\.1/);
    }
    assert.equal((await get('/livez')).body, 'ok');
    synced = true;
    assert.equal((await get('/readyz')).body, 'ok');
    assert.equal((await get('/readyz?verbose')).body, '[+]ping ok\n[+]nodes ok\nreadyz check passed\n');
    assert.equal((await get('/metrics')).status, 404);
    const lines = records().filter(r => r.check === 'nodes' && r.level !== 'debug');
    assert.deepEqual(
      lines.map(r => [r.level, r.msg, r.reason]),
      [
        ['warn', 'Failed health check', 'list failed: 10.0.0.1'],
        ['warn', 'Failed health check', 'list failed: 10.0.0.1'],
        ['info', 'Passed health check again', undefined],
      ],
      'once for each endpoint that was asked',
    );
  });

  it('takes a new certificate from its files while running, and keeps the old one when the new one is broken', async t => {
    const dir = mkdtempSync(join(tmpdir(), 'tls-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const [tlsCertFile, tlsPrivateKeyFile] = [join(dir, 'tls.crt'), join(dir, 'tls.key')];
    const [a, b] = [selfSigned('a', Date.now()), selfSigned('b', Date.now())];
    const put = ({ cert, key }: typeof a) => {
      writeFileSync(tlsPrivateKeyFile, key);
      writeFileSync(tlsCertFile, cert);
    };
    put(a);
    const port = await freePort();
    const { records } = await start(t, { secure: { port, tlsCertFile, tlsPrivateKeyFile }, certificateCheckPeriod: 5 });
    const get = (ca: string) => ask(`https://localhost:${port}/livez`, { ca, family: 4 });
    const logged = async (msg: string) => {
      while (!records().some(r => r.msg === msg)) await new Promise(resolve => setTimeout(resolve, 2));
    };
    assert.equal((await get(a.cert)).status, 200);
    writeFileSync(tlsCertFile, 'half');
    await logged('Failed to load new TLS certificate, keeping the old one');
    assert.equal((await get(a.cert)).status, 200);
    put(b);
    await logged('Loaded new TLS certificate');
    assert.equal((await get(b.cert)).status, 200);
    await assert.rejects(get(a.cert));
  });

  it('does not start with files it cannot read', async t => {
    const port = await freePort();
    const secure = { port, tlsCertFile: '/none.crt', tlsPrivateKeyFile: '/none.key' };
    await assert.rejects(start(t, { secure }), /--tls-cert-file: cannot read \/none\.crt/);
  });
});

describe('closing the servers', () => {
  it('ends at once though clients keep connections open, idle or in the middle of a handshake', async t => {
    const port = await freePort();
    const { servers } = await start(t, { secure: { port } });
    const agent = new http.Agent({ keepAlive: true });
    t.after(() => agent.destroy());
    await ask(`http://127.0.0.1:${servers.metricsPort}/metrics`, { agent });
    const silent = [net.connect(servers.metricsPort ?? 0, '127.0.0.1'), net.connect(port, '127.0.0.1')];
    const ends = silent.map(socket => {
      socket.on('error', () => {});
      return once(socket, 'close');
    });
    await Promise.all(silent.map(socket => once(socket, 'connect')));
    // An answer on each listener shows that the earlier connections were accepted.
    await ask(`http://127.0.0.1:${servers.metricsPort}/metrics`);
    await ask(`https://127.0.0.1:${port}/livez`, { rejectUnauthorized: false });
    const started = performance.now();
    await servers.close();
    assert.ok(performance.now() - started < 1_000);
    await Promise.all(ends);
    await assert.rejects(ask(`http://127.0.0.1:${servers.metricsPort}/metrics`), /ECONNREFUSED/);
    await servers.close();
  });
});
