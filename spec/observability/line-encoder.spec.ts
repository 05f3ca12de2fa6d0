import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createLineEncoder } from '../../lib/observability/line-encoder.ts';
import { createRedactor } from '../../lib/observability/redact.ts';

const encode = createLineEncoder(createRedactor(() => []));
const encoded = (value: unknown, key = 'details') => JSON.parse(encode([[key, value]]))[key];

class CodedError extends Error {
  override readonly name = 'CodedError';
  readonly code = 'rate_limit_exceeded';
  readonly status = 429;
  readonly details = { limit: 3600 };
  readonly request = { headers: { authorization: 'Bearer x' } };
}

describe('line encoder', () => {
  it('writes any JSON value as JSON.stringify does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3, depthSize: 'small', stringUnit: 'grapheme' }), value => {
        const line = encode([['details', value]]);
        if (line.length < 4000) assert.deepEqual(JSON.parse(line), JSON.parse(JSON.stringify({ details: value })));
      }),
    );
  });

  it('writes one line of valid JSON of at most 16 KiB whatever it is given', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
      withObjectString: true,
      withSparseArray: true,
      maxDepth: 8,
    });
    const text = fc.string({ unit: 'binary', maxLength: 40 });
    const big = fc
      .tuple(text, fc.nat(20_000))
      .map(([unit, times]) => unit.repeat(Math.ceil(times / (unit.length || 1))));
    fc.assert(
      fc.property(fc.array(fc.tuple(text, fc.oneof(anything, text, big))), entries => {
        const line = encode(entries);
        assert.doesNotThrow(() => JSON.parse(line), line.slice(0, 300));
        assert.doesNotMatch(line, /[\p{Cc}\u2028-\u202e\u2066-\u2069\ufeff]/u);
        assert.ok(line.isWellFormed());
        assert.ok(Buffer.byteLength(line) <= 16 * 1024, `${Buffer.byteLength(line)} bytes`);
      }),
      { numRuns: 300, interruptAfterTimeLimit: 5_000, markInterruptAsFailure: false },
    );
  });

  it('keeps insertion order and writes no object of its own, so that __proto__ is a key like others', () => {
    const value = JSON.parse('{"b":1,"__proto__":{"polluted":true},"constructor":2,"a":3}');
    assert.equal(
      encode([['details', value]]),
      '{"details":{"b":1,"__proto__":{"polluted":true},"constructor":2,"a":3}}',
    );
    assert.equal(encode([['__proto__', { polluted: true }]]), '{"__proto__":{"polluted":true}}');
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  });

  it('escapes new lines, terminal sequences, C1 controls, bidi overrides and lone surrogates', () => {
    const line = encode([['reason', 'a\nb\u001b[31mc\u009b31m\u202egpj.exe\u2028\ud800']]);
    assert.equal(line, '{"reason":"a\\nb\\u001b[31mc\\u009b31m\\u202egpj.exe\\u2028\ufffd"}');
  });

  it('writes big integers, dates, URLs, maps, sets, bytes, functions and symbols readably', () => {
    assert.equal(encoded(12345678901234567890n), '12345678901234567890');
    assert.equal(encoded(new Date(0)), '1970-01-01T00:00:00.000Z');
    assert.equal(encoded(new Date(Number.NaN)), null);
    assert.equal(encoded(new URL('http://a/b')), 'http://a/b');
    assert.deepEqual(encoded(new Map<unknown, unknown>([[1, 'x']])), { 1: 'x' });
    assert.deepEqual(encoded(new Set(['a', 'b'])), ['a', 'b']);
    assert.equal(encoded(Buffer.from('abc')), '[3 bytes]');
    assert.equal(
      encoded(() => 1),
      '[function]',
    );
    assert.equal(encoded(Symbol('s')), '[symbol]');
    assert.equal(encoded(Number.NaN), 'NaN');
    assert.deepEqual(encoded([undefined, 1]), [null, 1]);
  });

  it('names cycles, getters and proxies that throw, and what is too deep', () => {
    const cycle: Record<string, unknown> = { name: 'a' };
    cycle.self = { cycle };
    assert.deepEqual(encoded(cycle), { name: 'a', self: { cycle: '[circular]' } });
    const shared = { x: 1 };
    assert.deepEqual(encoded([shared, shared]), [shared, shared]);
    const getter = Object.defineProperty({}, 'bad', {
      enumerable: true,
      get: () => {
        throw new Error('no');
      },
    });
    assert.deepEqual(encoded(getter), { bad: '[threw]' });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    assert.equal(encoded(proxy), '[unreadable]');
    assert.equal(
      encoded({
        toJSON: () => {
          throw new Error('no');
        },
      }),
      '[unreadable]',
    );
    assert.deepEqual(encoded([[[[[[['deep']]]]]]]), [[[[[['[cut]']]]]]]);
  });

  it('cuts long texts, lists and objects, and says how much is missing', () => {
    assert.equal(encoded('x'.repeat(5000)), `${'x'.repeat(4096)}... (904 more characters)`);
    const list = encoded(Array.from({ length: 250 }, (_, i) => i));
    assert.equal(list.length, 101);
    assert.equal(list.at(-1), '... (150 more)');
    const object = encoded(Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`k${i}`, i])));
    assert.equal(object['...'], '20 more');
  });

  it('BUG-091: writes only kind, namespace and name of a whole Kubernetes object', () => {
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'worker-1', uid: 'u', managedFields: [{ manager: 'kubelet' }] },
      status: { images: [{ names: ['a'] }] },
    };
    assert.deepEqual(encoded(node), { kind: 'Node', name: 'worker-1' });
    assert.deepEqual(encoded([{ spec: {}, metadata: { name: 'a', namespace: 'b' } }]), [{ namespace: 'b', name: 'a' }]);
    const stored = { name: 'worker-1', namespace: '', uid: 'u', resourceVersion: '1', labels: {}, addresses: [] };
    assert.deepEqual(encoded(stored), { name: 'worker-1' });
  });

  it('BUG-091: writes only id and name of a whole Hetzner object', () => {
    const server = { id: 42, name: 'worker-1', status: 'running', type: 'cpx31', location: 'fsn1', privateNets: [] };
    assert.deepEqual(encoded(server), { id: 42, name: 'worker-1' });
    assert.deepEqual(encoded({ id: 42, name: 'worker-1' }), { id: 42, name: 'worker-1' });
  });

  it('BUG-091: keeps settings, labels and error details, which are no dumps', () => {
    const settings = { HCLOUD_NETWORK: { value: 'net', source: 'env' }, name: 'x', uid: 'y' };
    assert.deepEqual(encoded(settings, 'settings'), settings);
  });
});

