import {
  BehaviorSubject,
  defer,
  distinctUntilChanged,
  EMPTY,
  exhaustMap,
  first,
  map,
  merge,
  type Observable,
  of,
  retry,
  switchMap,
  tap,
  timer,
} from 'rxjs';
import { isForbidden } from './kubernetes/errors.ts';
import type { EventRecorder, EventTarget } from './kubernetes/events.ts';
import { everything, type LabelSelector, parseLabelSelector } from './kubernetes/label-selector.ts';
import type { KubeReader } from './kubernetes/reader.ts';
import { earlierRivals, type Rival, selectorAnnotation } from './kubernetes/rivals.ts';
import { selectedStore } from './kubernetes/selected-store.ts';
import type { Store } from './kubernetes/store.ts';
import type { KubeNode } from './kubernetes/types.ts';
import type { Logger } from './observability/logger.ts';
import { flags } from './settings/flags.ts';
import type { Settings } from './settings/settings.ts';
import type { Clock } from './streams/clock.ts';
import { fromAbortable } from './streams/from-abortable.ts';

export interface SelectionDeps {
  readonly settings: Settings;
  readonly all: Store<KubeNode>;
  readonly client: KubeReader;
  /** Our Lease. */
  readonly lease: EventTarget;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** ms to wait after the n-th failure in a row, n from 0. */
  readonly backoff: (attempt: number) => number;
}

/** The nodes this instance looks after. */
export interface Selection {
  readonly nodes: Store<KubeNode>;
  /** Keeps `nodes` in step; subscribed to for as long as the store behind it. */
  readonly run$: Observable<never>;
  /**
   * Looks out for other instances while this one leads: emits once, when it is known which of the nodes are theirs
   * already, and keeps looking. What two selectors match is left to the instance that was there first.
   */
  readonly lookout$: Observable<true>;
}

/** ms between two looks at the Leases of other instances; the second is soon, for those that start at the same time. */
const lookEvery = 60_000;
const secondLook = 5_000;

/** With no selector the store itself, and no look at anything. */
export function createSelection(deps: SelectionDeps): Selection {
  const { settings, all, clock } = deps;
  const text = settings.nodes.selector;
  if (text === undefined) return { nodes: all, run$: EMPTY, lookout$: of(true) };
  const own = parseLabelSelector(text) ?? everything;
  const selector$ = new BehaviorSubject<LabelSelector>(own);
  const { store, run$ } = selectedStore(all, selector$, clock);
  const tell = createRivalReport(deps, text, own);
  let known = '';
  const heed = (rivals: readonly Rival[]): void => {
    tell(rivals);
    const now = rivals.map(({ lease, selector }) => `${lease} ${selector}`).join('\n');
    if (now === known) return;
    known = now;
    selector$.next(labels => own(labels) && !rivals.some(({ matches }) => matches(labels)));
  };
  // Without an election there is no Lease to tell others by.
  if (!settings.leaderElection.enabled) return { nodes: store, run$, lookout$: of(true) };
  const lookout$ = all.synced$.pipe(
    first(Boolean),
    switchMap(() => looks(deps)),
    tap(heed),
    map(() => true as const),
    distinctUntilChanged(),
  );
  return { nodes: store, run$, lookout$ };
}

/** The other instances, again and again. Until they are known once, nothing else is done. */
function looks({ client, lease, clock, logger, backoff }: SelectionDeps): Observable<readonly Rival[]> {
  const base = flags.leaseName.fallback;
  const { namespace, name: own } = lease;
  let refused = false;
  const look$ = defer(() =>
    fromAbortable(signal =>
      earlierRivals({ client, clock, namespace, own, base }, signal).catch(err => {
        if (!isForbidden(err)) throw err;
        if (!refused) {
          const hint = 'allow it to list leases, or make sure that node selectors do not overlap';
          logger.warn('Was not allowed to look for other instances', { lease: `${namespace}/${own}`, hint, err });
        }
        refused = true;
        return [];
      }),
    ),
  ).pipe(
    retry({
      delay: (err, count) => {
        const after = backoff(count - 1);
        logger.warn('Failed to look for other instances, will try again', { after, err });
        return timer(after);
      },
      resetOnSuccess: true,
    }),
  );
  return merge(timer(0, lookEvery), timer(secondLook)).pipe(exhaustMap(() => look$));
}

/** Says which nodes are left to others, once for each difference. */
function createRivalReport({ all, lease, events, logger }: SelectionDeps, selector: string, own: LabelSelector) {
  let said = '';
  return (rivals: readonly Rival[]): void => {
    const contested = all.list().filter(({ labels }) => own(labels) && rivals.some(({ matches }) => matches(labels)));
    const others = rivals.map(rival => `${rival.selector || 'all nodes'} (lease ${rival.lease})`).join(', ');
    const text = contested.length === 0 ? '' : `${contested.length} ${others}`;
    if (text === said) return;
    said = text;
    const name = `${lease.namespace}/${lease.name}`;
    if (text === '') {
      logger.info('Found no other instance in charge of the same nodes any more', { lease: name });
      return;
    }
    const hint = 'give the instances node selectors of which no node matches two';
    const message = `HCLOUD_SERVER_LABEL_SELECTOR=${selector} matches ${contested.length} nodes that an instance looks after which was there before: ${others}. They are left to it; ${hint}`;
    events.event(lease, 'Warning', 'OverlappingNodeSelectors', message);
    logger.warn('Left nodes to another instance that was there before', {
      lease: name,
      count: contested.length,
      setting: 'HCLOUD_SERVER_LABEL_SELECTOR',
      hint,
      err: message,
    });
  };
}

/** Two instances with one lease lock each other out: only the nodes of the one that holds it are looked after. */
export function tellOtherSelector(
  { nodes: { selector = '' }, leaderElection: { resourceNamespace, resourceName } }: Settings,
  leader: string,
  annotations: Readonly<Record<string, unknown>>,
  logger: Logger,
): void {
  const theirs = annotations[selectorAnnotation] ?? '';
  if (theirs === selector) return;
  const named = (text: unknown): string => (text === '' ? 'no node selector' : `the node selector ${text}`);
  logger.warn('Found the lease with an instance that looks after other nodes', {
    leader,
    lease: `${resourceNamespace}/${resourceName}`,
    setting: '--leader-elect-resource-name',
    hint: `give each instance a lease of its own: the leader has ${named(theirs)}, this one ${named(selector)}, and waits`,
  });
}
