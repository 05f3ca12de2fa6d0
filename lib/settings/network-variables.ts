import { variable } from './setting.ts';
import { boolean, integer, namePattern, networkGateways, networkPodCIDRs, text } from './value-types.ts';

/** Which private networks there are, and what is done with them. */
export const networkVariables = {
  network: variable(
    'HCLOUD_NETWORK',
    text,
    undefined,
    'Hetzner Cloud',
    'Name or id of the private network: internal addresses, load balancer targets and pod routes use it.',
  ),
  controlPlaneNetwork: variable(
    'HCLOUD_CONTROL_PLANE_NETWORK',
    text,
    undefined,
    'Hetzner Cloud',
    'Name or id of the network of the control planes, where nodes live in several networks. HCLOUD_NETWORK defaults to it, and this machine is expected in it.',
  ),
  workerNetworkRegex: variable(
    'HCLOUD_WORKER_NETWORK_REGEX',
    namePattern,
    undefined,
    'Hetzner Cloud',
    'Regular expression that describes the whole names of further networks nodes live in, each with 100 servers and 100 routes of its own.',
  ),
  workerNetworkPrefix: variable(
    'HCLOUD_WORKER_NETWORK_PREFIX',
    text,
    undefined,
    'Hetzner Cloud',
    'Instead of HCLOUD_WORKER_NETWORK_REGEX: what the names of further networks begin with.',
  ),
  networkPodCIDRs: variable(
    'HCLOUD_NETWORK_POD_CIDRS',
    networkPodCIDRs,
    undefined,
    'Hetzner Cloud',
    'Which range of pod addresses each network has, by its name or id: core=10.240.0.0/16,pool-a=10.241.0.0/16. All within --cluster-cidr.',
  ),
  networkGateways: variable(
    'HCLOUD_NETWORK_GATEWAYS',
    networkGateways,
    undefined,
    'route',
    'Addresses of machines by which pods of one network reach those of another: core/pool-a=10.0.0.10,pool-a/*=10.1.0.10. One route a pair leads to the range of HCLOUD_NETWORK_POD_CIDRS.',
  ),
  nodeIPAM: variable(
    'HCLOUD_NODE_IPAM',
    boolean,
    'false',
    'ipam',
    "Gives nodes without pod CIDR one of their network's range (HCLOUD_NETWORK_POD_CIDRS), or of --cluster-cidr where networks have none. IPv4 only. For clusters whose kube-controller-manager runs with --allocate-node-cidrs=false.",
  ),
  nodeCIDRMaskSize: variable(
    'HCLOUD_NODE_CIDR_MASK_SIZE',
    integer(8, 30),
    '24',
    'ipam',
    'Prefix length of the pod CIDR of a node. A range has 65,536 of them at most.',
    { flag: 'node-cidr-mask-size' },
  ),
  loadBalancerNetwork: variable(
    'HCLOUD_LOAD_BALANCER_NETWORK',
    text,
    undefined,
    'load balancer',
    'Name or id of the network load balancers are attached to, if it is not HCLOUD_NETWORK; load balancers in another one move.',
  ),
  networkDisableAttachedCheck: variable(
    'HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK',
    boolean,
    'false',
    'Hetzner Cloud',
    'Skips the check that this machine is attached to HCLOUD_NETWORK; needed outside of the network.',
  ),
  networkRoutesEnabled: variable(
    'HCLOUD_NETWORK_ROUTES_ENABLED',
    boolean,
    'true',
    'route',
    'Writes a route per node and pod CIDR into HCLOUD_NETWORK. Not read where HCLOUD_NETWORK is not set.',
  ),
};
