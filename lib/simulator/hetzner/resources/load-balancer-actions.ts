import type { ActionChange } from '../actions.ts';
import {
  optionalBoolean,
  optionalIdOrName,
  optionalInRange,
  optionalOneOf,
  optionalString,
  required,
  requiredId,
  requiredString,
} from '../body.ts';
import type { LoadBalancerRecord } from '../lb-records.ts';
import { serviceOn } from '../lb-services.ts';
import {
  attachmentOf,
  dropNetwork,
  dropService,
  dropTarget,
  orderableType,
  promiseNetwork,
  promiseService,
  promiseTarget,
  promiseUpdate,
  refuseWhileBusy,
} from '../lb-state.ts';
import { targetOf } from '../lb-target-rules.ts';
import { isPrivateTarget } from '../lb-upkeep.ts';
import { ApiProblem, invalidInput } from '../problem.ts';
import type { Phase } from '../records.ts';
import { type Call, find, type Route } from '../router.ts';
import { started } from './actions.ts';

type Course = Pick<ActionChange, 'effect' | 'undo'> & { readonly network?: number };
type Prepare = (call: Call, lb: LoadBalancerRecord) => Course;

const algorithms = ['round_robin', 'least_connections'] as const;

/** The algorithm out of an object that has its type. */
export const algorithmType = (body: Call['body']): string => required('type', optionalOneOf(body, 'type', algorithms));

/** Something that is there from the end of the action on, and checked from then on. */
const arriving = (part: { phase: Phase; since: number }, drop: () => void): Course => ({
  effect: at => {
    part.phase = 'present';
    part.since = at;
  },
  undo: drop,
});

/** Something that is gone from the end of the action on. */
function leaving(part: { phase: Phase }, drop: () => void): Course {
  part.phase = 'leaving';
  return {
    effect: drop,
    undo: () => {
      part.phase = 'present';
    },
  };
}

const commands: Readonly<Record<string, Prepare>> = {
  add_service: ({ world, body, at }, lb) => {
    const service = promiseService(world, lb, body, at);
    return arriving(service, () => dropService(lb, service));
  },
  update_service: ({ world, body }, lb) => {
    const service = serviceOn(lb, required('listen_port', optionalInRange(body, 'listen_port', 1, 65_535)));
    const { commit, revoke } = promiseUpdate(world, lb, service, body);
    return { effect: commit, undo: revoke };
  },
  delete_service: ({ body }, lb) => {
    const service = serviceOn(lb, requiredId(body, 'listen_port'));
    return leaving(service, () => dropService(lb, service));
  },
  add_target: ({ world, body, at }, lb) => {
    const target = promiseTarget(world, lb, body, at);
    return arriving(target, () => dropTarget(lb, target));
  },
  remove_target: ({ world, body }, lb) => {
    const target = targetOf(world, lb, body);
    return leaving(target, () => dropTarget(lb, target));
  },
  attach_to_network: ({ world, body }, lb) => {
    const network = find(world.networks, requiredId(body, 'network'), 'network');
    const wish = { ip: optionalString(body, 'ip'), ipRange: optionalString(body, 'ip_range') };
    const attachment = promiseNetwork(lb, network, wish);
    return {
      network: network.id,
      effect: () => {
        attachment.phase = 'present';
      },
      undo: () => dropNetwork(world, lb, network.id),
    };
  },
  detach_from_network: ({ world, body }, lb) => {
    const network = requiredId(body, 'network');
    return { network, ...leaving(attachmentOf(lb, network), () => dropNetwork(world, lb, network)) };
  },
  enable_public_interface: (_, lb) => ({
    effect: () => {
      lb.publicEnabled = true;
    },
  }),
  disable_public_interface: (_, lb) => {
    if (lb.attachment?.phase !== 'present')
      throw new ApiProblem(422, 'load_balancer_not_attached_to_network', 'load balancer is not attached to a network');
    if (!lb.targets.every(isPrivateTarget))
      throw new ApiProblem(422, 'targets_without_use_private_ip', 'there are targets that use the public IP');
    return {
      effect: () => {
        lb.publicEnabled = false;
      },
    };
  },
  change_algorithm: ({ body }, lb) => {
    const algorithm = algorithmType(body);
    return {
      effect: () => {
        lb.algorithm = algorithm;
      },
    };
  },
  change_type: ({ world, body, at }, lb) => {
    const wanted = required('load_balancer_type', optionalIdOrName(body, 'load_balancer_type'));
    const type = orderableType(world, wanted, at);
    const certificates = new Set(lb.services.flatMap(one => one.config.http?.certificates ?? []));
    if (
      lb.services.length > type.max_services ||
      lb.targets.length > type.max_targets ||
      certificates.size > type.max_assigned_certificates
    )
      throw new ApiProblem(422, 'invalid_load_balancer_type', 'load balancer type does not fit for the load balancer');
    return {
      effect: () => {
        lb.type = type;
      },
    };
  },
  change_dns_ptr: ({ body }, lb) => {
    const ip = requiredString(body, 'ip');
    const name = optionalString(body, 'dns_ptr');
    if (ip !== lb.ipv4 && ip !== lb.ipv6) throw invalidInput('ip', 'Not an address of the load balancer.');
    return {
      effect: () => {
        if (name === undefined) lb.dnsPtrs.delete(ip);
        else lb.dnsPtrs.set(ip, name);
      },
    };
  },
  change_protection: ({ body }, lb) => {
    const wanted = optionalBoolean(body, 'delete') ?? lb.protected;
    return {
      effect: () => {
        lb.protected = wanted;
      },
    };
  },
};

/** Commands of actions that are not called like the path. */
const commandOf = (path: string): string => (path === 'change_type' ? 'change_load_balancer_type' : path);

/** `POST /load_balancers/{id}/actions/…`. Refused while another change runs, as the settings say. */
export const loadBalancerActions: readonly Route[] = Object.entries(commands).map(([path, prepare]) => ({
  method: 'POST',
  template: `/load_balancers/{id}/actions/${path}`,
  answer: call => {
    const lb = find(call.world.loadBalancers, call.params.id, 'load balancer');
    const command = commandOf(path);
    refuseWhileBusy(call.world, lb, call.at, command);
    const { network, ...course } = prepare(call, lb);
    const resources = [
      { id: lb.id, type: 'load_balancer' },
      ...(network === undefined ? [] : [{ id: network, type: 'network' }]),
    ];
    return started(call, call.start({ command, resources, ...course }));
  },
}));
