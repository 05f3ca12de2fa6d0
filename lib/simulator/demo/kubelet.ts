import type { FakeKubernetes } from '../kubernetes/fake.ts';
import { asList, asObject, type Json } from '../kubernetes/json.ts';
import { formatTime } from '../kubernetes/times.ts';

const collection = '/api/v1/nodes';
const notReady = 'node.kubernetes.io/not-ready';

const ready = (at: string): Json[] => [
  {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    message: 'kubelet is posting ready status',
    lastHeartbeatTime: at,
    lastTransitionTime: at,
  },
];

/** Registers a Node as its kubelet with `--cloud-provider=external` does, with a pod CIDR as the controller manager gives it. */
export function joinNode(
  fake: FakeKubernetes,
  name: string,
  podCIDR: string,
  labels: Readonly<Record<string, string>> = {},
): void {
  fake.create(collection, {
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64', ...labels },
    },
    spec: {
      podCIDR,
      podCIDRs: [podCIDR],
      taints: [{ key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' }],
    },
    status: { addresses: [{ type: 'Hostname', address: name }], conditions: ready(formatTime(Date.now())) },
  });
  const taints = asList(asObject(fake.get(`${collection}/${name}`)?.spec).taints);
  fake.patch(`${collection}/${name}`, {
    spec: { taints: taints.filter(taint => asObject(taint).key !== notReady) },
  });
}

/** A kubelet's regular report: nothing but the time of the heartbeat changes. */
export function heartbeat(fake: FakeKubernetes, name: string): void {
  const conditions = asList(asObject(fake.get(`${collection}/${name}`)?.status).conditions).map(condition => ({
    ...asObject(condition),
    lastHeartbeatTime: formatTime(Date.now()),
  }));
  fake.patch(`${collection}/${name}/status`, { status: { conditions } });
}
