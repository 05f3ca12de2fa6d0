import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type AnnotationName,
  annotations,
  readAnnotations,
} from '../../../lib/controllers/load-balancer/annotations.ts';
import { variables } from '../../../lib/settings/variables.ts';
import { annotated } from './support.ts';

/** For each annotation: texts and what they mean, and texts that mean nothing. */
const table: Record<AnnotationName, readonly [good: readonly (readonly [string, unknown])[], bad: readonly string[]]> =
  {
    id: [[['42', 42]], ['0', '-1', 'x', '1.5', '99999999999999999999']],
    name: [[['edge', 'edge']], []],
    type: [[['lb11', 'lb11']], []],
    location: [
      [
        ['fsn1', 'fsn1'],
        ['', ''],
      ],
      [],
    ],
    'network-zone': [[['eu-central', 'eu-central']], []],
    'algorithm-type': [
      [
        ['round_robin', 'round_robin'],
        ['Least_Connections', 'least_connections'],
      ],
      ['random'],
    ],
    'disable-public-network': [
      [
        ['true', true],
        ['F', false],
      ],
      ['yes', 'on'],
    ],
    'disable-private-ingress': [
      [
        ['1', true],
        ['0', false],
      ],
      ['ja'],
    ],
    'use-private-ip': [[['TRUE', true]], ['tRUE']],
    network: [[['edge', 'edge']], []],
    'private-ipv4': [[['10.0.0.7', '10.0.0.7']], ['10.0.0', '::1', 'x', '10.0.0.07']],
    'private-subnet-ip-range': [
      [['10.0.1.0/24', '10.0.1.0/24']],
      ['10.0.1.0', '10.0.1.0/33', 'fd00::/8', '10.0.1.0/24/1', '/24'],
    ],
    'ipv6-disabled': [[['t', true]], ['x']],
    hostname: [[['lb.example.com', 'lb.example.com']], ['LB.example.com', 'a b', '10.0.0.1', 'a..b', '-a']],
    'ipv4-rdns': [[['a.example', 'a.example']], []],
    'ipv6-rdns': [[['a.example', 'a.example']], []],
    'node-selector': [[['a=b', 'a=b']], []],
    protocol: [
      [
        ['tcp', 'tcp'],
        ['HTTP', 'http'],
        ['https', 'https'],
      ],
      ['udp', 'tls'],
    ],
    'uses-proxyprotocol': [[['false', false]], ['v2']],
    'http-cookie-name': [[['C', 'C']], []],
    'http-cookie-lifetime': [
      [
        ['300', 300],
        ['5m', 300],
        ['1m30.9s', 90],
      ],
      ['-5s', '-5', '5 m', '1h 5m'],
    ],
    'http-timeout-idle': [
      [
        ['50', 50],
        ['1m', 60],
      ],
      ['soon', '1e3'],
    ],
    'http-sticky-sessions': [[['true', true]], ['no']],
    'http-redirect-http': [[['true', true]], ['301']],
    'certificate-type': [
      [
        ['managed', 'managed'],
        ['Uploaded', 'uploaded'],
      ],
      ['acme'],
    ],
    'http-certificates': [
      [
        ['4711, wildcard', ['4711', 'wildcard']],
        ['a,,b,', ['a', 'b']],
      ],
      [],
    ],
    'http-managed-certificate-name': [[['c', 'c']], []],
    'http-managed-certificate-domains': [[['*.example.com, example.com', ['*.example.com', 'example.com']]], []],
    'http-managed-certificate-acme-staging': [[['true', true]], ['x']],
    'health-check-protocol': [
      [
        ['TCP', 'tcp'],
        ['https', 'https'],
      ],
      ['icmp'],
    ],
    'health-check-port': [
      [
        ['1', 1],
        ['65535', 65_535],
      ],
      ['0', '65536', '80s'],
    ],
    'health-check-interval': [
      [
        ['15', 15],
        ['15s', 15],
      ],
      ['x'],
    ],
    'health-check-timeout': [
      [
        ['10', 10],
        ['0.5m', 30],
      ],
      ['x'],
    ],
    'health-check-retries': [[['3', 3]], ['3s', '-1']],
    'health-check-http-domain': [[['a.example', 'a.example']], []],
    'health-check-http-path': [[['/healthz', '/healthz']], []],
    'health-check-http-validate-certificate': [[['true', true]], ['x']],
    'http-status-codes': [[['2??, 3??', ['2??', '3??']]], []],
  };

describe('annotations of load balancers', () => {
  for (const [name, [good, bad]] of Object.entries(table) as [AnnotationName, (typeof table)[AnnotationName]][]) {
    it(`${name} means what its text says, with blanks around it too`, () => {
      for (const [text, value] of good) {
        for (const input of [text, ` ${text}\n`]) {
          const read = readAnnotations(annotated({ [name]: input }));
          assert.deepEqual([read.values[name], read.problems, read.wrong], [value, [], []], input);
        }
      }
      for (const text of bad) {
        const read = readAnnotations(annotated({ [name]: text }));
        assert.deepEqual([read.values, read.wrong], [{}, [name]], text);
        const [problem = ''] = read.problems;
        assert.match(problem, /must/, 'says what is allowed');
        assert.ok(problem.includes(`load-balancer.hetzner.cloud/${name}: ${JSON.stringify(text)}`), problem);
      }
    });
  }

  it('counts an empty text as absent, but for the location', () => {
    const all = Object.fromEntries(Object.keys(annotations).map(name => [name, ' ']));
    assert.deepEqual(readAnnotations(annotated(all)), {
      values: { location: '' },
      problems: [],
      wrong: [],
      unknown: [],
    });
  });

  it('does not stop at a wrong one, and tells unknown ones apart from those of others and those nobody reads', () => {
    const read = readAnnotations({
      ...annotated({ protocol: 'x', name: 'edge', ipv4: '1.2.3.4', ipv6: '::1', algoritm: 'y', constructor: 'z' }),
      'example.com/protocol': 'x',
    });
    assert.deepEqual(read.values, { name: 'edge' });
    assert.deepEqual(read.wrong, ['protocol']);
    assert.deepEqual(read.unknown, ['algoritm', 'constructor']);
  });

  it('names variables that exist', () => {
    const known = new Set(Object.values(variables).map(setting => (setting as { variable?: string }).variable));
    for (const definition of Object.values(annotations)) {
      if ('variable' in definition) assert.ok(known.has(definition.variable), definition.variable);
    }
  });

  it('reads any text without a throw, as a value or as a problem that is cut to length', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(annotations)), fc.string({ maxLength: 300 }), (name, text) => {
        const { values, problems, wrong } = readAnnotations(annotated({ [name]: text }));
        assert.equal(problems.length, wrong.length);
        assert.ok(Object.keys(values).length + wrong.length <= 1);
        assert.ok(problems.every(problem => problem.length < 1_024));
      }),
    );
  });
});
