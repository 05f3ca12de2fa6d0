import {
  optionalBoolean,
  optionalIdOrName,
  optionalIds,
  optionalLabels,
  optionalObject,
  optionalString,
  requiredString,
} from '../body.ts';
import { byNameAndLabels, byValues, listReply } from '../listing.ts';
import { ApiProblem, invalidInput } from '../problem.ts';
import { isShown, type ServerRecord } from '../records.ts';
import { type Call, find, type Reply, type Route } from '../router.ts';
import { addServer, dropAttachment, freeServerName, promiseAttachment, removeServer } from '../server-state.ts';
import { actionView, serverView } from '../views.ts';
import type { World } from '../world.ts';
import { actionsBelow } from './actions.ts';
import { refuseLocked, serverActions } from './server-actions.ts';

const statuses = [
  'running',
  'initializing',
  'starting',
  'stopping',
  'off',
  'deleting',
  'migrating',
  'rebuilding',
  'unknown',
];

const theServer = (call: Call): ServerRecord => find(call.world.servers, call.params.id, 'server');

const view = (world: World, server: ServerRecord): unknown =>
  serverView(
    server,
    world.actions.runningOn('server', server.id).length > 0,
    [...world.loadBalancers.values()]
      .filter(lb => lb.targets.some(one => one.type === 'server' && one.server === server.id && isShown(one)))
      .map(lb => lb.id),
  );

const single = (call: Call, server: ServerRecord): Reply => ({
  status: 200,
  body: { server: view(call.world, server) },
});

function create(call: Call): Reply {
  const { world, at, body } = call;
  const type = optionalIdOrName(body, 'server_type');
  const image = optionalIdOrName(body, 'image');
  if (type === undefined) throw invalidInput('server_type', 'Missing data for required field.');
  if (image === undefined) throw invalidInput('image', 'Missing data for required field.');
  const publicNet = optionalObject(body, 'public_net') ?? {};
  const wantsStart = optionalBoolean(body, 'start_after_create') ?? true;
  const networks = (optionalIds(body, 'networks') ?? []).map(id => find(world.networks, id, 'network'));
  const server = addServer(world, at, {
    name: requiredString(body, 'name'),
    type,
    image,
    location: optionalIdOrName(body, 'location') ?? 'fsn1',
    status: 'initializing',
    ipv4: optionalBoolean(publicNet, 'enable_ipv4') ?? true,
    ipv6: optionalBoolean(publicNet, 'enable_ipv6') ?? true,
    labels: optionalLabels(body) ?? {},
  });
  const resources = [{ id: server.id, type: 'server' }];
  let attachments: ReturnType<typeof promiseAttachment>[];
  try {
    attachments = networks.map(network => promiseAttachment(world, server, network, {}));
  } catch (problem) {
    removeServer(world, server);
    throw problem;
  }
  const status = (value: string) => () => {
    server.status = value;
  };
  const action = call.start({
    command: 'create_server',
    resources,
    effect: status(wantsStart ? 'starting' : 'off'),
    undo: () => removeServer(world, server),
  });
  const next = attachments.map(attachment =>
    call.start({
      command: 'attach_to_network',
      resources: [...resources, { id: attachment.network, type: 'network' }],
      effect: () => {
        attachment.phase = 'present';
      },
      undo: () => dropAttachment(world, server, attachment),
    }),
  );
  if (wantsStart) next.unshift(call.start({ command: 'start_server', resources, effect: status('running') }));
  const rootPassword = body.ssh_keys === undefined ? 'Made-up-9Password' : null;
  const nextActions = next.map(one => actionView(one, at));
  return {
    status: 201,
    body: {
      server: view(world, server),
      action: actionView(action, at),
      next_actions: nextActions,
      root_password: rootPassword,
    },
  };
}

function update(call: Call): Reply {
  const server = theServer(call);
  const name = optionalString(call.body, 'name');
  const labels = optionalLabels(call.body);
  if (name !== undefined) server.name = freeServerName(call.world, name, server);
  server.labels = labels ?? server.labels;
  return single(call, server);
}

function remove(call: Call): Reply {
  const server = theServer(call);
  if (server.protected) throw new ApiProblem(423, 'protected', 'server is delete protected');
  refuseLocked(call, server);
  const before = server.status;
  server.status = 'deleting';
  const action = call.start({
    command: 'delete_server',
    resources: [{ id: server.id, type: 'server' }],
    effect: () => removeServer(call.world, server),
    undo: () => {
      server.status = before;
    },
  });
  return { status: 200, body: { action: actionView(action, call.at) } };
}

export const servers: readonly Route[] = [
  {
    method: 'GET',
    template: '/servers',
    answer: call =>
      listReply(call, {
        plural: 'servers',
        items: byValues(
          call,
          'status',
          byNameAndLabels(call, call.world.servers.values()),
          one => one.status,
          statuses,
        ),
        view: server => view(call.world, server),
        sort: { id: one => one.id, name: one => one.name, created: one => one.created },
      }),
  },
  { method: 'POST', template: '/servers', answer: create },
  { method: 'GET', template: '/servers/{id}', answer: call => single(call, theServer(call)) },
  { method: 'PUT', template: '/servers/{id}', answer: update },
  { method: 'DELETE', template: '/servers/{id}', answer: remove },
  ...serverActions,
  ...actionsBelow('/servers', 'server', call => call.world.servers),
];
