import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { canonicalIP, canonicalIPv4CIDR, parseIPv4CIDR } from '../../lib/controllers/ip.ts';
import { annotationPrefix, annotations, readAnnotations } from '../../lib/controllers/load-balancer/annotations.ts';
import { labelsToSync, labelValue } from '../../lib/controllers/node/labels.ts';
import { decodeAction, decodeNetwork, decodeServer } from '../../lib/hetzner/decode.ts';
import { faultOfAnswer, HetznerError } from '../../lib/hetzner/errors.ts';
import { decodeCertificate, decodeLoadBalancer, decodeLoadBalancerType } from '../../lib/hetzner/lb-decode.ts';
import { isTargetAbsent } from '../../lib/hetzner/load-balancers.ts';
import { parseProviderID } from '../../lib/hetzner/provider-id.ts';
import { decodeOperatingStatus, decodeRobotServers } from '../../lib/hetzner/robot-server.ts';
import { errorFromStatus } from '../../lib/kubernetes/errors.ts';
import { parseLabelSelector } from '../../lib/kubernetes/label-selector.ts';
import { readLease } from '../../lib/kubernetes/lease.ts';
import { pruneNode } from '../../lib/kubernetes/prune.ts';
import { pruneService } from '../../lib/kubernetes/prune-service.ts';
import { readWatchEvent } from '../../lib/kubernetes/watch-event.ts';
import { createRedactor } from '../../lib/observability/redact.ts';
import { nameMatcher, parseNamePattern } from '../../lib/settings/name-pattern.ts';
import { quote, quoteName } from '../../lib/settings/quote.ts';
import { loadWith } from '../settings/load-with.ts';
import { captureLogger } from '../support/log-lines.ts';

/**
 * Whatever users, the Kubernetes API, Hetzner or something between them sends: no crash but the error that was declared,
 * time in proportion to the size, nothing polluted, one line of log.
 */

const faultOf = (text: string): HetznerError =>
  new HetznerError({
    api: 'cloud',
    ...faultOfAnswer(422, {
      error: { code: 'invalid_input', message: text, details: { fields: [{ name: text, messages: [text] }] } },
    }),
    method: 'POST',
    route: '/x',
  });
const allAnnotations = (text: string): Record<string, string> =>
  Object.fromEntries(Object.keys(annotations).map(name => [annotationPrefix + name, text]));
const redact = createRedactor(() => ['a-token-of-some-length']);

/** What reads text from outside. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'provider ID': parseProviderID,
  CIDR: text => [parseIPv4CIDR(text), canonicalIPv4CIDR(text), canonicalIP(text)],
  'label selector': text => parseLabelSelector(text)?.({ [text.slice(0, 20)]: text }),
  annotations: text => readAnnotations(allAnnotations(text)),
  'unknown annotation': text => readAnnotations({ [annotationPrefix + text]: text }),
  'label value': text => [labelValue(text), labelsToSync({ [text]: text, 'beta.kubernetes.io/instance-type': text })],
  'refusal of Hetzner': text => [String(faultOf(text)), isTargetAbsent(faultOf(text))],
  'Status of Kubernetes': text =>
    String(errorFromStatus('GET /', 500, { kind: 'Status', message: text, reason: text, details: { causes: [text] } })),
  'type of a watch event': text => readWatchEvent('watch', { type: text, object: { metadata: { name: text } } }),
  'pattern of names': text => 'value' in parseNamePattern(text) && nameMatcher(text)(text),
  'name for a pattern': text => nameMatcher('(a|b)?[a-z-]+[0-9]*x')(text),
  quote: text => [quote(text), quoteName(text)],
  redaction: text => redact(text, 1_000),
  endpoint: text => loadWith({ env: { HCLOUD_ENDPOINT: text, ROBOT_ENDPOINT: `https://x/${text}` } }),
  flag: text => loadWith({ argv: [`--cluster-cidr=${text}`, `--node-name-pattern=${text}`, text, `--${text}`] }),
};

describe('text from outside', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom(...'/:[](){}*+?\\|,=!.-@#%a1 \n') }),
  );
  for (const [what, read] of Object.entries(readers)) {
    it(`${what}: never throws`, () => {
      fc.assert(
        fc.property(text, input => {
          read(input);
        }),
        { numRuns: 500 },
      );
    });
  }

  const units = [
    'a',
    'A1',
    '/',
    ':',
    ' ',
    '\n',
    '-',
    '.',
    ',',
    '((',
    '[',
    '\\',
    '//',
    '@//',
    '{1,',
    'server ',
    'target not ',
    'a=b,',
    'eyJ-',
    '%2',
    '😀',
    '\u2028',
    '1',
    '10.0.0.0/',
    'Bearer ',
    'x!',
  ];
  /** What needs time by the square of that needs minutes. */
  const size = 300_000;
  for (const [what, read] of Object.entries(readers)) {
    it(`${what}: the time it takes grows no faster than the text`, () => {
      for (const unit of units) {
        for (const end of ['', '!']) {
          const input = unit.repeat(size / unit.length) + end;
          const from = process.cpuUsage();
          read(input);
          const { user, system } = process.cpuUsage(from);
          assert.ok(user + system < 2_000_000, `${(user + system) / 1_000} ms for ${JSON.stringify(unit)}...${end}`);
        }
      }
    });
  }
});

