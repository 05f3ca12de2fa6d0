import { JSON_PATCH, type KubeAccess, type KubeObject, STRATEGIC_PATCH } from './kube-client.ts';

export interface NodeOptions {
  readonly name: string;
  readonly providerID?: string;
  /** The taint of `--cloud-provider=external`; default true. */
  readonly taint?: boolean;
  /** As the controller manager's IPAM would set them. Allowed at creation because NodeRestriction is off. */
  readonly podCIDRs?: readonly string[];
  /** `--node-ip`: becomes InternalIP addresses and the provided-node-ip annotation. */
  readonly nodeIPs?: readonly string[];
  /** Instead of what the kubelet would report. */
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Default true. */
  readonly ready?: boolean;
}

export type ConditionStatus = 'True' | 'False' | 'Unknown';

interface TaintSpec {
  readonly key: string;
  readonly effect: string;
  readonly value?: string;
}

export const UNINITIALIZED = 'node.cloudprovider.kubernetes.io/uninitialized';

export const nodePath = (name: string): string => `/api/v1/nodes/${name}`;

const REASONS: Readonly<Record<ConditionStatus, string>> = {
  True: 'KubeletReady',
  False: 'KubeletNotReady',
  Unknown: 'NodeStatusUnknown',
};

/** What the node lifecycle controller taints a node with for its Ready condition. */
const READY_TAINTS: Readonly<Record<ConditionStatus, string | undefined>> = {
  True: undefined,
  False: 'node.kubernetes.io/not-ready',
  Unknown: 'node.kubernetes.io/unreachable',
};

const seconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

const conditionsOf = (status: ConditionStatus, at: string): object[] => [
  ...['MemoryPressure', 'DiskPressure', 'PIDPressure'].map(type => ({
    type,
    status: status === 'Unknown' ? 'Unknown' : 'False',
    reason: status === 'Unknown' ? REASONS.Unknown : 'KubeletHasNoPressure',
    lastHeartbeatTime: at,
    lastTransitionTime: at,
  })),
  { type: 'Ready', status, reason: REASONS[status], lastHeartbeatTime: at, lastTransitionTime: at },
];

/** Registers a Node as a kubelet with `--cloud-provider=external` does, then reports its Ready condition. */
export const createNode = async (cluster: KubeAccess, options: NodeOptions): Promise<KubeObject> => {
  const { name, providerID, taint = true, podCIDRs = [], nodeIPs = [], ready = true } = options;
  const addresses = options.addresses ?? [
    ...nodeIPs.map(address => ({ type: 'InternalIP', address })),
    { type: 'Hostname', address: name },
  ];
  await cluster.client.must('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        ...options.labels,
      },
      annotations: {
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
        ...(nodeIPs.length === 0 ? {} : { 'alpha.kubernetes.io/provided-node-ip': nodeIPs.join(',') }),
        ...options.annotations,
      },
    },
    spec: {
      ...(providerID === undefined ? {} : { providerID }),
      ...(podCIDRs.length === 0 ? {} : { podCIDR: podCIDRs[0], podCIDRs }),
      ...(taint ? { taints: [{ key: UNINITIALIZED, value: 'true', effect: 'NoSchedule' }] } : {}),
    },
    status: { addresses, nodeInfo: { kubeletVersion: 'v1.37.2', architecture: 'amd64', operatingSystem: 'linux' } },
  });
  return setReady(cluster, name, ready ? 'True' : 'False');
};

export const getNode = (cluster: KubeAccess, name: string): Promise<KubeObject> =>
  cluster.client.must('GET', nodePath(name));

export const deleteNode = async (cluster: KubeAccess, name: string): Promise<void> => {
  await cluster.client.must('DELETE', nodePath(name));
};

const patchStatus = (cluster: KubeAccess, name: string, status: object): Promise<KubeObject> =>
  cluster.client.must('PATCH', `${nodePath(name)}/status`, { status }, STRATEGIC_PATCH);

/** Keeps the taint that goes with the Ready condition, as the node lifecycle controller does. Retries when taints changed meanwhile. */
const alignReadyTaint = async (cluster: KubeAccess, name: string, status: ConditionStatus): Promise<KubeObject> => {
  for (;;) {
    const node = await getNode(cluster, name);
    const taints = (node.spec.taints ?? []) as readonly TaintSpec[];
    const wanted = READY_TAINTS[status];
    const others = taints.filter(taint => taint.key === wanted || !Object.values(READY_TAINTS).includes(taint.key));
    const present = others.some(taint => taint.key === wanted);
    const next = wanted === undefined || present ? others : [...others, { key: wanted, effect: 'NoSchedule' }];
    if (next.length === taints.length && present === (wanted !== undefined)) return node;
    const answer = await cluster.client.send(
      'PATCH',
      nodePath(name),
      [
        { op: 'test', path: '/metadata/resourceVersion', value: node.metadata.resourceVersion },
        { op: 'add', path: '/spec/taints', value: next },
      ],
      JSON_PATCH,
    );
    if (answer.status === 200) return answer.body;
    if (answer.status !== 422 && answer.status !== 409)
      throw new Error(`taints of ${name}: ${answer.status} ${answer.text}`);
  }
};

/** Sets the Ready condition; `since` (ms since the epoch) is its lastTransitionTime. */
export const setReady = async (
  cluster: KubeAccess,
  name: string,
  status: ConditionStatus,
  since = Date.now(),
): Promise<KubeObject> => {
  await patchStatus(cluster, name, { conditions: conditionsOf(status, seconds(since)) });
  return alignReadyTaint(cluster, name, status);
};

/** A kubelet's regular status report: only lastHeartbeatTime moves. `at` is in ms since the epoch. */
export const heartbeat = (cluster: KubeAccess, name: string, at = Date.now()): Promise<KubeObject> => {
  const types = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'];
  return patchStatus(cluster, name, { conditions: types.map(type => ({ type, lastHeartbeatTime: seconds(at) })) });
};
