import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { loadKubeConnection } from '../../lib/kubernetes/credentials.ts';
import { manualClock } from './support.ts';

describe('loadKubeConnection', () => {
  let dir = '';
  const clock = manualClock();
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'credentials-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));
  const put = (name: string, content: string): string => {
    const path = join(dir, name);
    // As the kubelet does it: a new file in the place of the old one.
    writeFileSync(`${path}.new`, content);
    renameSync(`${path}.new`, path);
    return path;
  };
  const pod = (host = '10.0.0.1') => ({ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: '6443' });
  const inPod = (env: Record<string, string>, more: { master?: string } = {}) =>
    loadKubeConnection({ env, clock, serviceAccountDir: dir, ...more });
  const account = () => {
    put('token', 'token-1\n');
    put('ca.crt', 'ca-1');
    put('namespace', 'kube-system\n');
  };

  it('finds server, token, CA and namespace of a pod', async () => {
    account();
    const connection = await inPod(pod());
    assert.equal(connection.server, 'https://10.0.0.1:6443');
    assert.equal(connection.namespace, 'kube-system');
    assert.equal(await connection.authorization(), 'Bearer token-1');
    assert.deepEqual(connection.tls(), { ca: Buffer.from('ca-1') });
  });

  it('puts an IPv6 host into brackets, takes a name as it is, and lets --master replace both', async () => {
    account();
    assert.equal((await inPod(pod('fd00::1'))).server, 'https://[fd00::1]:6443');
    assert.equal((await inPod(pod('api.example'))).server, 'https://api.example:6443');
    const overridden = await inPod(pod(), { master: 'https://lb.example:443/' });
    assert.equal(overridden.server, 'https://lb.example');
    assert.equal(await overridden.authorization(), 'Bearer token-1');
  });

  it('uses a rotated token within a second and keeps the old one while the file is away', async () => {
    account();
    const connection = await inPod(pod());
    put('token', 'token-2');
    clock.advance(999);
    assert.equal(await connection.authorization(), 'Bearer token-1');
    clock.advance(1);
    assert.equal(await connection.authorization(), 'Bearer token-2');
    rmSync(join(dir, 'token'));
    clock.advance(1000);
    assert.equal(await connection.authorization(), 'Bearer token-2');
  });

  it('gives out new TLS material exactly when the CA has another content', async () => {
    account();
    const connection = await inPod(pod());
    const before = connection.tls();
    put('ca.crt', 'ca-1');
    clock.advance(1000);
    assert.equal(connection.tls(), before);
    put('ca.crt', 'ca-2');
    clock.advance(1000);
    const after = connection.tls();
    assert.notEqual(after, before);
    assert.deepEqual(after.ca, Buffer.from('ca-2'));
    assert.equal(connection.tls(), after);
  });

  it('fails when the pod has no service account token', async () => {
    put('ca.crt', 'ca-1');
    await assert.rejects(inPod(pod()), /token/);
  });

  it('uses --master alone without credentials', async () => {
    const connection = await inPod({}, { master: 'http://127.0.0.1:8080' });
    assert.equal(connection.server, 'http://127.0.0.1:8080');
    assert.equal(await connection.authorization(), undefined);
    assert.deepEqual(connection.tls(), {});
  });

  it('says what to set when there is no API server, and what is wrong with a URL', async () => {
    await assert.rejects(inPod({}), /--kubeconfig, KUBECONFIG or --master/);
    await assert.rejects(inPod({}, { master: '10.0.0.1:6443' }), /--master is "10\.0\.0\.1:6443"/);
    await assert.rejects(inPod({}, { master: 'https://u:secret@x' }), err => !String(err).includes('secret'));
  });

  const kubeconfig = (user: object, cluster: object = {}) =>
    put(
      'kubeconfig',
      JSON.stringify({
        clusters: [{ name: 'c', cluster: { server: 'https://api.example:6443/', ...cluster } }],
        users: [{ name: 'u', user }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'ns' } }],
        'current-context': 'x',
      }),
    );
  const base64 = (text: string) => Buffer.from(text).toString('base64');

  it('reads server, token, certificates and server name of a kubeconfig', async () => {
    const path = kubeconfig(
      { token: 't', 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') },
      { 'certificate-authority-data': base64('ca'), 'tls-server-name': 'kubernetes' },
    );
    const connection = await loadKubeConnection({ kubeconfig: path, env: pod(), clock });
    assert.equal(connection.server, 'https://api.example:6443');
    assert.equal(connection.namespace, 'ns');
    assert.equal(await connection.authorization(), 'Bearer t');
    const [ca, cert, key] = ['ca', 'cert', 'key'].map(text => Buffer.from(text));
    assert.deepEqual(connection.tls(), { ca, cert, key, servername: 'kubernetes' });
    clock.advance(5000);
    const before = connection.tls();
    await connection.authorization();
    assert.equal(connection.tls(), before, 'the same material while nothing changes');
  });

  it('finds a kubeconfig through KUBECONFIG and lets --master replace its server', async () => {
    const path = kubeconfig({ username: 'a', password: 'b' }, { 'insecure-skip-tls-verify': true });
    const connection = await loadKubeConnection({
      env: { KUBECONFIG: path },
      master: 'https://other.example',
      clock,
    });
    assert.equal(connection.server, 'https://other.example');
    assert.equal(await connection.authorization(), `Basic ${base64('a:b')}`);
    assert.deepEqual(connection.tls(), { rejectUnauthorized: false });
  });

  it('reads token and certificate files beside the kubeconfig again when they change', async () => {
    put('tok', 'one');
    put('ca', 'ca-1');
    put('cert', 'cert-1');
    put('key', 'key-1');
    const path = kubeconfig(
      { tokenFile: 'tok', 'client-certificate': 'cert', 'client-key': 'key' },
      { 'certificate-authority': 'ca' },
    );
    const connection = await loadKubeConnection({ kubeconfig: path, env: {}, clock });
    assert.equal(await connection.authorization(), 'Bearer one');
    assert.deepEqual(connection.tls().cert, Buffer.from('cert-1'));
    put('tok', 'two');
    put('cert', 'cert-2');
    put('ca', 'ca-2');
    clock.advance(1000);
    assert.equal(await connection.authorization(), 'Bearer two');
    assert.deepEqual(connection.tls().cert, Buffer.from('cert-2'));
    assert.deepEqual(connection.tls().ca, Buffer.from('ca-2'));
  });

  it('asks an exec plug-in for a token', async () => {
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'e' },
    };
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-e', `console.log(${JSON.stringify(JSON.stringify(credential))})`],
    };
    const connection = await loadKubeConnection({ kubeconfig: kubeconfig({ exec }), env: {}, clock });
    assert.equal(await connection.authorization(), 'Bearer e');
  });

  it('says which server is not encrypted, and takes it where the kubeconfig says so', async () => {
    const server = 'http://127.0.0.1:8001';
    await assert.rejects(
      loadKubeConnection({ kubeconfig: kubeconfig({}, { server }), env: {}, clock }),
      /kubeconfig.*"http:\/\/127.0.0.1:8001".*insecure-skip-tls-verify/,
    );
    const path = kubeconfig({}, { server, 'insecure-skip-tls-verify': true });
    assert.equal((await loadKubeConnection({ kubeconfig: path, env: {}, clock })).server, server);
  });

  it('names the file that cannot be read, and repeats nothing of it', async () => {
    await assert.rejects(loadKubeConnection({ kubeconfig: join(dir, 'none'), env: {}, clock }), /none.*ENOENT/);
    const broken = put('broken', 'token: [secret');
    await assert.rejects(
      loadKubeConnection({ kubeconfig: broken, env: {}, clock }),
      err => /broken/.test(String(err)) && !String(err).includes('secret'),
    );
  });
});
