import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accepted, type Input, refused, token } from './load-with.ts';

describe('the settings', () => {
  it('have the defaults of the peer when only the token is given', () => {
    const { settings, report } = accepted();
    assert.deepEqual(settings.controllers, {
      node: true,
      lifecycle: true,
      route: false,
      loadBalancer: true,
      ipam: false,
    });
    assert.equal(settings.hcloud.endpoint, 'https://api.hetzner.cloud/v1');
    assert.equal(settings.hcloud.metadataEndpoint, 'http://169.254.169.254/hetzner/v1/metadata');
    assert.equal(settings.hcloud.networkAttachedCheck, true);
    assert.equal(settings.hcloud.networkRoutesEnabled, false);
    assert.deepEqual(settings.instances, { addressFamily: 'ipv4', zoneLabelEnabled: true });
    assert.deepEqual(settings.serverCache, { mode: 'all', maxAge: 10_000 });
    assert.equal(settings.robot.endpoint, 'https://robot-ws.your-server.de');
    assert.equal(settings.robot.cacheTimeout, 300_000);
    assert.equal(settings.robot.rateLimitWaitTime, undefined);
    assert.equal(settings.loadBalancers.disablePublicNetwork, undefined);
    assert.equal(settings.loadBalancers.usesProxyProtocol, undefined);
    assert.deepEqual(settings.leaderElection, {
      enabled: true,
      leaseDuration: 15_000,
      renewDeadline: 10_000,
      retryPeriod: 2_000,
      resourceName: 'cloud-controller-manager',
      resourceNamespace: 'kube-system',
    });
    assert.deepEqual(settings.nodes, {
      statusUpdateFrequency: 300_000,
      monitorPeriod: 5_000,
      concurrentSyncs: 10,
      selector: undefined,
    });
    assert.deepEqual(settings.routes, { clusterCIDRs: [], minResyncPeriod: 43_200_000 });
    assert.deepEqual(settings.metrics, { enabled: true, address: ':8233' });
    assert.equal(settings.secure.port, 10_258);
    assert.equal(settings.log.level, 'info');
    assert.deepEqual(report, {
      warnings: [],
      ignored: [],
      effective: [{ setting: 'HCLOUD_TOKEN', value: '[redacted]', source: 'environment variable' }],
    });
  });

  it('are frozen throughout', () => {
    const { settings } = accepted({ env: { HCLOUD_NETWORK: 'a' }, argv: ['--cluster-cidr=10.0.0.0/8'] });
    assert.ok(
      Object.isFrozen(settings) && Object.isFrozen(settings.hcloud) && Object.isFrozen(settings.routes.clusterCIDRs),
    );
  });

  const reads: ReadonlyArray<
    readonly [string, Input, (settings: ReturnType<typeof accepted>['settings']) => unknown, unknown]
  > = [
    ['a numeric network id as text', { env: { HCLOUD_NETWORK: '4711' } }, s => s.hcloud.network, '4711'],
    [
      'an endpoint without its trailing slashes',
      { env: { HCLOUD_ENDPOINT: 'http://a:1/v1//' } },
      s => s.hcloud.endpoint,
      'http://a:1/v1',
    ],
    [
      'an address family',
      { env: { HCLOUD_INSTANCES_ADDRESS_FAMILY: 'dualstack' } },
      s => s.instances.addressFamily,
      'dualstack',
    ],
    [
      'an algorithm with spaces and capitals',
      { env: { HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE: ' Round_Robin ' } },
      s => s.loadBalancers.algorithmType,
      'round_robin',
    ],
    [
      'a boolean of three states that is false',
      { env: { HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK: 'False' } },
      s => s.loadBalancers.disablePublicNetwork,
      false,
    ],
    [
      'health check settings',
      { env: { HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL: '3s', HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES: '3' } },
      s => [
        s.loadBalancers.healthCheckInterval,
        s.loadBalancers.healthCheckTimeout,
        s.loadBalancers.healthCheckRetries,
      ],
      [3_000, undefined, 3],
    ],
    [
      'an empty duration as not set',
      { env: { HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL: '' } },
      s => s.loadBalancers.healthCheckInterval,
      undefined,
    ],
    [
      'an empty text as not set',
      { env: { HCLOUD_LOAD_BALANCERS_LOCATION: ' ' } },
      s => s.loadBalancers.location,
      undefined,
    ],
    [
      'a Robot cache timeout of 0 as the default',
      { env: { ROBOT_CACHE_TIMEOUT: '0' } },
      s => s.robot.cacheTimeout,
      300_000,
    ],
    [
      'a Robot wait time of 0 as not set',
      { env: { ROBOT_RATE_LIMIT_WAIT_TIME: '0s' } },
      s => s.robot.rateLimitWaitTime,
      undefined,
    ],
    ['a secure port of 0', { argv: ['--secure-port=0'] }, s => s.secure.port, 0],
    ['a log level from the variable', { env: { HCLOUD_LOG_LEVEL: 'warn' } }, s => s.log.level, 'warn'],
    [
      'a flag before the variable',
      { env: { HCLOUD_LOG_LEVEL: 'warn' }, argv: ['--log-level=error'] },
      s => s.log.level,
      'error',
    ],
    ['-v=4 as debug', { argv: ['-v=4'] }, s => s.log.level, 'debug'],
    ['-v=3 as info', { argv: ['-v=3'] }, s => s.log.level, 'info'],
    ['a log level before -v', { env: { HCLOUD_LOG_LEVEL: 'info' }, argv: ['-v=9'] }, s => s.log.level, 'info'],
    [
      'two cluster CIDRs',
      { env: { HCLOUD_NETWORK: 'a' }, argv: ['--cluster-cidr=10.0.0.0/8, fd00::/48'] },
      s => s.routes.clusterCIDRs,
      ['10.0.0.0/8', 'fd00::/48'],
    ],
    [
      'ranges of pods by network',
      {
        env: { HCLOUD_NETWORK: 'a', HCLOUD_NETWORK_POD_CIDRS: 'core=10.240.0.0/16, 4711 = 10.241.0.0/16' },
        argv: ['--cluster-cidr=fd00::/48,10.0.0.0/8'],
      },
      s => s.hcloud.furtherNetworks?.podCIDRs,
      [
        { network: 'core', cidr: '10.240.0.0/16' },
        { network: '4711', cidr: '10.241.0.0/16' },
      ],
    ],
    [
      'gateways by pair of networks',
      {
        env: {
          HCLOUD_NETWORK: 'a',
          HCLOUD_NETWORK_POD_CIDRS: 'a=10.240.0.0/16',
          HCLOUD_NETWORK_GATEWAYS: 'a/4711=10.0.0.10, pool b / * = 10.1.0.10,a/c=none',
        },
      },
      s => s.hcloud.furtherNetworks?.gateways,
      [
        { network: 'a', neighbour: '4711', address: '10.0.0.10' },
        { network: 'pool b', neighbour: undefined, address: '10.1.0.10' },
        { network: 'a', neighbour: 'c', address: undefined },
      ],
    ],
    [
      'a loopback API server',
      { env: { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '7445' } },
      s => [s.kubernetes.serviceHost, s.kubernetes.servicePort],
      ['127.0.0.1', 7445],
    ],
    [
      'a proxy by its small name',
      { env: { HTTPS_PROXY: '', https_proxy: 'http://p:1' } },
      s => s.proxy.https,
      'http://p:1',
    ],
    [
      'load balancers switched off',
      { env: { HCLOUD_LOAD_BALANCERS_ENABLED: 'false' } },
      s => s.controllers.loadBalancer,
      false,
    ],
    [
      'Robot without credentials',
      { env: { ROBOT_ENABLED: 'true', ROBOT_USER: '' } },
      s => [s.robot.enabled, s.robot.user],
      [true, undefined],
    ],
  ];
  for (const [what, input, of, expected] of reads) {
    it(`read ${what}`, () => assert.deepEqual(of(accepted(input).settings), expected));
  }

  const routes: ReadonlyArray<readonly [string, Input, boolean]> = [
    ['with network and cluster CIDR', {}, true],
    ['with Robot as well', { env: { ROBOT_ENABLED: 'true' } }, true],
    ['but not without network', { env: { HCLOUD_NETWORK: '' } }, false],
    ['but not with HCLOUD_NETWORK_ROUTES_ENABLED=false', { env: { HCLOUD_NETWORK_ROUTES_ENABLED: 'false' } }, false],
    ['but not with --configure-cloud-routes=false', { argv: ['--configure-cloud-routes=false'] }, false],
    ['but not where --controllers leaves them out', { argv: ['--controllers=*,-route'] }, false],
    ['but not with an empty cluster CIDR', { argv: ['--cluster-cidr='] }, false],
  ];
  for (const [what, { env = {}, argv = [] }, on] of routes) {
    it(`have routes on ${what}`, () => {
      const { settings } = accepted({
        env: { HCLOUD_NETWORK: 'a', ...env },
        argv: ['--cluster-cidr=10.0.0.0/8', ...argv],
      });
      assert.equal(settings.controllers.route, on);
      assert.deepEqual(settings.routes.clusterCIDRs, on ? ['10.0.0.0/8'] : []);
    });
  }
});