const key = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'metadata', 'spec', 'status'),
  fc.constantFrom(
    'name',
    'uid',
    'id',
    'labels',
    'annotations',
    'taints',
    'ports',
    'server',
    'server_ip',
    'ipv4',
    'targets',
  ),
);
const value = fc.letrec<{ any: unknown }>(tie => ({
  any: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<unknown>(null, true, 0, -1, 1e308, '', 'x', [], {}),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(key, tie('any'), { maxKeys: 5 }),
  ),
})).any;
/** As it comes out of JSON.parse, where `__proto__` is a key like others. */
const fromWire = value.map(one => {
  const text = JSON.stringify(one, (_, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? { ...inner, x: 1 } : inner,
  ).replaceAll('"x":1', '"__proto__":{"polluted":"yes","uid":"u"}');
  return JSON.parse(text) as unknown;
});

/** What reads parsed JSON from outside, and the errors it may throw: those that callers expect. */
const decoders: Readonly<Record<string, (json: unknown) => unknown>> = {
  Node: pruneNode,
  Service: pruneService,
  Lease: json => readLease(json, 0),
  server: decodeServer,
  network: decodeNetwork,
  action: decodeAction,
  'load balancer': decodeLoadBalancer,
  'load balancer type': decodeLoadBalancerType,
  certificate: decodeCertificate,
  'Robot servers': decodeRobotServers,
  'Robot status': decodeOperatingStatus,
  'refusal of Hetzner': json => faultOfAnswer(400, json),
  'Status of Kubernetes': json => errorFromStatus('GET /', 400, json),
  'watch event': json => readWatchEvent('watch', json),
};

describe('JSON from outside', () => {
  for (const [what, decode] of Object.entries(decoders)) {
    it(`${what}: is read or refused with an Error in words, and pollutes nothing`, () => {
      fc.assert(
        fc.property(fromWire, json => {
          try {
            const decoded = decode(json);
            assert.equal((decoded as { polluted?: unknown } | undefined)?.polluted, undefined);
          } catch (err) {
            assert.ok(err instanceof Error && !(err instanceof TypeError) && !(err instanceof RangeError), String(err));
          }
          assert.equal(({} as { polluted?: unknown }).polluted, undefined);
        }),
        { numRuns: 500 },
      );
    });
  }

  it('a refusal of megabytes becomes a short message', () => {
    assert.ok(String(faultOf('long '.repeat(200_000))).length < 5_000);
    const kube = errorFromStatus('GET /', 500, { kind: 'Status', message: 'long '.repeat(200_000) });
    assert.ok(String(kube).length < 5_000);
  });
});

describe('the log', () => {
  it('writes one line without control characters for whatever an error or a value holds', () => {
    const { logger, lines, records } = captureLogger('debug', ['a-token-of-some-length']);
    const nasty = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\n{"level":"info","msg":"Forged"}', '\u001b[2J\u001b]0;x\u0007', '\r\n', '\u2028', '\ud800'),
      fc.constant('x a-token-of-some-length y'),
    );
    fc.assert(
      fc.property(nasty, nasty, (one, other) => {
        lines.length = 0;
        logger.warn('Failed to reconcile', {
          node: one,
          key: other,
          err: Object.assign(new Error(one), { code: other }),
        });
        assert.equal(lines.length, 1);
        const [record] = records();
        assert.equal(record?.level, 'warn');
        assert.equal(record?.msg, 'Failed to reconcile');
      }),
      { numRuns: 500 },
    );
  });
});
