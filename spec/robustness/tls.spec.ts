import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { createDispatcher } from '../../lib/hetzner/dispatcher.ts';
import { HetznerError } from '../../lib/hetzner/errors.ts';
import { createHetznerHTTP } from '../../lib/hetzner/http.ts';
import { createKubeClient } from '../../lib/kubernetes/client.ts';
import { KubeError } from '../../lib/kubernetes/errors.ts';
import { selfSigned, validity } from '../../lib/observability/self-signed.ts';
import { captureLogger } from '../support/log-lines.ts';

/** Certificates that nobody vouches for: not one byte of a request goes there, whatever the environment says. */

const serve = async (t: TestContext, made: number) => {
  const requests: string[] = [];
  const { cert, key } = selfSigned('localhost', made);
  const server = createServer({ cert, key }, (request, response) => {
    requests.push(`${request.headers.authorization}`);
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return { url: `https://localhost:${(server.address() as AddressInfo).port}`, cert, requests };
};

const withoutVerification = (t: TestContext): void => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.after(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  });
};

for (const [what, made, code] of [
  ['self-signed', Date.now(), /SELF_SIGNED/],
  ['expired', Date.now() - 2 * validity, /CERT_HAS_EXPIRED|SELF_SIGNED/],
] as const) {
  describe(`a certificate that is ${what}`, () => {
    it('keeps the token from who says to be Hetzner, and is named', async t => {
      withoutVerification(t);
      const { url, requests } = await serve(t, made);
      const { logger } = captureLogger();
      const http = createHetznerHTTP({
        endpoint: url,
        credentials: () => ({ authorization: 'Bearer secret', secrets: ['secret'] }),
        userAgent: 'spec',
        logger,
        dispatcher: await createDispatcher(undefined),
      });
      t.after(() => http.close());
      const err = await http.request({ method: 'GET', path: '/servers' }, new AbortController().signal).catch(e => e);
      assert.ok(err instanceof HetznerError);
      assert.match(err.code, code);
      assert.deepEqual(requests, []);
    });

    it('keeps the token from who says to be the Kubernetes API, unless the kubeconfig wants it otherwise', async t => {
      withoutVerification(t);
      const { url, requests, cert } = await serve(t, made);
      const ask = async (tls: object) => {
        const connection = { server: url, namespace: undefined, authorization: async () => 'Bearer x', tls: () => tls };
        const client = createKubeClient({ connection, userAgent: 'spec' });
        t.after(() => client.close());
        return client.request({ method: 'GET', path: '/', signal: new AbortController().signal }).catch(e => e);
      };
      const err = await ask({});
      assert.ok(err instanceof KubeError);
      assert.match(err.reason, code);
      if (what === 'expired') assert.match(((await ask({ ca: cert })) as KubeError).reason, /CERT_HAS_EXPIRED/);
      assert.deepEqual(requests, []);
      assert.deepEqual(await ask({ rejectUnauthorized: false }), {});
    });
  });
}
