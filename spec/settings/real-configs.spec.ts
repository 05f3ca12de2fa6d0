import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Settings } from '../../lib/settings/settings.ts';
import { accepted, type Input, refused, token, warningsOf } from './load-with.ts';

/** What the peer's chart passes with networking.enabled. */
const chart = [
  '--cloud-provider=hcloud',
  '--allow-untagged-cloud',
  '--route-reconciliation-period=30s',
  '--webhook-secure-port=0',
];
const networking = [...chart, '--allocate-node-cidrs=true'];

interface Case {
  readonly what: string;
  readonly input: Input;
  readonly check: (settings: Settings) => void;
}

const cases: readonly Case[] = [
  {
    what: 'RC-01, BUG-083 kube-hetzner with Helm: own secure port, no webhook port',
    input: {
      argv: [...networking, '--cluster-cidr=10.42.0.0/16', '--secure-port=10288', '--leader-elect=false'],
      env: {
        HCLOUD_NETWORK: 'k3s',
        HCLOUD_LOAD_BALANCERS_LOCATION: 'fsn1',
        HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: 'true',
        HCLOUD_LOAD_BALANCERS_ENABLED: 'true',
        HCLOUD_LOAD_BALANCERS_DISABLE_PRIVATE_INGRESS: 'true',
      },
    },
    check: s =>
      assert.deepEqual([s.secure.port, s.controllers.route, s.loadBalancers.location], [10_288, true, 'fsn1']),
  },
  {
    what: 'RC-02 kube-hetzner with Robot: a CIDR given twice, routes off, HCLOUD_DEBUG=1',
    input: {
      argv: [
        ...networking,
        '--cluster-cidr=10.244.0.0/16',
        '--allocate-node-cidrs=true',
        '--cluster-cidr=10.42.0.0/16',
      ],
      env: { HCLOUD_NETWORK: 'k3s', HCLOUD_NETWORK_ROUTES_ENABLED: 'false', ROBOT_ENABLED: 'true', HCLOUD_DEBUG: '1' },
    },
    check: s => assert.deepEqual([s.hcloud.debug, s.controllers.route, s.robot.enabled], [true, false, true]),
  },
  {
    what: 'RC-03 kube-hetzner with the static manifest',
    input: {
      argv: [...networking, '--leader-elect=false', '--cluster-cidr=10.42.0.0/16'],
      env: { HCLOUD_NETWORK: 'k3s' },
    },
    check: s => assert.deepEqual(s.routes.clusterCIDRs, ['10.42.0.0/16']),
  },
  {
    what: 'RC-04 hetzner-k3s: Robot switched on without its optional secrets',
    input: {
      argv: [...networking, '--cluster-cidr=10.244.0.0/16'],
      env: { HCLOUD_NETWORK: 'k3s', ROBOT_ENABLED: 'true' },
    },
    check: s => assert.deepEqual([s.robot.enabled, s.robot.user, s.controllers.route], [true, undefined, true]),
  },
  {
    what: 'RC-05 hcloud-talos: network by id',
    input: { argv: [...networking, '--cluster-cidr=10.0.16.0/20'], env: { HCLOUD_NETWORK: '4711' } },
    check: s => assert.equal(s.hcloud.network, '4711'),
  },
  {
    what: 'RC-06 hcloud-k8s: DaemonSet with every load balancer default and a loopback API server',
    input: {
      argv: [...networking, '--cluster-cidr=10.0.128.0/17'],
      env: {
        HCLOUD_NETWORK: 'k8s',
        ROBOT_ENABLED: 'false',
        HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE: 'least_connections',
        HCLOUD_LOAD_BALANCERS_DISABLE_IPV6: 'false',
        HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK: 'false',
        HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL: '3s',
        HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES: '3',
        HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_TIMEOUT: '3s',
        HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE: '10.0.64.128/25',
        HCLOUD_LOAD_BALANCERS_TYPE: 'lb11',
        HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL: 'false',
        HCLOUD_NETWORK_ROUTES_ENABLED: 'true',
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT: '7445',
      },
    },
    check: s => {
      assert.deepEqual([s.leaderElection.enabled, s.kubernetes.servicePort], [true, 7445]);
      assert.deepEqual(
        [s.loadBalancers.algorithmType, s.loadBalancers.usesProxyProtocol],
        ['least_connections', false],
      );
      assert.equal(s.loadBalancers.privateSubnetIPRange, '10.0.64.128/25');
    },
  },
  {
    what: 'RC-07, BUG-086 Cluster API: the feature gate, debug',
    input: {
      argv: [...chart, '--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true'],
      env: { HCLOUD_DEBUG: 'true' },
    },
    check: s => assert.equal(s.hcloud.debug, true),
  },
  {
    what: "RC-08 Syself's chart: secrets in files, a variable of the fork",
    input: {
      argv: ['--cloud-provider=hcloud', '--leader-elect=true', '--allow-untagged-cloud'],
      env: {
        HCLOUD_TOKEN: undefined,
        HCLOUD_TOKEN_FILE: '/etc/hetzner-secret/hcloud',
        HCLOUD_LOAD_BALANCERS_ENABLED: 'true',
        HCLOUD_USE_HROBOT_PROVIDER_ID_FOR_BAREMETAL: 'true',
      },
      files: { '/etc/hetzner-secret/hcloud': token },
    },
    check: s => assert.equal(s.hcloud.tokenFile, '/etc/hetzner-secret/hcloud'),
  },
  {
    what: 'RC-09 Kubespray: Python booleans, an unused NODE_NAME',
    input: {
      argv: [
        '--cloud-provider=hcloud',
        '--leader-elect=false',
        '--allow-untagged-cloud',
        '--allocate-node-cidrs=true',
        '--cluster-cidr=10.233.64.0/18',
      ],
      env: { NODE_NAME: 'a', HCLOUD_LOAD_BALANCERS_ENABLED: 'True', HCLOUD_NETWORK_ROUTES_ENABLED: 'False' },
    },
    check: s => assert.deepEqual([s.controllers.loadBalancer, s.controllers.route], [true, false]),
  },
  {
    what: 'RC-10 KubeOne: a network without routes by flag',
    input: {
      argv: [
        ...chart,
        '--allocate-node-cidrs=false',
        '--configure-cloud-routes=false',
        '--concurrent-service-syncs=5',
        '--leader-elect=false',
      ],
      env: { HCLOUD_NETWORK: '4711', HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: 'true' },
    },
    check: s =>
      assert.deepEqual([s.services.concurrentSyncs, s.controllers.route, s.hcloud.network], [5, false, '4711']),
  },
  {
    what: 'RC-11 Kubermatic and Gardener: outside of the cluster',
    input: {
      argv: [
        '--kubeconfig=/etc/kubeconfig',
        '--authentication-kubeconfig=/etc/kubeconfig',
        '--authorization-kubeconfig=/etc/kubeconfig',
        '--use-service-account-credentials',
        '--leader-elect=true',
        '--secure-port=10258',
        '--tls-cert-file=/srv/tls.crt',
        '--tls-private-key-file=/srv/tls.key',
        '--tls-cipher-suites=TLS_AES_128_GCM_SHA256',
        '--allocate-node-cidrs=true',
        '--cluster-cidr=10.244.0.0/16',
      ],
      env: {
        HCLOUD_NETWORK: 'workers',
        HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: 'true',
        HCLOUD_LOAD_BALANCERS_DISABLE_IPV6: 'true',
        HCLOUD_INSTANCES_ADDRESS_FAMILY: 'dualstack',
      },
    },
    check: s => {
      assert.deepEqual([s.kubernetes.kubeconfig, s.secure.tlsCertFile], ['/etc/kubeconfig', '/srv/tls.crt']);
      assert.deepEqual([s.hcloud.networkAttachedCheck, s.instances.addressFamily], [false, 'dualstack']);
    },
  },
  {
    what: 'RC-12 Pulumi: own list of controllers',
    input: { argv: ['--cloud-provider=hcloud', '--allow-untagged-cloud', '--controllers=*,-cloud-node-controller'] },
    check: s =>
      assert.deepEqual(s.controllers, { node: false, lifecycle: true, route: false, loadBalancer: true, ipam: false }),
  },
  {
    what: 'RC-13 private targets without routes',
    input: { argv: chart, env: { HCLOUD_NETWORK: 'a', HCLOUD_NETWORK_ROUTES_ENABLED: 'false' } },
    check: s => assert.deepEqual([s.hcloud.network, s.controllers.route], ['a', false]),
  },
  {
    what: 'RC-13 HCLOUD_NETWORK added to the plain manifest: the route controller is idle',
    input: { argv: [...chart, '--leader-elect=false'], env: { HCLOUD_NETWORK: 'a' } },
    check: s => assert.deepEqual([s.hcloud.network, s.controllers.route], ['a', false]),
  },
  {
    what: 'RC-14 only node initialisation',
    input: {
      argv: chart,
      env: {
        HCLOUD_LOAD_BALANCERS_ENABLED: 'false',
        HCLOUD_NETWORK_ROUTES_ENABLED: 'false',
        HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: 'true',
        HCLOUD_INSTANCES_ADDRESS_FAMILY: 'dualstack',
      },
    },
    check: s =>
      assert.deepEqual(s.controllers, { node: true, lifecycle: true, route: false, loadBalancer: false, ipam: false }),
  },
  {
    what: 'RC-15 (b) a wrong variable name, which only warns',
    input: { env: { HCLOUD_LOAD_BALANCERS_DEFAULT_LOCATION: 'fsn1' } },
    check: s => assert.equal(s.loadBalancers.location, undefined),
  },
  {
    what: "RC-16 vendor's tutorials: unmodified ccm-networks.yaml",
    input: {
      argv: [...networking, '--leader-elect=false', '--cluster-cidr=10.244.0.0/16'],
      env: { HCLOUD_NETWORK: 'network-1' },
    },
    check: s => assert.equal(s.controllers.route, true),
  },
  {
    what: 'RC-17 a fake API',
    input: {
      argv: [...networking, '--cluster-cidr=10.244.0.0/16'],
      env: {
        HCLOUD_NETWORK: 'a',
        HCLOUD_ENDPOINT: 'http://fake-api.test:8080/v1',
        HCLOUD_NETWORK_ROUTES_ENABLED: 'true',
        HTTPS_PROXY: 'http://proxy.test:3128',
        NO_PROXY: '10.0.0.0/8',
      },
    },
    check: s =>
      assert.deepEqual(
        [s.hcloud.endpoint, s.proxy.https, s.proxy.no],
        ['http://fake-api.test:8080/v1', 'http://proxy.test:3128', '10.0.0.0/8'],
      ),
  },
];