describe('errors in a log line', () => {
  it('writes type, message, code, status, details and the first frames, and nothing else an error carries', () => {
    const err = encoded(new CodedError('slow down'), 'err');
    assert.deepEqual(Object.keys(err), ['type', 'message', 'code', 'status', 'details', 'stack']);
    assert.equal(err.type, 'CodedError');
    assert.equal(err.message, 'slow down');
    assert.equal(err.code, 'rate_limit_exceeded');
    assert.equal(err.status, 429);
    assert.deepEqual(err.details, { limit: 3600 });
    assert.ok(err.stack.length >= 1 && err.stack.length <= 4);
    assert.match(err.stack[0], /^at .*line-encoder\.spec\.ts/);
  });

  it('finds errors inside lists, objects and other errors', () => {
    const cause = new Error('outer', { cause: new Error('inner') });
    assert.equal(encoded({ a: [new Error('in a list')] }).a[0].message, 'in a list');
    const err = encoded(cause, 'err');
    assert.equal(err.cause.message, 'inner');
  });

  it('ends chains of causes that are long or circular', () => {
    const circular = new Error('circular');
    circular.cause = circular;
    assert.equal(encoded(circular, 'err').cause, '[circular]');
    let chain = new Error('0');
    for (let i = 1; i < 50; i++) chain = new Error(String(i), { cause: chain });
    let depth = 0;
    for (let e = encoded(chain, 'err'); e?.cause !== undefined; e = e.cause) depth++;
    assert.ok(depth <= 6, `${depth} causes`);
  });

  it('tells the inner messages of an aggregate without a message of its own, and the reason as the code', () => {
    const both = new AggregateError([new Error('connect ::1'), new Error('connect 127.0.0.1')], '');
    assert.equal(encoded(both, 'err').message, 'connect ::1; connect 127.0.0.1');
    assert.equal(encoded(Object.assign(new Error('409'), { reason: 'Conflict' }), 'err').code, 'Conflict');
  });

  it('gives err the same shape when no error was thrown', () => {
    assert.deepEqual(encoded('gave up', 'err'), { type: 'string', message: 'gave up' });
    assert.deepEqual(encoded(null, 'err'), { type: 'null', message: 'null' });
    assert.deepEqual(encoded({ a: 1 }, 'err'), { type: 'object', details: { a: 1 } });
    assert.equal(encode([['err', undefined]]), '{}');
  });

  it('survives errors whose properties throw', () => {
    const hostile = Object.defineProperties(new Error('x'), {
      message: {
        get: () => {
          throw new Error('no');
        },
      },
      stack: {
        get: () => {
          throw new Error('no');
        },
      },
    });
    assert.deepEqual(encoded(hostile, 'err'), { type: 'Error', message: '[threw]' });
  });
});
