import type { ActionRecord } from '../actions.ts';
import { byValues, listReply } from '../listing.ts';
import { invalidInput, notFound } from '../problem.ts';
import { type Call, find, type Reply, type Route } from '../router.ts';
import { actionView } from '../views.ts';

const statuses = ['running', 'success', 'error'];

const statusOf = (action: ActionRecord): string =>
  action.done ? (action.error === undefined ? 'success' : 'error') : 'running';

function actionList(call: Call, actions: Iterable<ActionRecord>, withMeta: boolean): Reply {
  return listReply(call, {
    plural: 'actions',
    items: byValues(call, 'status', actions, statusOf, statuses),
    view: action => actionView(action, call.at),
    sort: {
      id: one => one.id,
      command: one => one.command,
      status: statusOf,
      started: one => one.started,
      finished: one => (one.done ? one.ends : Number.POSITIVE_INFINITY),
    },
    withMeta,
  });
}

function oneAction(call: Call, action: ActionRecord | undefined): Reply {
  if (action === undefined) throw notFound('action');
  return { status: 200, body: { action: actionView(action, call.at) } };
}

/** Answer of a POST that started an action. */
export const started = (call: Call, action: ActionRecord): Reply => ({
  status: 201,
  body: { action: actionView(action, call.at) },
});

const idOf = (action: ActionRecord): string => String(action.id);

/** `/actions`: the list only for given ids (mandatory since 2025), in pages of at most 50 and without `meta`. */
export const actions: readonly Route[] = [
  {
    method: 'GET',
    template: '/actions',
    answer: call => {
      if (!call.request.query.has('id')) throw invalidInput('id', 'Missing data for required field.');
      return actionList(call, byValues(call, 'id', call.world.actions.list(), idOf), false);
    },
  },
  {
    method: 'GET',
    template: '/actions/{id}',
    answer: call => oneAction(call, call.world.actions.get(Number(call.params.id))),
  },
];

/**
 * The four lists and look-ups of actions below a resource, such as `/networks/{id}/actions`.
 * `entities` are the living ones, `type` is the resource type inside an action.
 */
export function actionsBelow(
  path: string,
  type: string,
  entities: (call: Call) => ReadonlyMap<number, unknown>,
): readonly Route[] {
  const ofType = (call: Call): ActionRecord[] =>
    [...call.world.actions.list()].filter(action => action.resources.some(one => one.type === type));
  const ofEntity = (call: Call): ActionRecord[] => {
    find(entities(call), call.params.id, type);
    const id = Number(call.params.id);
    return ofType(call).filter(action => action.resources.some(one => one.type === type && one.id === id));
  };
  const pick = (call: Call, all: ActionRecord[], id: string | undefined): Reply =>
    oneAction(
      call,
      all.find(action => action.id === Number(id)),
    );
  return [
    {
      method: 'GET',
      template: `${path}/actions`,
      answer: call => actionList(call, byValues(call, 'id', ofType(call), idOf), true),
    },
    { method: 'GET', template: `${path}/actions/{id}`, answer: call => pick(call, ofType(call), call.params.id) },
    { method: 'GET', template: `${path}/{id}/actions`, answer: call => actionList(call, ofEntity(call), true) },
    {
      method: 'GET',
      template: `${path}/{id}/actions/{action_id}`,
      answer: call => pick(call, ofEntity(call), call.params.action_id),
    },
  ];
}
