import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isServiceLink } from '../../lib/settings/unknown-variables.ts';
import { accepted, token, warningsOf } from './load-with.ts';

describe('the report of the settings', () => {
  it('lists what differs from the defaults with its source, secrets redacted', () => {
    const { report } = accepted({
      env: {
        HCLOUD_TOKEN: undefined,
        HCLOUD_TOKEN_FILE: '/run/secret/token',
        HCLOUD_NETWORK: '4711',
        HCLOUD_DEBUG: 'F',
        HCLOUD_SERVER_CACHE_MAX_AGE: '10000ms',
        ROBOT_PASSWORD: 'hunter2',
        HTTPS_PROXY: 'http://me:hunter2@proxy:3128',
      },
      argv: ['--cluster-cidr=10.0.0.0/8', '--leader-elect', '--route-reconciliation-period=30s'],
      files: { '/run/secret/token': token },
    });
    assert.deepEqual(report.effective, [
      { setting: 'HCLOUD_TOKEN_FILE', value: '[redacted]', source: 'file /run/secret/token' },
      { setting: 'HCLOUD_NETWORK', value: '4711', source: 'environment variable' },
      { setting: 'ROBOT_PASSWORD', value: '[redacted]', source: 'environment variable' },
      { setting: 'HTTPS_PROXY', value: '[redacted]', source: 'environment variable' },
      { setting: '--cluster-cidr', value: '10.0.0.0/8', source: 'flag' },
    ]);
    assert.deepEqual(report.ignored, ['route-reconciliation-period']);
  });

  it('warns about a token of unusual length and about nothing else, BUG-089', () => {
    assert.deepEqual(warningsOf({ env: { HCLOUD_TOKEN: 'a'.repeat(40) } }), [
      'Found a token of unusual length: HCLOUD_TOKEN: tokens have 64 characters, this one has 40',
    ]);
  });

  it('warns when leader election is off', () => {
    assert.equal(accepted({ argv: ['--leader-elect=false'] }).settings.leaderElection.enabled, false);
    assert.deepEqual(warningsOf({ argv: ['--leader-elect=false'] }), [
      'Switched leader election off: --leader-elect: several pods would act at once: run exactly one',
    ]);
  });

  it('warns that the cache modes one and off have no effect', () => {
    for (const mode of ['one', 'off']) {
      assert.deepEqual(warningsOf({ env: { HCLOUD_SERVER_CACHE_MODE: mode } }), [
        'Ignored the server cache mode: HCLOUD_SERVER_CACHE_MODE: one shared snapshot serves every mode',
      ]);
    }
    assert.deepEqual(warningsOf({ env: { HCLOUD_SERVER_CACHE_MODE: 'all' } }), []);
  });

  it('warns about private targets without a network', () => {
    assert.deepEqual(warningsOf({ env: { HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: 'true' } }), [
      'Found private targets without a network: HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: set HCLOUD_NETWORK, or load balancers get no targets',
    ]);
  });
});

describe('unknown variables', () => {
  const unknown: ReadonlyArray<readonly [string, string]> = [
    ['HCLOUD_LOAD_BALANCERS_DEFAULT_LOCATION', 'did you mean HCLOUD_LOAD_BALANCERS_LOCATION?'],
    ['HCLOUD_TOKEN_PATH', 'did you mean HCLOUD_TOKEN_FILE?'],
    ['ROBOT_PASWORD', 'did you mean ROBOT_PASSWORD?'],
    ['HCLOUD_SERVER_CACHE_TTL', 'it is called HCLOUD_SERVER_CACHE_MAX_AGE now'],
    ['HCLOUD_USE_HROBOT_PROVIDER_ID_FOR_BAREMETAL', 'both forms of provider ID are understood side by side'],
    ['HCLOUD_QQQQQQQQQQQQQQQQQQQQ', 'no setting has a similar name'],
  ];
  for (const [name, hint] of unknown) {
    it(`RC-08, RC-15: ${name} gives a warning without its value: ${hint}`, () => {
      assert.deepEqual(warningsOf({ env: { [name]: 'hunter2' } }), [
        `Ignored an unknown environment variable: ${name}: ${hint}`,
      ]);
    });
  }

  it('RC-09: of other programs give no warning: NODE_NAME, PATH, names that only resemble the prefix', () => {
    assert.deepEqual(warningsOf({ env: { NODE_NAME: 'a', PATH: '/bin', HCLOUD: 'x', hcloud_token: 'x' } }), []);
  });

  it('that are listed but not set are not there', () => {
    assert.deepEqual(warningsOf({ env: { HCLOUD_NOPE: undefined } }), []);
  });

  it('that Kubernetes sets for each Service of the namespace give no warning', () => {
    const service = 'HCLOUD_CLOUD_CONTROLLER_MANAGER';
    const env = {
      [`${service}_SERVICE_HOST`]: '10.96.0.7',
      [`${service}_SERVICE_PORT`]: '8233',
      [`${service}_SERVICE_PORT_METRICS`]: '8233',
      [`${service}_PORT`]: 'tcp://10.96.0.7:8233',
      [`${service}_PORT_8233_TCP`]: 'tcp://10.96.0.7:8233',
      [`${service}_PORT_8233_TCP_PROTO`]: 'tcp',
      [`${service}_PORT_8233_TCP_PORT`]: '8233',
      [`${service}_PORT_8233_TCP_ADDR`]: '10.96.0.7',
      ROBOT_PORT_53_UDP: 'udp://10.96.0.8:53',
    };
    assert.deepEqual(warningsOf({ env }), []);
  });

  it('that only look like a Service port are mistakes', () => {
    assert.equal(isServiceLink('HCLOUD_METRICS_PORT', '9000'), false);
    assert.equal(isServiceLink('HCLOUD_METRICS_PORT', 'tcp://10.96.0.7:80'), true);
    assert.equal(isServiceLink('HCLOUD_PORT_TCP', 'tcp://10.96.0.7:80'), false);
  });
});
