/** Values as they are found in public, written anew; the numbers are those of the notes on real configurations. */

/** The peer's own values, as somebody would copy them to start from: every key of its chart. */
export const peerValues = {
  args: {
    'cloud-provider': 'hcloud',
    'allow-untagged-cloud': '',
    'route-reconciliation-period': '30s',
    'webhook-secure-port': '0',
    'feature-gates': 'CloudControllerManagerWatchBasedRoutesReconciliation=true',
  },
  kind: 'Deployment',
  replicaCount: 1,
  env: {
    HCLOUD_TOKEN: { valueFrom: { secretKeyRef: { name: 'hcloud', key: 'token' } } },
    ROBOT_USER: { valueFrom: { secretKeyRef: { name: 'hcloud', key: 'robot-user', optional: true } } },
    ROBOT_PASSWORD: { valueFrom: { secretKeyRef: { name: 'hcloud', key: 'robot-password', optional: true } } },
  },
  image: { repository: 'registry.example/ccm', tag: 'v{{ $.Chart.Version }}', pullSecrets: [{ name: 'registry' }] },
  monitoring: {
    enabled: true,
    podMonitor: {
      enabled: false,
      labels: { release: 'prometheus' },
      annotations: { team: '{{ $.Release.Name }}' },
      spec: { podMetricsEndpoints: [{ port: 'metrics', interval: '15s' }] },
    },
  },
  nameOverride: null,
  networking: {
    enabled: false,
    clusterCIDR: '10.244.0.0/16',
    network: { valueFrom: { secretKeyRef: { name: 'hcloud', key: 'network' } } },
  },
  resources: { requests: { cpu: '100m', memory: '50Mi' } },
  podSecurityContext: {
    runAsNonRoot: true,
    runAsUser: 65532,
    runAsGroup: 65532,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  securityContext: {
    readOnlyRootFilesystem: true,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
  },
  selectorLabels: {
    'app.kubernetes.io/name': '{{ include "hcloud-cloud-controller-manager.name" $ }}',
    'app.kubernetes.io/instance': '{{ $.Release.Name }}',
  },
  strategy: { type: 'RollingUpdate' },
  additionalTolerations: [],
  nodeSelector: { 'node-role.kubernetes.io/control-plane': '' },
  affinity: {},
  priorityClassName: 'system-cluster-critical',
  robot: { enabled: false },
  rbac: { create: true },
  serviceAccount: { annotations: { 'example.org/role': 'ccm' } },
  podLabels: { tier: 'control' },
  podAnnotations: { 'example.org/scrape': 'true' },
  extraVolumes: [{ name: 'tmp', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
  dnsPolicy: 'Default',
  dnsConfig: { nameservers: ['192.0.2.53'] },
} as const;

const tolerate = (key: string) => ({ key, operator: 'Exists', effect: 'NoSchedule' });
const value = (text: string | null) => ({ value: text });

/** One set of values for each number that is about the chart; those that are mistakes are in the specs. */
export const realValues = {
  'RC-01': {
    networking: { enabled: true, clusterCIDR: '10.42.0.0/16' },
    args: {
      'cloud-provider': 'hcloud',
      'allow-untagged-cloud': '',
      'route-reconciliation-period': '30s',
      'webhook-secure-port': '0',
      'secure-port': '10288',
    },
    env: {
      HCLOUD_LOAD_BALANCERS_LOCATION: value('fsn1'),
      HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: value('true'),
      HCLOUD_LOAD_BALANCERS_ENABLED: value('true'),
      HCLOUD_LOAD_BALANCERS_DISABLE_PRIVATE_INGRESS: value('true'),
    },
    hostNetwork: true,
  },
  'RC-02': {
    networking: { enabled: 'true' },
    robot: { enabled: true },
    args: { 'allocate-node-cidrs': 'true', 'cluster-cidr': '10.42.0.0/16' },
    env: { HCLOUD_NETWORK_ROUTES_ENABLED: value('false'), HCLOUD_DEBUG: value('1') },
  },
  'RC-05': { networking: { enabled: 'true', clusterCIDR: '10.0.16.0/20' } },
  'RC-06': {
    kind: 'DaemonSet',
    nodeSelector: { 'node-role.kubernetes.io/control-plane': '' },
    networking: { enabled: true, clusterCIDR: '10.0.128.0/17' },
    robot: { enabled: false },
    env: {
      HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE: value('least_connections'),
      HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL: value('3s'),
      HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES: value('3'),
      HCLOUD_LOAD_BALANCERS_LOCATION: value(null),
      HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE: value('10.0.64.128/25'),
      KUBERNETES_SERVICE_HOST: value('127.0.0.1'),
      KUBERNETES_SERVICE_PORT: value('7445'),
    },
  },
  'RC-07': {
    args: { 'feature-gates': 'CloudControllerManagerWatchBasedRoutesReconciliation=true' },
    env: { HCLOUD_DEBUG: value('true') },
    additionalTolerations: [
      tolerate('node.cluster.x-k8s.io/uninitialized'),
      tolerate('node.cilium.io/agent-not-ready'),
    ],
  },
  'RC-08': {
    env: {
      HCLOUD_TOKEN: null,
      HCLOUD_TOKEN_FILE: value('/etc/hetzner-secret/hcloud'),
      ROBOT_USER: null,
      ROBOT_USER_FILE: value('/etc/hetzner-secret/robot-user'),
      ROBOT_PASSWORD: null,
      ROBOT_PASSWORD_FILE: value('/etc/hetzner-secret/robot-password'),
      HCLOUD_USE_HROBOT_PROVIDER_ID_FOR_BAREMETAL: value('true'),
    },
    robot: { enabled: true },
    extraVolumes: [{ name: 'hetzner-secret', secret: { secretName: 'hetzner' } }],
    extraVolumeMounts: [{ name: 'hetzner-secret', mountPath: '/etc/hetzner-secret', readOnly: true }],
  },
  'RC-09': {
    kind: 'DaemonSet',
    networking: { enabled: true, clusterCIDR: '10.233.64.0/18' },
    env: {
      NODE_NAME: { valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      HCLOUD_LOAD_BALANCERS_ENABLED: value('True'),
      HCLOUD_NETWORK_ROUTES_ENABLED: value('False'),
    },
  },
  'RC-10': {
    args: {
      'allocate-node-cidrs': 'false',
      'configure-cloud-routes': false,
      'concurrent-service-syncs': 5,
      'leader-elect': 'false',
    },
    hostNetwork: true,
    env: {
      HCLOUD_TOKEN: { valueFrom: { secretKeyRef: { name: 'kubeone-ccm-credentials', key: 'HZ_TOKEN' } } },
      HCLOUD_NETWORK: value('4711'),
    },
  },
  'RC-11': {
    rbac: { create: false },
    serviceAccount: { automountToken: false },
    args: {
      kubeconfig: '/etc/kubeconfig/kubeconfig',
      'authentication-kubeconfig': '/etc/kubeconfig/kubeconfig',
      'use-service-account-credentials': '',
      'secure-port': 10258,
      'tls-cipher-suites': 'TLS_AES_128_GCM_SHA256',
      'cluster-cidr': '10.244.0.0/16',
    },
    env: {
      HCLOUD_NETWORK: value('workers'),
      HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: value('true'),
      HCLOUD_INSTANCES_ADDRESS_FAMILY: value('dualstack'),
    },
    extraVolumes: [{ name: 'kubeconfig', secret: { secretName: 'kubeconfig' } }],
    extraVolumeMounts: [{ name: 'kubeconfig', mountPath: '/etc/kubeconfig' }],
  },
  'RC-12': {
    args: { 'cloud-provider': 'hcloud', 'allow-untagged-cloud': '', controllers: '*,-cloud-node-controller' },
    networking: { enabled: false, clusterCIDR: '10.42.0.0/16' },
  },
  'RC-13': {
    networking: { enabled: false },
    env: {
      HCLOUD_NETWORK: { valueFrom: { secretKeyRef: { name: 'hcloud', key: 'network' } } },
      HCLOUD_NETWORK_ROUTES_ENABLED: value('false'),
    },
  },
  'RC-14': {
    args: { 'disable-load-balancer': '' },
    env: {
      HCLOUD_LOAD_BALANCERS_ENABLED: value('false'),
      HCLOUD_NETWORK_ROUTES_ENABLED: value('false'),
      HCLOUD_INSTANCES_ADDRESS_FAMILY: value('dualstack'),
    },
    additionalTolerations: [{ key: 'node.cilium.io/agent-not-ready', operator: 'Exists' }],
  },
  'RC-15a': { env: { HCLOUD_LOAD_BALANCERS_ENABLED: 'true', HCLOUD_LOAD_BALANCERS_LOCATION: 'fsn1' } },
  'RC-15b': { env: { HCLOUD_LOAD_BALANCERS_DEFAULT_LOCATION: value('fsn1') } },
  'RC-15c': {
    env: {
      HCLOUD_LOAD_BALANCERS_LOCATION: value('nbg1'),
      HCLOUD_LOAD_BALANCERS_NETWORK_ZONE: value('eu-central'),
    },
  },
  'RC-15e': { namespace: 'hcloud-system', secret: { name: 'hetzner', key: 'hcloud' } },
  'RC-15f': { args: ['--controllers=*,-cloud-node', '--allow-untagged-cloud'] },
  'RC-16': { networking: { enabled: true } },
  'RC-17': {
    networking: { enabled: true },
    env: {
      HCLOUD_ENDPOINT: value('http://fake-api.test:8080/v1'),
      HTTPS_PROXY: value('http://proxy.example:3128'),
    },
  },
  /** Everything that can be switched on. */
  all: {
    replicaCount: '3',
    commonLabels: { team: 'infra', 'app.kubernetes.io/name': 'mine' },
    podLabels: { tier: 'control' },
    podAnnotations: { 'example.org/release': '{{ $.Release.Name }}' },
    image: { digest: `sha256:${'a'.repeat(64)}`, pullPolicy: 'Always', pullSecrets: [{ name: 'registry' }] },
    monitoring: {
      podMonitor: { enabled: true, labels: { release: 'prometheus' } },
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      prometheusRule: { enabled: true },
      dashboard: { enabled: true },
    },
    networkPolicy: { enabled: true, additionalEgress: [{ ports: [{ port: 3128 }] }] },
    affinity: { podAntiAffinity: {} },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
    ],
    hostUsers: false,
    extraObjects: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ $.Release.Name }}-extra' }, data: { a: 'b' } },
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: text\ndata:\n  cidr: "{{ .Values.networking.clusterCIDR }}"\n',
    ],
  },
} as const;

export type RealConfig = keyof typeof realValues;
