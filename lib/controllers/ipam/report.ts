import type { EventRecorder } from '../../kubernetes/events.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../streams/clock.ts';
import { byAge } from '../by-age.ts';
import { blockText } from '../ip.ts';
import type { NodeNetwork } from '../networks.ts';
import { nodeTarget } from '../node-target.ts';
import { remindAfter } from '../reminders.ts';
import type { DesiredRange } from './desired.ts';
import type { Holder } from './pool.ts';

/** Tells users, in events and log lines, what keeps nodes from a pod CIDR. */
export interface IPAMReport {
  exhausted(node: KubeNode, range: Extract<DesiredRange, { kind: 'range' }>): void;
  /** The range has room again. */
  hasRoom(range: string): void;
  noRange(node: KubeNode, network: NodeNetwork): void;
  /** The node can not be written to, and until it is, or is gone, no node gets a pod CIDR. */
  stuck(name: string, err: unknown): void;
  /** It waits for such a node. */
  heldBack(node: KubeNode, behind: string): void;
  /** Returns the problem in words. */
  notAttached(node: KubeNode): string;
  /** Made by somebody else; nothing can be changed about it but by making a node anew. */
  overlapping(holder: Holder, others: readonly Holder[]): void;
  forget(uid: string): void;
}

export interface IPAMReportDeps {
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  readonly maskSize: number;
}

export function createIPAMReport({ events, clock, logger, maskSize }: IPAMReportDeps): IPAMReport {
  /** What was said of a node last, and when; by uid. */
  const said = new Map<string, { readonly message: string; readonly at: number }>();
  /** Ranges and networks that were spoken of in the log. */
  const logged = new Set<string>();

  const tell = (node: KubeNode, message: string): void => {
    const before = said.get(node.uid);
    const now = clock.monotonic();
    if (before?.message === message && now - before.at < remindAfter) return;
    said.set(node.uid, { message, at: now });
    events.event(nodeTarget(node), 'Warning', 'CIDRNotAvailable', `Could not allocate a pod CIDR: ${message}`);
  };
  const once = (what: string, say: () => void): void => {
    if (!logged.has(what)) say();
    logged.add(what);
  };

  return {
    exhausted(node, { range, network }) {
      const text = blockText(range);
      const of = network === undefined ? '' : ` of network ${network.name} (${network.id})`;
      tell(node, `all /${maskSize} blocks of the range ${text}${of} are taken`);
      once(text, () => {
        const hint = 'nodes wait until another one is deleted; make the range wider, or the blocks smaller';
        logger.warn('Found no free pod CIDR', { node: node.name, range: text, network: network?.name, hint });
      });
    },
    hasRoom: range => void logged.delete(range),
    noRange(node, { name, id }) {
      tell(node, `HCLOUD_NETWORK_POD_CIDRS names no range for network ${name} (${id})`);
      once(`network ${id}`, () => {
        const setting = 'HCLOUD_NETWORK_POD_CIDRS';
        const hint = 'add the network to the setting; its nodes wait for their pod CIDRs';
        logger.warn('Found no range of pod CIDRs for a network', { network: name, networkID: id, setting, hint });
      });
    },
    stuck(name, err) {
      once(`stuck ${name}`, () => {
        const hint =
          'let the controller write to this node, or delete it: until then earlier writes to it may still land';
        logger.error('Held back all pod CIDRs, as a node can not be written to', { node: name, hint, err });
      });
    },
    heldBack: (node, behind) =>
      tell(node, `all wait until node ${behind} can be written to, or is deleted, so that none is given twice`),
    notAttached(node) {
      const problem = `the server of node ${node.name} is in none of the networks of the cluster`;
      tell(node, problem);
      return problem;
    },
    overlapping(holder, others) {
      for (const other of others) {
        const [older, younger] = [holder, other].sort(byAge) as [Holder, Holder];
        const podCIDR = younger.podCIDRs.join();
        const message = `Pod CIDR ${podCIDR} overlaps ${older.podCIDRs.join()} of node ${older.name}`;
        once(`${older.uid} ${younger.uid} ${message}`, () => {
          const hint =
            'a pod CIDR cannot be changed: delete one of the Node objects, and let its kubelet register again';
          events.event(nodeTarget(younger), 'Warning', 'OverlappingPodCIDRs', `${message}; ${hint}`);
          logger.warn('Found nodes with overlapping pod CIDRs', { node: younger.name, podCIDR, hint, err: message });
        });
      }
    },
    forget: uid => void said.delete(uid),
  };
}
