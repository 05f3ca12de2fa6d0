import { isIP } from 'node:net';
import {
  type JsonObject,
  onlyKeys,
  optionalBoolean,
  optionalObject,
  optionalOneOf,
  optionalString,
  required,
  requiredId,
  requiredString,
} from './body.ts';
import { parseLabelSelector } from './label-selector.ts';
import type { LoadBalancerRecord, TargetRecord } from './lb-records.ts';
import { isBehindVSwitch, isInSubnet, isPrivateIP, privateIP, serverTargets } from './lb-targets.ts';
import { ApiProblem, invalidInput, overLimit } from './problem.ts';
import type { World } from './world.ts';

/** What the API demands of targets (facts, sections 4.2 and 9). */

type Words = readonly [status: number, code: string, message: string];
type Fault = 'private' | 'public' | 'cloudIP' | 'unknownServer' | 'absent';

const notAttached = "server is not attached to the load balancer's network";
const noServer = 'server with ID %s not found';

/** The same faults in the three vocabularies. */
const words: Readonly<Record<World['settings']['targetErrors'], Readonly<Record<Fault, Words>>>> = {
  documented: {
    private: [422, 'resolve_cloud_private_targets_error', notAttached],
    public: [422, 'resolve_cloud_public_targets_error', 'server has no public IPv4 address'],
    cloudIP: [422, 'ip_not_owned', 'ip is not owned by the project owner'],
    unknownServer: [422, 'invalid_input', noServer],
    absent: [422, 'load_balancer_target_not_found', 'load balancer target not found'],
  },
  client: {
    private: [422, 'server_not_attached_to_network', notAttached],
    public: [422, 'missing_ipv4', 'server has no public IPv4 address'],
    cloudIP: [422, 'cloud_resource_ip_not_allowed', 'ip belongs to a cloud resource'],
    unknownServer: [404, 'not_found', noServer],
    absent: [404, 'not_found', 'load balancer target not found'],
  },
  observed: {
    private: [422, 'service_error', notAttached],
    public: [422, 'invalid_input', 'cloud target was not found'],
    cloudIP: [422, 'ip_not_owned', 'ip is not owned by the project owner'],
    unknownServer: [422, 'invalid_input', 'cloud target was not found'],
    absent: [422, 'invalid_input', 'target not found'],
  },
};

function fault(world: World, kind: Fault, id = 0): ApiProblem {
  const [status, code, message] = words[world.settings.targetErrors][kind];
  return new ApiProblem(status, code, message.replace('%s', String(id)));
}

const problem = (code: string, message: string): ApiProblem => new ApiProblem(422, code, message);
const notInNetwork = (): ApiProblem =>
  problem('load_balancer_not_attached_to_network', 'load balancer is not attached to a network');
const isDisabled = (): ApiProblem =>
  problem('load_balancer_public_interface_disabled', "the load balancer's public interface is disabled");

/** What a body names: the identity of a target. */
type Named =
  | { readonly type: 'server'; readonly server: number; readonly ip: string | undefined }
  | { readonly type: 'label_selector'; readonly selector: string }
  | { readonly type: 'ip'; readonly ip: string };

function named(body: JsonObject): Named {
  const type = required('type', optionalOneOf(body, 'type', ['server', 'label_selector', 'ip'] as const));
  const inner = required(type, optionalObject(body, type));
  switch (type) {
    case 'server':
      onlyKeys(inner, ['id', 'ip']);
      return { type, server: requiredId(inner, 'id'), ip: optionalString(inner, 'ip') };
    case 'label_selector': {
      const selector = requiredString(inner, 'selector');
      if (selector.length < 1 || selector.length > 1000)
        throw invalidInput('selector', 'Length must be between 1 and 1000.');
      parseLabelSelector(selector);
      return { type, selector };
    }
    case 'ip':
      return { type, ip: requiredString(inner, 'ip') };
  }
}

const isSame = (one: TargetRecord, other: Named): boolean =>
  (one.type === 'server' && other.type === 'server' && one.server === other.server) ||
  (one.type === 'label_selector' && other.type === 'label_selector' && one.selector === other.selector) ||
  (one.type === 'ip' && other.type === 'ip' && one.ip === other.ip);

