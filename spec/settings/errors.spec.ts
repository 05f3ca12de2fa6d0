import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accepted, type Input, loadWith, refused, warningsOf } from './load-with.ts';

const network = { HCLOUD_NETWORK: 'k8s' };

describe('errors', () => {
  const single: ReadonlyArray<readonly [string, Input, string]> = [
    [
      'BUG-089: a missing token',
      { env: { HCLOUD_TOKEN: undefined } },
      'HCLOUD_TOKEN is not set: must be an API token, in HCLOUD_TOKEN or in the file named by HCLOUD_TOKEN_FILE',
    ],
    [
      'BUG-089: an empty token',
      { env: { HCLOUD_TOKEN: ' ' } },
      'HCLOUD_TOKEN is not set: must be an API token, in HCLOUD_TOKEN or in the file named by HCLOUD_TOKEN_FILE',
    ],
    [
      'a token no header can carry',
      { env: { HCLOUD_TOKEN: 'p\u00e4ss' } },
      'HCLOUD_TOKEN is invalid: must consist of ASCII characters without white space (set by environment variable)',
    ],
    [
      'a name that no Lease can have',
      { argv: ['--leader-elect-resource-name=My Lease'] },
      '--leader-elect-resource-name="My Lease" is invalid: must be small letters, digits, - and ., with a letter or digit at both ends, at most 253 (set by flag)',
    ],
    [
      'a path in the place of a namespace',
      { argv: ['--leader-elect-resource-namespace=../nodes'] },
      '--leader-elect-resource-namespace="../nodes" is invalid: must be small letters, digits, - and ., with a letter or digit at both ends, at most 253 (set by flag)',
    ],
    [
      'BUG-086: a boolean that is none',
      { env: { HCLOUD_LOAD_BALANCERS_ENABLED: 'yes' } },
      'HCLOUD_LOAD_BALANCERS_ENABLED="yes" is invalid: must be a boolean: 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False (set by environment variable)',
    ],
    [
      'BUG-086: a boolean that is empty',
      { env: { HCLOUD_METRICS_ENABLED: '' } },
      'HCLOUD_METRICS_ENABLED="" is invalid: must be a boolean: 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False (set by environment variable)',
    ],
    [
      'BUG-086: an unknown cache mode',
      { env: { HCLOUD_SERVER_CACHE_MODE: 'foo' } },
      'HCLOUD_SERVER_CACHE_MODE="foo" is invalid: must be one of all, one, off (set by environment variable)',
    ],
    [
      'BUG-086: an unknown flag',
      { argv: ['--leader-elekt'] },
      '--leader-elekt is not a known flag; did you mean --leader-elect? (set by flag)',
    ],
    [
      'an unknown address family',
      { env: { HCLOUD_INSTANCES_ADDRESS_FAMILY: 'both' } },
      'HCLOUD_INSTANCES_ADDRESS_FAMILY="both" is invalid: must be one of ipv4, ipv6, dualstack (set by environment variable)',
    ],
    [
      'a duration without unit',
      { env: { ROBOT_CACHE_TIMEOUT: '10' } },
      'ROBOT_CACHE_TIMEOUT="10" is invalid: must be a duration with units, such as 300ms, 1m30s or 1.5h (units ns, us, ms, s, m, h) (set by environment variable)',
    ],
    [
      'a negative duration',
      { env: { ROBOT_CACHE_TIMEOUT: '-1s' } },
      'ROBOT_CACHE_TIMEOUT="-1s" is invalid: must be a duration that is not negative (set by environment variable)',
    ],
    [
      'an empty maximum age',
      { env: { HCLOUD_SERVER_CACHE_MAX_AGE: '' } },
      'HCLOUD_SERVER_CACHE_MAX_AGE="" is invalid: must be a duration with units, such as 300ms, 1m30s or 1.5h (units ns, us, ms, s, m, h) (set by environment variable)',
    ],
    [
      'a period of 0',
      { argv: ['--node-monitor-period=0'] },
      '--node-monitor-period="0" is invalid: must be a duration above 0 (set by flag)',
    ],
    [
      'retries that are no integer',
      { env: { HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES: '1.5' } },
      'HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES="1.5" is invalid: must be an integer of at least 1 (set by environment variable)',
    ],
    [
      'a port out of range',
      { argv: ['--secure-port', '70000'] },
      '--secure-port="70000" is invalid: must be an integer from 0 to 65535 (set by flag)',
    ],
    [
      'a subnet that is no CIDR',
      { env: { HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE: '10.0.0.0' } },
      'HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE="10.0.0.0" is invalid: must be a CIDR such as 10.0.0.0/16 or fd00:1::/48 (set by environment variable)',
    ],
    [
      'an unknown algorithm',
      { env: { HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE: 'random' } },
      'HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE="random" is invalid: must be one of round_robin, least_connections (set by environment variable)',
    ],
    [
      'an endpoint with a password, which is not shown',
      { env: { HCLOUD_ENDPOINT: 'http://me:hunter2@a/v1' } },
      'HCLOUD_ENDPOINT="http://[redacted]@a/v1" is invalid: must be a URL such as https://example.com/v1, without user name, password, query and fragment (set by environment variable)',
    ],
    [
      'an invalid cluster CIDR',
      { argv: ['--cluster-cidr=10.244.0.0'], env: network },
      '--cluster-cidr="10.244.0.0" is invalid: must be one CIDR, or one IPv4 and one IPv6 CIDR separated by a comma (set by flag)',
    ],
    [
      'two cluster CIDRs of one family',
      { argv: ['--cluster-cidr=10.0.0.0/16,10.1.0.0/16'] },
      '--cluster-cidr="10.0.0.0/16,10.1.0.0/16" is invalid: must be one CIDR, or one IPv4 and one IPv6 CIDR separated by a comma (set by flag)',
    ],
    [
      'an unknown controller',
      { argv: ['--controllers=*,-nodes'] },
      '--controllers="*,-nodes" is invalid: must be a comma-separated list of *, names and -names; names are cloud-node-controller, cloud-node, cloud-node-lifecycle-controller, cloud-node-lifecycle, service-lb-controller, service, node-route-controller, route, node-ipam-controller, nodeipam (set by flag)',
    ],
    [
      'RC-15: location and network zone together',
      { env: { HCLOUD_LOAD_BALANCERS_LOCATION: 'nbg1', HCLOUD_LOAD_BALANCERS_NETWORK_ZONE: 'eu-central' } },
      'HCLOUD_LOAD_BALANCERS_LOCATION="nbg1" (set by environment variable) and HCLOUD_LOAD_BALANCERS_NETWORK_ZONE="eu-central" (set by environment variable) exclude each other: set only one',
    ],
    [
      'a Robot user without password',
      { env: { ROBOT_ENABLED: 'true', ROBOT_USER: 'me' } },
      'ROBOT_USER (set by environment variable) is invalid without ROBOT_PASSWORD: must be both or neither',
    ],
    [
      'a Robot password without user',
      { env: { ROBOT_ENABLED: 'true', ROBOT_PASSWORD: 'me' } },
      'ROBOT_PASSWORD (set by environment variable) is invalid without ROBOT_USER: must be both or neither',
    ],
    [
      'a certificate without key',
      { argv: ['--tls-cert-file=/c'] },
      '--tls-cert-file="/c" (set by flag) is invalid without --tls-private-key-file: must be both or neither',
    ],
    [
      'a lease that is not longer than the deadline',
      { argv: ['--leader-elect-lease-duration=10s'] },
      '--leader-elect-lease-duration="10s" (set by flag) is invalid: must be more than --leader-elect-renew-deadline="10s" (default)',
    ],
    [
      'a deadline that is not longer than 1.2 retries',
      { argv: ['--leader-elect-retry-period=8.5s'] },
      '--leader-elect-renew-deadline="10s" (default) is invalid: must be more than 1.2 times --leader-elect-retry-period="8.5s" (set by flag)',
    ],
    [
      'BUG-083: one port for metrics and HTTPS',
      { env: { HCLOUD_METRICS_ADDRESS: '127.0.0.1:10258' } },
      'HCLOUD_METRICS_ADDRESS="127.0.0.1:10258" (set by environment variable) is invalid: must not be the port of --secure-port="10258" (default)',
    ],
    [
      'BUG-034: routes clearly wanted, but no cluster CIDR',
      { env: network, argv: ['--allocate-node-cidrs=true'] },
      '--cluster-cidr is not set but HCLOUD_NETWORK_ROUTES_ENABLED="true" (default) with HCLOUD_NETWORK="k8s" (set by environment variable) and --allocate-node-cidrs="true" (set by flag) ask for routes: set --cluster-cidr, or HCLOUD_NETWORK_ROUTES_ENABLED=false',
    ],
    ...(
      [
        ['that is none', 'core=10.240.0.0', 'must have a network and an IPv4 CIDR'],
        ['of IPv6', 'core=fd00::/48', 'must have a network and an IPv4 CIDR'],
        ['of no network', '=10.240.0.0/16', 'must have a network and an IPv4 CIDR'],
        ['with host bits', 'core=10.240.1.0/16', 'must have no bits set beyond the prefix'],
        ['of a network that has one', 'core=10.240.0.0/16,core=10.241.0.0/16', 'must be the only range of its network'],
        ['that overlaps another', 'core=10.240.0.0/16,b=10.240.9.0/24', 'must not overlap "core=10.240.0.0/16"'],
      ] as const
    ).map(([what, value, why]): [string, Input, string] => [
      `a range of pods ${what}`,
      { env: { HCLOUD_NETWORK: 'core', HCLOUD_NETWORK_POD_CIDRS: value }, argv: ['--cluster-cidr=10.0.0.0/8'] },
      `HCLOUD_NETWORK_POD_CIDRS="${value}" is invalid: must be network=CIDR pairs separated by commas, such as core=10.240.0.0/16,pool-a=10.241.0.0/16: "${value.split(',').at(-1)}" ${why} (set by environment variable)`,
    ]),
    [
      'a range of pods outside of the cluster CIDR',
      {
        env: { ...network, HCLOUD_NETWORK_POD_CIDRS: 'k8s=10.0.0.0/16,b=11.0.0.0/16' },
        argv: ['--cluster-cidr=10.0.0.0/8'],
      },
      'HCLOUD_NETWORK_POD_CIDRS="k8s=10.0.0.0/16,b=11.0.0.0/16" (set by environment variable) is invalid: "b=11.0.0.0/16" must lie in --cluster-cidr="10.0.0.0/8" (set by flag)',
    ],
    ...(
      [
        ['without neighbour', 'core=10.0.0.10', 'must have a network and a neighbour'],
        ['of more than two networks', 'core/a/b=10.0.0.10', 'must have a network and a neighbour'],
        ['for all networks', '*/core=10.0.0.10', 'must name its network: an address is in one network only'],
        ['to itself', 'core/core=10.0.0.10', 'must name two networks'],
        ['that is no address', 'core/a=10.0.0', 'must have an IPv4 address'],
        ['that is given twice', 'core/*=10.0.0.10,core/*=none', 'must be the only gateway of its pair'],
      ] as const
    ).map(([what, value, why]): [string, Input, string] => [
      `a gateway ${what}`,
      { env: { HCLOUD_NETWORK: 'core', HCLOUD_NETWORK_GATEWAYS: value, HCLOUD_NETWORK_POD_CIDRS: 'core=10.0.0.0/8' } },
      `HCLOUD_NETWORK_GATEWAYS="${value}" is invalid: must be network/neighbour=address pairs separated by commas, such as core/pool-a=10.0.0.10,pool-a/*=10.1.0.10; * stands for all other networks, the address none for no way: "${value.split(',').at(-1)}" ${why} (set by environment variable)`,
    ]),
    [
      'gateways without ranges of pods',
      { env: { ...network, HCLOUD_NETWORK_GATEWAYS: 'k8s/*=10.0.0.10' } },
      'HCLOUD_NETWORK_GATEWAYS="k8s/*=10.0.0.10" (set by environment variable) is invalid without HCLOUD_NETWORK_POD_CIDRS: must have the range of pods that each gateway leads to',
    ],
    [
      'ranges of pods without a network',
      { env: { HCLOUD_NETWORK_POD_CIDRS: 'k8s=10.0.0.0/16' } },
      'HCLOUD_NETWORK_POD_CIDRS="k8s=10.0.0.0/16" (set by environment variable) is invalid without HCLOUD_NETWORK: must have a primary network beside it, HCLOUD_NETWORK or HCLOUD_CONTROL_PLANE_NETWORK',
    ],
  ];
  for (const [what, input, message] of single) {
    it(`name ${what}`, () => assert.deepEqual(refused(input), [message]));
  }

  it('BUG-086: are all reported at once, one line each', () => {
    const errors = refused({
      argv: ['--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=false', 'stray', '--nope', '-v=x'],
      env: {
        HCLOUD_TOKEN: undefined,
        HCLOUD_LOAD_BALANCERS_ENABLED: 'yes',
        HCLOUD_SERVER_CACHE_MODE: 'foo',
        HCLOUD_METRICS_ENABLED: '',
        ROBOT_ENABLED: 't',
        ROBOT_USER: 'me',
      },
    });
    assert.equal(errors.length, 8, errors.join('\n'));
    assert.ok(errors.every(error => !error.includes('\n')));
  });

  it('do not come twice for one mistake', () => {
    const input = {
      argv: ['--leader-elect-lease-duration=-1s', '--cluster-cidr=x', '--allocate-node-cidrs'],
      env: network,
    };
    assert.deepEqual(
      refused(input).map(error => error.split('=')[0]),
      ['--leader-elect-lease-duration', '--cluster-cidr'],
    );
  });

  it('do not come for the lease relations when there is no election', () => {
    accepted({ argv: ['--leader-elect=false', '--leader-elect-lease-duration=1s'] });
  });

  it('do not come for a port that is shared by different addresses', () => {
    accepted({ argv: ['--bind-address=192.0.2.1'], env: { HCLOUD_METRICS_ADDRESS: '127.0.0.1:10258' } });
    accepted({ argv: ['--secure-port=0'], env: { HCLOUD_METRICS_ADDRESS: ':0' } });
  });

  it('do not come for Robot credentials while Robot is off', () => {
    accepted({ env: { ROBOT_USER: 'me' } });
  });

  it('do not come for the switch of the routes where no network is set, as in the peer', () => {
    accepted({ env: { HCLOUD_NETWORK_ROUTES_ENABLED: 'garbage' } });
    refused({ env: { ...network, HCLOUD_NETWORK_ROUTES_ENABLED: 'garbage' } });
  });
});

