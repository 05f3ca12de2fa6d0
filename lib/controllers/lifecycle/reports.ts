import type { EventReason } from '../../kubernetes/event-reasons.ts';
import type { EventRecorder } from '../../kubernetes/events.ts';
import type { KubeNode } from '../../kubernetes/types.ts';
import type { Clock } from '../../streams/clock.ts';
import type { Reconcile } from '../controller.ts';
import { nodeTarget } from '../node-target.ts';
import { createReminders } from '../reminders.ts';
import type { Trust } from '../witness.ts';
import type { LifecycleChange } from './plan.ts';

/** What users are told about the life of a node, in events and log lines. */
export interface Reports {
  /** The node is not ours to judge. */
  leftAlone(node: KubeNode, reason: EventReason, problem: string, run: Reconcile): void;
  /** A deletion that rests on little is announced, so that somebody can step in; one that rests on nothing is held back. */
  doubtful(node: KubeNode, problem: string, trust: Trust, run: Reconcile): void;
  /** The list lacks a server that exists. */
  contradicted(node: KubeNode, problem: string, run: Reconcile): void;
  deleting(node: KubeNode): void;
  deletingFailed(node: KubeNode, err: unknown): void;
  changed(node: KubeNode, change: LifecycleChange, run: Reconcile): void;
  /** The node is ready, or gone: whatever comes next is new. */
  forget(name: string): void;
}

const messages = {
  taint: 'Tainted node as shut down',
  untaint: 'Removed shutdown taint',
  delete: 'Deleted node',
} as const;

export function createReports(events: Pick<EventRecorder, 'event'>, clock: Pick<Clock, 'monotonic'>): Reports {
  const reminders = createReminders(clock);
  const isNews = ({ name }: KubeNode, what: string): boolean => reminders.isNews(name, what);
  const warn = (node: KubeNode, reason: EventReason, message: string): void =>
    events.event(nodeTarget(node), 'Warning', reason, message);
  const about = ({ name, providerID }: KubeNode) => ({ node: name, providerID });

  return {
    leftAlone: (node, reason, problem, { log }) => {
      if (!isNews(node, problem)) return;
      warn(node, reason, `Left node alone while it is not ready: ${problem}`);
      log.warn('Left node alone', { ...about(node), err: problem });
    },
    doubtful: (node, problem, trust, { log }) => {
      if (!isNews(node, `${trust} ${problem}`)) return;
      if (trust !== 'none') {
        warn(node, 'PossibleNodeDeletion', `The node will be deleted if this stays so: ${problem}`);
        return;
      }
      const doubt = 'as no other server of this cluster is there either, this is not believed';
      warn(node, 'PossibleNodeDeletion', `Kept node: ${problem}; ${doubt}`);
      const hint =
        'check that the credentials are for the project of this cluster; delete the node if its server is gone';
      log.warn('Kept node, as Hetzner knows no server of this cluster', { ...about(node), hint, err: problem });
    },
    contradicted: (node, problem, { log }) => {
      if (isNews(node, 'contradicted'))
        log.warn('Kept node, as its server exists though the list lacks it', { ...about(node), err: problem });
    },
    deleting: node =>
      events.event(
        nodeTarget(node),
        'Normal',
        'DeletingNode',
        'Deleting the node, as its server does not exist at Hetzner',
      ),
    deletingFailed: (node, err) =>
      warn(
        node,
        'DeletingNodeFailed',
        `Could not delete the node: ${err instanceof Error ? err.message : String(err)}`,
      ),
    changed: (node, { kind }, { log }) => log.info(messages[kind], about(node)),
    forget: reminders.forget,
  };
}
