import type { FakeHetzner } from '../../lib/simulator/hetzner/fake.ts';
import { eventually } from './cluster.ts';
import type { KubeObject } from './kube-client.ts';
import type { Scenario } from './scenario.ts';

const addRoute = '/networks/{id}/actions/add_route';
const deleteRoute = '/networks/{id}/actions/delete_route';

/** Changes of routes that were asked for so far, the refused ones among them too. */
export interface RouteWrites {
  readonly added: number;
  readonly deleted: number;
  /** Refused as locked or in conflict. */
  readonly refused: number;
}

export const routeWrites = ({ hetzner }: { readonly hetzner: FakeHetzner }): RouteWrites => {
  const writes = hetzner.requests.filter(({ route }) => route === addRoute || route === deleteRoute);
  return {
    added: writes.filter(({ route }) => route === addRoute).length,
    deleted: writes.filter(({ route }) => route === deleteRoute).length,
    refused: writes.filter(({ status }) => status === 423 || status === 409).length,
  };
};

/** Requests as the targets count them: without and with the polls of actions. */
export const requestTotals = ({
  hetzner,
}: {
  readonly hetzner: FakeHetzner;
}): { readonly withoutPolls: number; readonly all: number } => {
  const all = hetzner.count();
  return { withoutPolls: all - hetzner.count({ method: 'GET', route: '/actions' }), all };
};

/** Waits until the network holds exactly these routes, each `destination gateway`, sorted. */
export const untilRoutes = async (
  s: Pick<Scenario, 'routes'>,
  routes: readonly string[],
  timeout = 20_000,
): Promise<void> => {
  const look = async () => (s.routes().join() === routes.join() ? true : undefined);
  await eventually(`routes ${routes}`, look, timeout).catch(err => {
    throw new Error(`${err instanceof Error ? err.message : err}; last: ${s.routes()}`);
  });
};

/** Events about the Node for this reason. */
export const warningsOf = async (
  s: Pick<Scenario, 'eventsOf'>,
  name: string,
  reason: string,
): Promise<readonly KubeObject[]> => (await s.eventsOf(name)).filter(event => event.reason === reason);

/** Waits for the first event about the Node for this reason. */
export const untilWarned = (s: Pick<Scenario, 'eventsOf'>, name: string, reason: string): Promise<KubeObject> =>
  eventually(`event ${reason} about ${name}`, async () => (await warningsOf(s, name, reason))[0], 20_000);
