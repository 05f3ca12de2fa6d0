import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { knownFlags, knownVariables } from '../../lib/settings/table.ts';
import { loadWith } from './load-with.ts';

const junk = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('true', 'false', '', '0', '10s', '-1s', '10.0.0.0/8', '*', 'http://a', ':80', '\n', '--', '-'),
);
const flagName = fc.constantFrom(...knownFlags.keys());
const argument = fc.oneof(
  junk,
  flagName.map(name => `--${name}`),
  fc
    .tuple(fc.constantFrom('--', '-', ''), fc.oneof(flagName, junk), junk)
    .map(([dashes, name, value]) => `${dashes}${name}=${value}`),
);
const secretNames = ['HCLOUD_TOKEN', 'ROBOT_USER', 'ROBOT_PASSWORD', 'HTTPS_PROXY'];
const variableName = fc.oneof(
  fc.constantFrom(...knownVariables.filter(name => !secretNames.includes(name))),
  fc.string().map(name => `HCLOUD_${name}`),
);
/** Values that cannot be mistaken for any other text. */
const secret = fc
  .tuple(fc.string({ unit: 'binary', maxLength: 5 }), fc.string({ maxLength: 60 }))
  .map(([a, b]) => `SeCrEt${a}SeCrEt${b}`);

describe('any command line and environment', () => {
  it('gives settings or one-line errors, never throws, and echoes no secret', () => {
    fc.assert(
      fc.property(
        fc.array(argument, { maxLength: 6 }),
        fc.dictionary(variableName, junk, { maxKeys: 6 }),
        fc.tuple(secret, secret, secret, secret),
        fc.option(secret),
        (argv, env, secrets, fileText) => {
          const secretEnv = Object.fromEntries(secretNames.map((name, index) => [name, secrets[index]]));
          const fromFile = fileText === null ? {} : { HCLOUD_TOKEN: undefined, HCLOUD_TOKEN_FILE: '/t' };
          const loaded = loadWith({
            argv,
            env: { ...env, ...secretEnv, ...fromFile },
            files: { '/t': fileText ?? '' },
          });
          const told = 'errors' in loaded ? loaded.errors : [JSON.stringify(loaded.report)];
          assert.ok(told.length > 0);
          for (const line of told) {
            assert.ok(!line.includes('SeCrEt'), line);
            assert.doesNotMatch(line, /[\p{Cc}\p{Zl}\p{Zp}]/u);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('keeps a token out of the messages even where it was put into the wrong place', () => {
    const token = 'a1B2'.repeat(16);
    const loaded = loadWith({
      argv: [token, `--${token}=x`, `--secure-port=${token}`, `--token=${token}`],
      env: { HCLOUD_DEBUG: token, HCLOUD_TOKEN: undefined, HCLOUD_TOKEN_FILE: token, [`HCLOUD_${token}`]: 'x' },
    });
    assert.ok('errors' in loaded && loaded.errors.length >= 6);
    assert.ok(!JSON.stringify(loaded).includes(token));
  });

  it('may name a token file whose reading fails in any way', () => {
    for (const thrown of [new Error('x\ny'), 'text', undefined, Object.assign(new Error('a'), { code: 'E\nX' })]) {
      const loaded = loadWith({
        env: { HCLOUD_TOKEN: undefined, HCLOUD_TOKEN_FILE: '/t' },
        files: Object.defineProperty({}, '/t', {
          get: () => {
            throw thrown;
          },
        }),
      });
      assert.ok('errors' in loaded && loaded.errors.length === 1 && !loaded.errors[0]?.includes('\n'));
    }
  });
});
