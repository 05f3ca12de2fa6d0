import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseArguments, requestedAnswer } from '../../lib/settings/arguments.ts';

const flagsOf = (...argv: string[]): Record<string, string> => {
  const { flags, errors } = parseArguments(argv);
  assert.deepEqual(errors, []);
  return Object.fromEntries(flags);
};

describe('the command line', () => {
  const accepts: ReadonlyArray<readonly [string, readonly string[], Record<string, string>]> = [
    ['--name=value', ['--cluster-cidr=10.0.0.0/8'], { 'cluster-cidr': '10.0.0.0/8' }],
    ['--name value', ['--cluster-cidr', '10.0.0.0/8'], { 'cluster-cidr': '10.0.0.0/8' }],
    ['a value with a dash', ['--controllers', '-route'], { controllers: '-route' }],
    ['a value with an equals sign', ['--feature-gates=A=false,B=true'], { 'feature-gates': 'A=false,B=true' }],
    ['an empty value', ['--cluster-cidr='], { 'cluster-cidr': '' }],
    ['a bare boolean', ['--leader-elect', '--profiling'], { 'leader-elect': 'true', profiling: 'true' }],
    ['a boolean with value', ['--leader-elect=false'], { 'leader-elect': 'false' }],
    ['-v=2', ['-v=2'], { v: '2' }],
    ['-v2', ['-v2'], { v: '2' }],
    ['-v 2', ['-v', '2'], { v: '2' }],
    ['--v=2', ['--v=2'], { v: '2' }],
    ['underscores', ['--cluster_cidr=10.0.0.0/8'], { 'cluster-cidr': '10.0.0.0/8' }],
    ['the last of two', ['--secure-port=1', '--secure-port=2'], { 'secure-port': '2' }],
    ['the sum of two lists', ['--controllers=*', '--controllers=-route'], { controllers: '*,-route' }],
    ['nothing', [], {}],
    ['a lone terminator', ['--'], {}],
  ];
  for (const [what, argv, flags] of accepts) {
    it(`accepts ${what}`, () => assert.deepEqual(flagsOf(...argv), flags));
  }

  it('lists upstream flags without meaning here, and only those', () => {
    const { ignored } = parseArguments(['--cloud-provider=hcloud', '--profiling', '--profiling', '--leader-elect']);
    assert.deepEqual(ignored, ['cloud-provider', 'profiling']);
  });

  const refuses: ReadonlyArray<readonly [string, readonly string[], RegExp]> = [
    [
      'an unknown flag',
      ['--cluster-cdr=10.0.0.0/8'],
      /^--cluster-cdr is not a known flag; did you mean --cluster-cidr\? \(set by flag\)$/,
    ],
    [
      'an unknown flag whose value stands apart',
      ['--cluster-cdr', 'secret'],
      /^--cluster-cdr is not a known flag; did you mean --cluster-cidr/,
    ],
    ['an unknown flag unlike any other', ['--qqqqqqqqqq'], /^--qqqqqqqqqq is not a known flag; see --help/],
    [
      'a long flag with one dash',
      ['-leader-elect=false'],
      /^-leader-elect is not a known flag; did you mean --leader-elect\?/,
    ],
    ['a long flag that begins like -h', ['-hostname=a'], /^-hostname is not a known flag/],
    [
      'a name of Object.prototype',
      ['--constructor=1'],
      /^--constructor is not a known flag; (?:see --help|did you mean --[a-z-]+\?) \(set by flag\)$/,
    ],
    ['a flag without its value', ['--cluster-cidr'], /^--cluster-cidr has no value: must be --cluster-cidr=value/],
    ['a positional argument', ['plan'], /^"plan" is not allowed: only flags are/],
    [
      'the value of a boolean that stands apart',
      ['--leader-elect', 'false'],
      /^"false" is not allowed: .* --name=false/,
    ],
    ['what follows the terminator', ['--', '--leader-elect'], /^"--leader-elect" is not allowed/],
    ['a line break in a name', ['--a\nb=1'], /^--"a\\nb" is not a known flag/],
  ];
  for (const [what, argv, message] of refuses) {
    it(`refuses ${what}, in one line`, () => {
      const { errors } = parseArguments(argv);
      assert.equal(errors.length, 1, errors.join(' / '));
      assert.match(errors[0] ?? '', message);
    });
  }

  it('RC-14: refuses --disable-load-balancer and says what to do instead', () => {
    const { errors } = parseArguments(['--disable-load-balancer']);
    assert.match(errors[0] ?? '', /HCLOUD_LOAD_BALANCERS_ENABLED=false/);
  });

  it('tells whether help or version is asked for', () => {
    assert.equal(requestedAnswer(['--leader-elect', '--help']), 'help');
    assert.equal(requestedAnswer(['-h']), 'help');
    assert.equal(requestedAnswer(['--version']), 'version');
    assert.equal(requestedAnswer(['--version=raw']), 'version');
    assert.equal(requestedAnswer(['--version=false', '--kubeconfig', '--help']), undefined);
  });
});
