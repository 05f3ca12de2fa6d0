import type { Clock } from '../../streams/clock.ts';
import type { FakeHetzner } from '../hetzner/fake.ts';
import type { FakeKubernetes } from '../kubernetes/fake.ts';
import { asList, asObject, asString, type JsonObject } from '../kubernetes/json.ts';

/** What becomes of one Node; instants are ms of the monotonic clock. */
export interface Journey {
  readonly name: string;
  readonly podCIDR: string;
  readonly joined: number;
  /** Taint gone, provider id set. */
  initialised?: number;
  /** Hetzner accepted its route. */
  routed?: number;
  /** NetworkUnavailable is False. */
  available?: number;
}

export interface Journeys {
  readonly all: ReadonlyMap<string, Journey>;
  /** The Hetzner to listen with: its answers to new routes are noted. */
  readonly hetzner: FakeHetzner;
  stop(): void;
}

export const isDone = ({ initialised, routed, available }: Journey): boolean =>
  initialised !== undefined && routed !== undefined && available !== undefined;

const isInitialised = (spec: JsonObject): boolean =>
  asString(spec.providerID) !== '' &&
  asList(spec.taints).every(taint => asObject(taint).key !== 'node.cloudprovider.kubernetes.io/uninitialized');

const isAvailable = (status: JsonObject): boolean =>
  asList(status.conditions)
    .map(asObject)
    .some(condition => condition.type === 'NetworkUnavailable' && condition.status === 'False');

const addRoute = /^\/v1\/networks\/\d+\/actions\/add_route$/;

/** Follows Nodes from both sides: what the Kubernetes API shows, and which routes Hetzner accepts. */
export function followJourneys(
  kubernetes: FakeKubernetes,
  hetzner: FakeHetzner,
  clock: Pick<Clock, 'monotonic'>,
  onDone: (journey: Journey) => void,
): Journeys {
  const all = new Map<string, Journey>();

  const note = (journey: Journey, step: 'initialised' | 'routed' | 'available'): void => {
    if (journey[step] !== undefined) return;
    journey[step] = clock.monotonic();
    if (isDone(journey)) onDone(journey);
  };

  const onEvent = (line: string): void => {
    const { object } = JSON.parse(line) as { object: JsonObject };
    const [spec, status] = [asObject(object.spec), asObject(object.status)];
    const name = asString(asObject(object.metadata).name);
    const journey = all.get(name) ?? { name, podCIDR: asString(spec.podCIDR), joined: clock.monotonic() };
    all.set(name, journey);
    if (isInitialised(spec)) note(journey, 'initialised');
    if (isAvailable(status)) note(journey, 'available');
  };

  const request = { method: 'GET', url: '/api/v1/nodes?watch=true', headers: {}, body: '' };
  const watch = kubernetes.watch(request, { onLine: onEvent, onEnd: () => {} });
  if ('status' in watch) throw new Error(`the embedded API refused the watch: ${watch.body}`);
  return {
    all,
    hetzner: {
      ...hetzner,
      handle: request => {
        const answer = hetzner.handle(request);
        if (request.method === 'POST' && answer.status === 201 && addRoute.test(request.path)) {
          const { destination } = JSON.parse(request.body ?? '{}') as { destination?: string };
          const journey = all.values().find(one => one.podCIDR === destination);
          if (journey !== undefined) note(journey, 'routed');
        }
        return answer;
      },
    },
    stop: watch.stop,
  };
}
