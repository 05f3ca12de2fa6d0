import { concatMap, defer, filter, from, map, merge, type Observable, pairwise, startWith } from 'rxjs';
import type { Server } from '../../hetzner/types.ts';
import { everything } from '../../kubernetes/label-selector.ts';
import type { Store, StoreChange } from '../../kubernetes/store.ts';
import { type KubeNode, type KubeService, keyOf } from '../../kubernetes/types.ts';
import type { Trigger } from '../../streams/workqueue.ts';
import { type InstanceLists, locate } from '../instances.ts';
import { annotationPrefix } from './annotations.ts';
import { eligibleNodes } from './eligible-nodes.ts';
import { type ClassRules, cleanupFinalizer, needsCleanup, wantsLoadBalancer } from './ownership.ts';

export interface TriggerSources {
  readonly services: Store<KubeService>;
  readonly nodes: Store<KubeNode>;
  /** The newest answers of both clouds, whatever they were made for. */
  readonly lists$: Observable<InstanceLists>;
  /** Time for the drift check. */
  readonly drift$: Observable<unknown>;
  readonly rules: ClassRules;
}

/**
 * What makes a load balancer be looked at: its Service changes in something that counts, the nodes that can be targets
 * change (or their labels, where a node selector is used), their servers do, or it is time for the drift check.
 */
export function loadBalancerTriggers({ services, nodes, lists$, drift$, rules }: TriggerSources): Observable<Trigger> {
  const ours = (): KubeService[] => services.list().filter(service => wantsLoadBalancer(service, rules));
  const all = (reason: string, which = ours(), priority = 0): Trigger[] =>
    which.map(service => ({ key: keyOf(service), reason, priority }));

  const services$ = defer(() => services.watch()).pipe(concatMap(change => from(triggersOf(change, rules))));
  const nodes$ = defer(() => nodes.watch()).pipe(
    concatMap(change => {
      const concern = concernOf(change);
      if (concern === 'none') return [];
      const bySelector = concern === 'labels' ? ours().filter(usesNodeSelector) : ours();
      return all(`node ${change.type}`, bySelector);
    }),
  );
  const servers$ = lists$.pipe(
    map(lists => reachability(nodes.list(), lists)),
    startWith(undefined),
    pairwise(),
    concatMap(([before, now]) => (before === undefined || before === now ? [] : all('servers of nodes changed'))),
  );
  const checks$ = drift$.pipe(concatMap(() => all('drift check', ours(), -1)));
  return merge(services$, nodes$, servers$, checks$);
}

/**
 * Tells when the server of a node turns out to be again in a network that it was in before, or with another address. When it
 * left, Hetzner took it out of the load balancers that reached it there, of which no list of servers and no write of ours
 * tells.
 */
export const attachedAnew = ({ nodes, lists$ }: Pick<TriggerSources, 'nodes' | 'lists$'>): Observable<unknown> =>
  defer(() => {
    let before: InstanceLists['cloud'];
    /** The networks that each server was ever seen in. */
    let seen: ReadonlyMap<number, ReadonlySet<number>> = new Map();
    const isAnew = ({ id, privateNets }: Server): boolean =>
      privateNets.some(
        ({ network, ip }) =>
          seen.get(id)?.has(network) === true &&
          !before?.byID(id)?.privateNets.some(net => net.network === network && net.ip === ip),
      );
    return lists$.pipe(
      filter(lists => {
        if (lists.cloud === undefined || lists.cloud === before) return false;
        const servers = nodes.list().flatMap(node => serverOf(node, lists));
        const isNews = servers.some(isAnew);
        before = lists.cloud;
        seen = new Map(servers.map(one => [one.id, new Set([...(seen.get(one.id) ?? []), ...networksOf(one)])]));
        return isNews;
      }),
    );
  });

const serverOf = (node: KubeNode, lists: InstanceLists): Server[] => {
  const located = locate(node, lists);
  return located.kind === 'found' && located.machine.kind === 'cloud' ? [located.machine.server] : [];
};

const networksOf = ({ privateNets }: Server): number[] => privateNets.map(({ network }) => network);

function triggersOf({ type, object, previous, initial }: StoreChange<KubeService>, rules: ClassRules): Trigger[] {
  const concernsUs = (service: KubeService): boolean =>
    wantsLoadBalancer(service, rules) || needsCleanup(service, rules);
  if (type === 'deleted' || !(concernsUs(object) || (previous !== undefined && concernsUs(previous)))) return [];
  if (type === 'updated' && previous !== undefined && isSame(previous, object)) return [];
  const reason = initial ? 'Service present at start' : `Service ${type}`;
  return [{ key: keyOf(object), reason, priority: initial ? -1 : 0 }];
}

/** Whether nothing changed that decides about the load balancer. That we hold the Service is our own doing, losing it is not. */
const isSame = (previous: KubeService, object: KubeService): boolean =>
  signatureOf(previous) === signatureOf(object) && (isHeld(object) || !isHeld(previous));

const isHeld = ({ finalizers }: KubeService): boolean => finalizers.includes(cleanupFinalizer);

/** All of a Service that decides about its load balancer but for the finalizers; status and resource version are no part of it. */
const signatureOf = ({
  resourceVersion: _,
  ingress: __,
  labels: ___,
  finalizers: ____,
  ...rest
}: KubeService): string => JSON.stringify(rest);

const usesNodeSelector = ({ annotations }: KubeService): boolean =>
  annotations[`${annotationPrefix}node-selector`] !== undefined;

/** Whether a change of a node can change targets, or only those of Services that select nodes by label. */
function concernOf({ type, object, previous, initial }: StoreChange<KubeNode>): 'all' | 'labels' | 'none' {
  if (initial) return 'none';
  if (type !== 'updated' || previous === undefined) return 'all';
  if (targetSignature(previous) !== targetSignature(object)) return 'all';
  return JSON.stringify(previous.labels) === JSON.stringify(object.labels) ? 'none' : 'labels';
}

function targetSignature(node: KubeNode): string {
  const eligible = eligibleNodes([node], everything).length > 0;
  const internal = node.addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => address);
  return JSON.stringify([node.providerID, eligible, node.unschedulable, internal]);
}

/** What the lists say of how the servers of the nodes can be reached, as one text to compare. */
function reachability(nodes: readonly KubeNode[], lists: InstanceLists): string {
  const parts = nodes.map(node => {
    if (node.providerID === '') return '';
    const located = locate(node, lists);
    if (located.kind !== 'found') return located.kind;
    if (located.machine.kind === 'robot') return located.machine.server.ipv4 ?? '';
    const { ipv4, privateNets } = located.machine.server;
    return `${ipv4 ?? ''} ${privateNets.map(net => `${net.network}=${net.ip}`).join(',')}`;
  });
  return parts.join('\n');
}