describe('configurations of real clusters', () => {
  for (const { what, input, check } of cases) {
    it(`load: ${what}`, () => check(accepted(input).settings));
  }

  it('RC-08: tells that the variable of the fork is not needed', () => {
    const input = cases.find(({ what }) => what.startsWith('RC-08'))?.input;
    assert.equal(warningsOf(input).length, 1);
  });

  it('RC-09: shouts that election is off', () => {
    const input = cases.find(({ what }) => what.startsWith('RC-09'))?.input;
    assert.ok(warningsOf(input).some(warning => warning.startsWith('Switched leader election off')));
  });

  it('RC-14: an unknown flag is one clear line', () => {
    const errors = refused({ argv: [...chart, '--disable-load-balancer'] });
    assert.equal(errors.length, 1);
    assert.match(
      errors[0] ?? '',
      /^--disable-load-balancer is not a known flag; set HCLOUD_LOAD_BALANCERS_ENABLED=false instead/,
    );
  });

  it("RC-15 (f): what the peer's chart makes of a list of arguments is one clear line each", () => {
    const errors = refused({ argv: ['--0=--controllers=*,-cloud-node'] });
    assert.match(errors.join(), /^--0 is not a known flag; see --help \(set by flag\)$/);
  });

  it('C: every flag seen in the wild is accepted', () => {
    accepted({
      argv: [
        ...networking,
        '--leader-elect',
        '--leader-elect-lease-duration=30s',
        '--leader-elect-renew-deadline=20s',
        '--leader-elect-retry-period=4s',
        '--leader-elect-resource-lock=leases',
        '--leader-elect-resource-name=a',
        '--leader-elect-resource-namespace=b',
        '--cluster-cidr=10.0.0.0/8',
        '--configure-cloud-routes',
        '--controllers=*',
        '--concurrent-service-syncs=2',
        '--feature-gates=A=true',
        '--use-service-account-credentials',
        '--node-status-update-frequency=1m',
        '--node-monitor-period=10s',
        '--v=2',
        '--kube-api-qps=50',
        '--kube-api-burst=100',
        '--profiling=false',
        '--min-resync-period=6h',
        '--cluster-name=a',
        '--cloud-config=',
        '--logging-format=json',
        '--vmodule=a=1',
        '--concurrent-node-syncs=4',
      ],
    });
  });
});