describe('BUG-034: a network without routes', () => {
  it('starts with HCLOUD_NETWORK_ROUTES_ENABLED=false and no CIDR, without a warning', () => {
    const { settings, report } = accepted({ env: { ...network, HCLOUD_NETWORK_ROUTES_ENABLED: 'false' } });
    assert.equal(settings.hcloud.network, 'k8s');
    assert.equal(settings.controllers.route, false);
    assert.deepEqual(report.warnings, []);
  });

  it('BUG-010: warns of gateways between networks where no routes are written', () => {
    const gateways = { HCLOUD_NETWORK_GATEWAYS: 'k8s/*=10.0.0.10', HCLOUD_NETWORK_POD_CIDRS: 'k8s=10.244.0.0/16' };
    const input = { env: { ...network, ...gateways, HCLOUD_NETWORK_ROUTES_ENABLED: 'false' } };
    assert.deepEqual(warningsOf(input), [
      'Ignored the gateways between networks: HCLOUD_NETWORK_GATEWAYS: routes are off: see HCLOUD_NETWORK_ROUTES_ENABLED and --cluster-cidr',
    ]);
    assert.deepEqual(warningsOf({ env: { ...network, ...gateways }, argv: ['--cluster-cidr=10.244.0.0/16'] }), []);
  });

  it('starts with the route controller idle and a warning naming both settings when nothing says that routes are wanted', () => {
    assert.equal(accepted({ env: network }).settings.controllers.route, false);
    assert.deepEqual(warningsOf({ env: network }), [
      'Left the route controller idle: --cluster-cidr: HCLOUD_NETWORK_ROUTES_ENABLED="true" (default) with HCLOUD_NETWORK="k8s" (set by environment variable) asks for routes: set --cluster-cidr, or HCLOUD_NETWORK_ROUTES_ENABLED=false',
    ]);
  });

  it('starts without warning when a flag switches routes off', () => {
    for (const flag of ['--configure-cloud-routes=false', '--controllers=cloud-node']) {
      assert.ok('settings' in loadWith({ env: network, argv: ['--allocate-node-cidrs', flag] }), flag);
      assert.deepEqual(warningsOf({ env: network, argv: [flag] }), []);
    }
  });
});

describe('a list of controllers that names only what is not to run', () => {
  it('leaves none, and a warning says what is missing', () => {
    assert.deepEqual(warningsOf({ argv: ['--controllers=-route'] }), [
      'Left all controllers idle: --controllers: add * to the list: without it only those named run',
    ]);
    assert.deepEqual(warningsOf({ argv: ['--controllers=*,-route'] }), []);
  });
});