describe('secrets in files', () => {
  it('BUG-089: are read from HCLOUD_TOKEN_FILE, ROBOT_USER_FILE and ROBOT_PASSWORD_FILE', () => {
    const { settings } = accepted({
      env: {
        HCLOUD_TOKEN: undefined,
        HCLOUD_TOKEN_FILE: '/t',
        ROBOT_USER_FILE: '/u',
        ROBOT_PASSWORD_FILE: '/p',
        ROBOT_ENABLED: '1',
      },
      files: { '/t': `${token}\n`, '/u': 'user', '/p': 'pass word\r\n' },
    });
    assert.deepEqual([settings.hcloud.token, settings.hcloud.tokenFile], [token, '/t']);
    assert.deepEqual([settings.robot.user, settings.robot.userFile], ['user', '/u']);
    assert.deepEqual([settings.robot.password, settings.robot.passwordFile], ['pass word', '/p']);
  });

  it('BUG-089: are not read where the plain variable is set', () => {
    const { settings } = accepted({ env: { HCLOUD_TOKEN_FILE: '/missing' } });
    assert.deepEqual([settings.hcloud.token, settings.hcloud.tokenFile], [token, undefined]);
  });

  it('BUG-089: are hidden by an empty plain variable, which is named', () => {
    assert.deepEqual(refused({ env: { HCLOUD_TOKEN: '', HCLOUD_TOKEN_FILE: '/t' }, files: { '/t': token } }), [
      'HCLOUD_TOKEN is invalid: it is empty and hides HCLOUD_TOKEN_FILE, unset it (set by environment variable)',
    ]);
  });

  it('are refused with the name of the variable and the path when they cannot be read', () => {
    assert.deepEqual(refused({ env: { HCLOUD_TOKEN: undefined, HCLOUD_TOKEN_FILE: '/t' } }), [
      'HCLOUD_TOKEN_FILE="/t" is invalid: must name a readable file, got ENOENT (set by environment variable)',
    ]);
  });

  it('are refused when they are empty', () => {
    assert.deepEqual(refused({ env: { HCLOUD_TOKEN: undefined, HCLOUD_TOKEN_FILE: '/t' }, files: { '/t': '\n' } }), [
      'HCLOUD_TOKEN_FILE is invalid: the file must not be empty (set by file /t)',
    ]);
  });
});