/** A target out of a body, checked against all that is there or on its way. `phase` stays `arriving`. */
export function newTarget(world: World, lb: LoadBalancerRecord, body: JsonObject, at: number): TargetRecord {
  const wish = named(body);
  const usePrivateIP = optionalBoolean(body, 'use_private_ip') ?? false;
  if (body.use_private_ip === null) throw invalidInput('use_private_ip', 'Not a valid boolean.');
  if (lb.targets.some(one => isSame(one, wish))) throw problem('target_already_defined', 'target is already defined');
  const common = { since: at, phase: 'arriving' } as const;
  if (wish.type !== 'ip') checkWay(lb, usePrivateIP);
  const target: TargetRecord =
    wish.type === 'server'
      ? { ...common, type: 'server', server: wish.server, usePrivateIP, ip: serverIP(world, lb, wish, usePrivateIP) }
      : wish.type === 'ip'
        ? { ...common, type: 'ip', ip: outsideIP(world, lb, wish.ip) }
        : { ...common, type: 'label_selector', selector: wish.selector, usePrivateIP };
  const count = (one: TargetRecord): number =>
    world.settings.countSelected && one.type === 'label_selector' ? serverTargets(world, lb, one, at).length : 1;
  if ([...lb.targets, target].reduce((sum, one) => sum + count(one), 0) > lb.type.max_targets)
    throw overLimit('load_balancer_targets', 'target limit of the load balancer exceeded');
  return target;
}

function checkWay(lb: LoadBalancerRecord, usePrivateIP: boolean): void {
  if (usePrivateIP && lb.attachment?.phase !== 'present') throw notInNetwork();
  if (!usePrivateIP && !lb.publicEnabled) throw isDisabled();
}

function serverIP(
  world: World,
  lb: LoadBalancerRecord,
  { server: id, ip }: Extract<Named, { type: 'server' }>,
  usePrivateIP: boolean,
): string {
  const server = world.servers.get(id);
  if (server === undefined) throw fault(world, 'unknownServer', id);
  if (usePrivateIP) {
    if (ip !== undefined) throw invalidInput('server.ip', 'Only valid for public targets.');
    const found = privateIP(server, lb.attachment?.network);
    if (found === undefined) throw fault(world, 'private');
    return found;
  }
  if (ip !== undefined) {
    if (ip !== server.ipv4?.ip && !isInSubnet(server, ip))
      throw problem('ip_not_assigned_to_server', 'ip is not assigned to the server');
    return ip;
  }
  if (server.ipv4 === undefined) throw fault(world, 'public');
  return server.ipv4.ip;
}

/** An address of a dedicated server: public, or behind the vSwitch of the network. */
function outsideIP(world: World, lb: LoadBalancerRecord, ip: string): string {
  if (isIP(ip) === 0) throw invalidInput('ip', 'Not a valid IP address.');
  if (isPrivateIP(ip)) {
    if (lb.attachment?.phase !== 'present') throw notInNetwork();
    const network = world.networks.get(lb.attachment.network);
    if (!network?.subnets.some(one => one.type === 'vswitch'))
      throw problem('network_has_no_vswitch_subnet', 'network has no vswitch subnet');
    if (!isBehindVSwitch(world, lb, ip))
      throw problem('ip_not_in_vswitch_subnet', 'ip does not belong to the vswitch subnet of the network');
    return ip;
  }
  const servers = [...world.servers.values()];
  if (
    servers.some(one => one.ipv4?.ip === ip || isInSubnet(one, ip)) ||
    [...world.loadBalancers.values()].some(one => one.ipv4 === ip || one.ipv6 === ip)
  )
    throw fault(world, 'cloudIP');
  const { ownedIPs } = world.settings;
  if (ownedIPs !== 'any' && !ownedIPs.includes(ip))
    throw problem('ip_not_owned', 'ip is not owned by the project owner');
  if (!lb.publicEnabled) throw isDisabled();
  return ip;
}

/** The target that a body names. Throws what `remove_target` answers for absent ones, and for dead ones that stick. */
export function targetOf(world: World, lb: LoadBalancerRecord, body: JsonObject): TargetRecord {
  const wish = named(body);
  const found = lb.targets.find(one => isSame(one, wish) && one.phase === 'present');
  if (found === undefined) throw fault(world, 'absent');
  if (world.settings.deadTargets === 'stuck' && found.type === 'server' && !world.servers.has(found.server))
    throw invalidInput('server', 'not found', `server with ID ${found.server} not found`);
  return found;
}
