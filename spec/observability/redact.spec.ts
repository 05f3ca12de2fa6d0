import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createLineEncoder } from '../../lib/observability/line-encoder.ts';
import { createRedactor } from '../../lib/observability/redact.ts';
import { captureLogger } from '../support/log-lines.ts';

const token = 'LRK9DAWQ1ZAEFSrCNEEzLCUwhYX1U3g7wMg4dTlkkDC96fyDuyJ39nVbVjCKSDfj';
const password = 'p"ss/wörd+1\\2';
const base64 = (text: string) => Buffer.from(text).toString('base64');
const redact = createRedactor(() => [token, password]);

describe('redaction', () => {
  it('hides a secret as it is, in base64, percent encoded and inside JSON', () => {
    for (const form of [
      token,
      base64(token),
      `Bearer ${token}`,
      JSON.stringify({ token }),
      encodeURIComponent(token),
    ]) {
      const text = redact(`a ${form} z`, 4096);
      assert.ok(!text.includes(token) && !text.includes(base64(token)), text);
      assert.match(text, /^a .*\[redacted\].* z$/);
    }
    assert.ok(!redact(JSON.stringify({ password }), 4096).includes('wörd'));
    assert.ok(!redact(encodeURIComponent(password), 4096).includes('rd%2B1'));
  });

  it('hides a password in basic credentials, whatever the length of the user name', () => {
    for (const user of ['a', 'ab', 'abc', '#ws+XyZ123']) {
      const header = base64(`${user}:${password}`);
      for (const text of [`Basic ${header}`, `authorization=${header};`]) {
        const hidden = redact(text, 4096);
        assert.ok(!hidden.includes(header.slice(-12, -4)), hidden);
        assert.match(hidden, /\[redacted\]/);
      }
    }
  });

  it('hides credentials it does not know: bearer, basic, JSON web tokens', () => {
    const jwt = `${base64('{"alg":"RS256"}')}.${base64('{"sub":"system:sa"}').replaceAll('=', '')}.c2lnbmF0dXJl`;
    assert.equal(redact(`got ${jwt}`, 4096), 'got [redacted]');
    assert.equal(redact('Authorization: Bearer abcdefghijklmnop12', 4096), 'Authorization: Bearer [redacted]');
    assert.equal(redact('Basic authentication failed', 4096), 'Basic authentication failed');
  });

  it('leaves no half of a secret where a text is cut', () => {
    for (let at = 4030; at < 4100; at += 5) {
      const text = redact(`${'x'.repeat(at)}${token}`, 4096);
      assert.ok(!text.includes(token.slice(0, 6)), `cut at ${at}`);
    }
  });

  it('follows secrets that change', () => {
    let secrets = ['first-secret'];
    const changing = createRedactor(() => secrets);
    assert.equal(changing('first-secret second-secret', 100), '[redacted] second-secret');
    secrets = ['second-secret'];
    assert.equal(changing('first-secret second-secret', 100), 'first-secret [redacted]');
  });

  it('ignores empty and tiny secrets, which would blank out everything', () => {
    assert.equal(createRedactor(() => ['', 'a'])('a b', 100), 'a b');
  });

  it('takes linear time on hostile texts', () => {
    const hostile = 'eyJ-'.repeat(250_000);
    const started = performance.now();
    redact(hostile, 4096);
    assert.ok(performance.now() - started < 1_000);
  });

  it('hides a known secret anywhere in any value', () => {
    const secret = fc.string({ minLength: 8, maxLength: 40 }).filter(s => !'[redacted] more characters'.includes(s));
    const nested = (text: string) =>
      fc.letrec(tie => ({
        value: fc.oneof(
          { depthSize: 'small' },
          fc.constantFrom(text, `Bearer ${text}`, `a${text}b`, new Error(`failed: ${text}`), Buffer.from(text)),
          fc.array(tie('value'), { maxLength: 4 }),
          fc.dictionary(fc.constantFrom('a', 'b', text), tie('value'), { maxKeys: 3 }),
          fc.tuple(tie('value')).map(([v]) => new Map([[text, v]])),
        ),
      })).value;
    fc.assert(
      fc.property(
        secret.chain(s => fc.tuple(fc.constant(s), nested(s))),
        ([s, value]) => {
          const line = createLineEncoder(createRedactor(() => [s]))([['details', value]]);
          const strings: string[] = [];
          JSON.parse(line, (key, v) => {
            strings.push(key);
            if (typeof v === 'string') strings.push(v);
            return v;
          });
          for (const text of strings) assert.ok(!text.includes(s), text);
        },
      ),
    );
  });

  it('hides by key what is a secret by its nature, and keeps switches and file names', () => {
    const { logger, records } = captureLogger();
    logger.info('Called Hetzner API', {
      headers: { Authorization: 'x', 'x-request-id': '1', 'Set-Cookie': ['a'] },
      settings: {
        robotPassword: { value: 'abc', source: 'env' },
        HCLOUD_TOKEN: 'abc',
        HCLOUD_TOKEN_FILE: '/t',
        token: true,
      },
    });
    const [record] = records();
    assert.deepEqual(record?.headers, {
      Authorization: '[redacted]',
      'x-request-id': '1',
      'Set-Cookie': '[redacted]',
    });
    assert.deepEqual(record?.settings, {
      robotPassword: '[redacted]',
      HCLOUD_TOKEN: '[redacted]',
      HCLOUD_TOKEN_FILE: '/t',
      token: true,
    });
  });

  it('BUG-091: keeps the token out of messages, errors and debug traces', () => {
    const { logger, lines } = captureLogger('debug', [token]);
    logger.error('Failed to call Hetzner API', { err: new Error(`bad header "Bearer ${token}"`, { cause: token }) });
    logger.debug('Called Hetzner API', { body: { request: `{"token":"${token}"}`, answer: `echo ${base64(token)}` } });
    logger.child({ reason: token }).warn('Lost watch');
    assert.equal(lines.length, 3);
    for (const line of lines) {
      assert.match(line, /\[redacted\]/);
      assert.ok(!line.includes(token) && !line.includes(base64(token)));
    }
  });
});
