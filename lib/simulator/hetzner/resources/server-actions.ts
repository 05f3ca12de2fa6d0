import type { ActionChange } from '../actions.ts';
import { optionalString, optionalStrings, requiredId, requiredStrings } from '../body.ts';
import { ApiProblem } from '../problem.ts';
import type { ServerRecord } from '../records.ts';
import { type Call, find, type Route } from '../router.ts';
import { attachmentTo, dropAttachment, promiseAliases, promiseAttachment } from '../server-state.ts';
import { started } from './actions.ts';

/** One action runs on a server at a time. */
export function refuseLocked(call: Call, server: ServerRecord): void {
  if (call.world.actions.runningOn('server', server.id).length > 0)
    throw new ApiProblem(423, 'locked', 'cannot perform operation because server is locked');
}

type Course = Pick<ActionChange, 'effect' | 'undo'> & { readonly network?: number };

/** Path below `/servers/{id}/actions`, command of the action, status the server has at its end. */
const power = [
  ['poweron', 'start_server', 'running'],
  ['poweroff', 'stop_server', 'off'],
  ['shutdown', 'shutdown_server', 'off'],
  ['reboot', 'reboot_server', 'running'],
  ['reset', 'reset_server', 'running'],
] as const;

const attaching: Readonly<Record<string, (call: Call, server: ServerRecord) => Course>> = {
  attach_to_network: ({ world, body }, server) => {
    const network = find(world.networks, requiredId(body, 'network'), 'network');
    const attachment = promiseAttachment(world, server, network, {
      ip: optionalString(body, 'ip'),
      ipRange: optionalString(body, 'ip_range'),
      aliasIPs: optionalStrings(body, 'alias_ips'),
    });
    return {
      network: network.id,
      effect: () => {
        attachment.phase = 'present';
      },
      undo: () => dropAttachment(world, server, attachment),
    };
  },
  detach_from_network: ({ world, body }, server) => {
    const network = requiredId(body, 'network');
    const attachment = attachmentTo(server, network);
    attachment.phase = 'leaving';
    return {
      network,
      effect: () => dropAttachment(world, server, attachment),
      undo: () => {
        attachment.phase = 'present';
      },
    };
  },
  change_alias_ips: ({ world, body }, server) => {
    const network = requiredId(body, 'network');
    const { commit, revoke } = promiseAliases(
      world,
      server,
      attachmentTo(server, network),
      requiredStrings(body, 'alias_ips'),
    );
    return { network, effect: commit, undo: revoke };
  },
};

const serverRoute = (path: string, command: string, prepare: (call: Call, server: ServerRecord) => Course): Route => ({
  method: 'POST',
  template: `/servers/{id}/actions/${path}`,
  answer: call => {
    const server = find(call.world.servers, call.params.id, 'server');
    refuseLocked(call, server);
    const { network, ...course } = prepare(call, server);
    const resources = [
      { id: server.id, type: 'server' },
      ...(network === undefined ? [] : [{ id: network, type: 'network' }]),
    ];
    return started(call, call.start({ command, resources, ...course }));
  },
});

/** `POST /servers/{id}/actions/…`. */
export const serverActions: readonly Route[] = [
  ...power.map(([path, command, status]) =>
    serverRoute(path, command, (_, server) => ({
      effect: () => {
        server.status = status;
      },
    })),
  ),
  ...Object.entries(attaching).map(([command, prepare]) => serverRoute(command, command, prepare)),
];
