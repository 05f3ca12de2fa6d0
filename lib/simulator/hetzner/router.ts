import type { ActionChange, ActionRecord } from './actions.ts';
import type { JsonObject } from './body.ts';
import { notFound } from './problem.ts';
import type { FakeRequest } from './wire.ts';
import type { World } from './world.ts';

/** One request as a handler sees it. */
export interface Call {
  readonly world: World;
  /** Instant of arrival; what was due by then has happened. */
  readonly at: number;
  readonly request: FakeRequest;
  readonly params: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** Starts an action; it runs as the settings or a fault say. */
  start(change: ActionChange): ActionRecord;
}

/** What a handler answers; `body` goes out as JSON, undefined as nothing, a string as it is. */
export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path with `{name}` for parameters, such as `/networks/{id}/actions/add_route`. */
  readonly template: string;
  readonly answer: (call: Call) => Reply;
}

/** Where a path leads: the template and all that can be done there. */
export interface Match {
  readonly template: string;
  readonly params: Readonly<Record<string, string>>;
  readonly routes: ReadonlyMap<string, Route>;
}

export type Router = (path: string) => Match | undefined;

function matchSegments(template: readonly string[], path: readonly string[]): Record<string, string> | undefined {
  if (template.length !== path.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of template.entries()) {
    const given = path[index] ?? '';
    if (part.startsWith('{')) params[part.slice(1, -1)] = given;
    else if (part !== given) return undefined;
  }
  return params;
}

/** A router over the tables of all resources. Literal parts win over parameters. */
export function createRouter(routes: readonly Route[]): Router {
  const templates = [...Map.groupBy(routes, route => route.template)]
    .map(([template, group]) => ({
      template,
      segments: template.split('/'),
      routes: new Map(group.map(route => [route.method, route])),
    }))
    .sort((one, other) => one.template.split('{').length - other.template.split('{').length);
  return path => {
    const segments = path.split('/');
    for (const { template, segments: wanted, routes: there } of templates) {
      const params = matchSegments(wanted, segments);
      if (params !== undefined) return { template, params, routes: there };
    }
    return undefined;
  };
}

/** The entity a path parameter names. Throws `not_found`, also for an id that is no number. */
export function find<T>(map: ReadonlyMap<number, T>, id: string | number | undefined, what: string): T {
  const found = map.get(Number(id));
  if (found === undefined) throw notFound(what);
  return found;
}
