import type { Actions } from '../../hetzner/actions.ts';
import { classOf, HetznerError } from '../../hetzner/errors.ts';
import type { LoadBalancerTypes } from '../../hetzner/lb-snapshot.ts';
import type { LoadBalancer, LoadBalancerBody } from '../../hetzner/lb-types.ts';
import type { LoadBalancers } from '../../hetzner/load-balancers.ts';
import type { CallOptions } from '../../hetzner/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { LoadBalancerConfig } from './config.ts';
import { type DesiredLoadBalancer, defaultType } from './desired.ts';
import { defaultName, ownerLabel } from './identity.ts';
import { newListener } from './listener-difference.ts';
import { withChange } from './model.ts';
import { distinct } from './plan-targets.ts';
import type { ServiceReport } from './report.ts';

export interface CreateDeps {
  readonly desired: DesiredLoadBalancer;
  readonly config: LoadBalancerConfig;
  /** Whether listeners and targets are asked for at once. */
  readonly withExtras: boolean;
  readonly api: LoadBalancers;
  readonly types: LoadBalancerTypes;
  readonly actions: Actions;
  readonly tell: ServiceReport;
  readonly log: Logger;
}

/** Each type has room for so many; beyond that the types are asked. */
const smallest = { maxServices: 5, maxTargets: 25 };

/**
 * Creates a load balancer with all it needs in one call: network, listeners and targets. Where the API refuses
 * something of that, it is created without, and the plan adds one by one what can be had.
 *
 * Resolves with the load balancer once its action has ended. Rejects with the API's error.
 */
export async function createLoadBalancer(deps: CreateDeps, o: CallOptions): Promise<LoadBalancer> {
  const { api, actions, tell, log, config, withExtras } = deps;
  if (config.type === undefined) tell.typeUnset(defaultType);
  const bare = bareBody(deps);
  const full = withExtras ? await fullBody(deps, bare, o) : bare;
  let body: LoadBalancerBody = full;
  const { item, action } = await api.create(full, o).catch(async err => {
    if (!withExtras || !mayBeTheExtras(err)) throw err;
    body = bare;
    const created = await api.create(bare, o);
    log.warn('Created load balancer without its targets at first, as Hetzner refused them together', { err });
    return created;
  });
  if (action !== undefined) await actions.wait(action, o);
  log.info('Created load balancer', { loadBalancerID: item.id, subject: item.name });
  return completed(item, body);
}

/** Without anything that the API could refuse. */
export const bareBody = ({ desired, config }: Pick<CreateDeps, 'desired' | 'config'>): LoadBalancerBody => ({
  name: desired.name ?? defaultName(desired.owner),
  type: desired.type?.name ?? defaultType,
  location: config.location,
  networkZone: config.networkZone,
  algorithm: desired.algorithm,
  labels: { [ownerLabel]: desired.owner },
});

/** The network goes in only where its address is the API's choice; a wanted address or subnet needs its own call. */
async function fullBody(
  { desired, types }: CreateDeps,
  bare: LoadBalancerBody,
  o: CallOptions,
): Promise<LoadBalancerBody> {
  const { attachment, listeners } = desired;
  const network = attachment?.ip === undefined && attachment?.subnet === undefined ? attachment?.networkID : undefined;
  const reachable = distinct(desired.targets).filter(
    target => target.type !== 'server' || !target.usePrivateIP || network !== undefined,
  );
  const fits = reachable.length <= smallest.maxTargets && listeners.length <= smallest.maxServices;
  const { maxServices, maxTargets } = fits ? smallest : await roomOf(bare.type, types, o);
  // Without a network there must be a public way in; it is closed once the network is attached.
  const publicInterface =
    network === undefined && desired.publicInterface === false ? undefined : desired.publicInterface;
  const services = listeners.slice(0, maxServices);
  return { ...bare, publicInterface, network, services, targets: reachable.slice(0, maxTargets) };
}

async function roomOf(type: string, types: LoadBalancerTypes, o: CallOptions): Promise<typeof smallest> {
  const found = (await types.get(o)).find(({ name }) => name === type);
  return {
    maxServices: found?.maxServices ?? smallest.maxServices,
    maxTargets: found?.maxTargets ?? smallest.maxTargets,
  };
}

/** Refusals that listeners, targets or the network may have caused; a name or a limit is not among them. */
const mayBeTheExtras = (err: unknown): boolean =>
  err instanceof HetznerError &&
  classOf(err) === 'permanent' &&
  [404, 412, 422].includes(err.status) &&
  !['uniqueness_error', 'resource_limit_exceeded', 'resource_unavailable'].includes(err.code) &&
  !isOfBareFields(err);

/** Fields of what a load balancer can't be made without. */
const bareFields = ['name', 'load_balancer_type', 'location', 'network_zone', 'algorithm', 'labels'];

/** True when Hetzner names the fields that it refuses, and none of them is an extra. */
const isOfBareFields = ({ fields }: HetznerError): boolean =>
  fields.length > 0 && fields.every(field => bareFields.includes(field.split('.')[0] ?? field));

/** The answer may be from before the action: what was sent along is there by now, but for addresses the API chose. */
function completed(item: LoadBalancer, { services = [], targets = [], network }: LoadBalancerBody): LoadBalancer {
  let result: LoadBalancer = { ...item, services: services.map(newListener), targets: [] };
  for (const target of targets) result = withChange(result, { kind: 'addTarget', target });
  const isAttached = network === undefined || item.privateNets.some(net => net.network === network);
  return isAttached ? result : withChange(result, { kind: 'attach', network, ip: undefined, subnet: undefined });
}