describe('trimming', () => {
  it('BUG-087: takes line breaks off the network, the token and the token file', () => {
    assert.equal(accepted({ env: { HCLOUD_NETWORK: '12345\n' } }).settings.hcloud.network, '12345');
    assert.equal(accepted({ env: { HCLOUD_TOKEN: `${token}\r\n` } }).settings.hcloud.token, token);
    const fromFile = accepted({
      env: { HCLOUD_TOKEN: undefined, HCLOUD_TOKEN_FILE: ' /t\n' },
      files: { '/t': `${token}\n` },
    });
    assert.equal(fromFile.settings.hcloud.token, token);
    assert.deepEqual(fromFile.report.warnings, []);
  });

  it('BUG-087: refuses control characters inside a value', () => {
    assert.deepEqual(refused({ env: { HCLOUD_NETWORK: '12\n345' } }), [
      'HCLOUD_NETWORK="12\\n345" is invalid: must not contain line breaks or other control characters (set by environment variable)',
    ]);
    assert.deepEqual(refused({ env: { HCLOUD_NETWORK: 'a\u007f\u0085\u2028b' } }), [
      'HCLOUD_NETWORK="a\\u007f\\u0085\\u2028b" is invalid: must not contain line breaks or other control characters (set by environment variable)',
    ]);
    assert.deepEqual(refused({ env: { HCLOUD_TOKEN: 'a\u0000b' } }), [
      'HCLOUD_TOKEN is invalid: must not contain line breaks or other control characters (set by environment variable)',
    ]);
  });
});
