import { type Block, parseIPv4CIDR } from '../controllers/ip.ts';
import { mention } from './mention.ts';
import type { Readings } from './readings.ts';
import type { SettingKey, Values } from './table.ts';

/** How much longer than that of its range the prefix of a pod CIDR may be, as in upstream's allocator: 65,536 in a range. */
const mostSlotBits = 16;

/** The smallest pod CIDR that the setting allows. */
const longestMask = 30;

/** Whether pod CIDRs are allocated. That nodes have some (--allocate-node-cidrs) says nothing about by whom. */
export const wantsIPAM = (values: Values): boolean => values.nodeIPAM && values.controllers.ipam;

/** The range of nodes whose networks have none of their own. */
export const ipamRange = ({ networkPodCIDRs, clusterCIDRs = [] }: Values): string | undefined =>
  networkPodCIDRs === undefined ? clusterCIDRs.find(cidr => parseIPv4CIDR(cidr) !== undefined) : undefined;

/** Prefix length of the pod CIDR of a node. */
export const nodeMaskSize = ({ nodeCIDRMaskSizeIPv4, nodeCIDRMaskSize }: Values): number =>
  nodeCIDRMaskSizeIPv4 ?? nodeCIDRMaskSize;

/** Settings that the rules look at. */
export const ipamKeys: readonly SettingKey[] = [
  'nodeIPAM',
  'controllers',
  'networkPodCIDRs',
  'clusterCIDRs',
  'nodeCIDRMaskSize',
  'nodeCIDRMaskSizeIPv4',
  'nodeSelector',
  'leaderElect',
];

/** Two processes that allocate from one range would hand things out twice: what allows them is refused. */
export function checkIPAM(readings: Readings): string[] {
  const { values, set } = readings;
  if (!wantsIPAM(values)) return [];
  const errors: string[] = [];
  const ipam = mention(readings, 'nodeIPAM');
  if (values.nodeSelector !== undefined) {
    errors.push(
      `${ipam} is invalid with ${mention(readings, 'nodeSelector')}: must be set where one instance looks after all nodes, or two would allocate from the same ranges`,
    );
  }
  if (!values.leaderElect) {
    errors.push(
      `${ipam} is invalid with ${mention(readings, 'leaderElect')}: must be set where a leader is elected, or two processes would allocate from the same ranges`,
    );
  }
  const rangeKey = values.networkPodCIDRs === undefined ? 'clusterCIDRs' : 'networkPodCIDRs';
  const ranges = (values.networkPodCIDRs?.map(({ cidr }) => cidr) ?? [ipamRange(values) ?? ''])
    .map(parseIPv4CIDR)
    .filter(block => block !== undefined);
  if (ranges.length === 0) {
    const missing = rangeKey === 'clusterCIDRs' && set.has(rangeKey) ? ` with ${mention(readings, rangeKey)}` : '';
    errors.push(
      `${ipam} is invalid${missing}: must have an IPv4 range to allocate from, in --cluster-cidr or HCLOUD_NETWORK_POD_CIDRS`,
    );
  }
  return [...errors, ...checkMaskSize(readings, rangeKey, ranges)];
}

function checkMaskSize(readings: Readings, rangeKey: SettingKey, ranges: readonly Block[]): string[] {
  const prefixes = ranges.map(({ prefix }) => prefix);
  const [least, most] = [Math.max(...prefixes), Math.min(longestMask, Math.min(...prefixes) + mostSlotBits)];
  const size = nodeMaskSize(readings.values);
  if (ranges.length === 0 || (size >= least && size <= most)) return [];
  const key = readings.values.nodeCIDRMaskSizeIPv4 === undefined ? 'nodeCIDRMaskSize' : 'nodeCIDRMaskSizeIPv4';
  const range = mention(readings, rangeKey);
  if (least > most)
    return [`${range} is invalid: prefix lengths must be at most ${longestMask}, and ${mostSlotBits} apart`];
  return [`${mention(readings, key)} is invalid: must be from ${least} to ${most} with ${range}`];
}
