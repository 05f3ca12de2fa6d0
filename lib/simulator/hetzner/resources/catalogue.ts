import { locations as allLocations } from '../catalogue/locations.ts';
import { serverTypes as allTypes } from '../catalogue/server-types.ts';
import { byNameAndLabels, listReply } from '../listing.ts';
import { ApiProblem, notFound } from '../problem.ts';
import type { Call, Reply, Route } from '../router.ts';

interface Entry {
  readonly id: number;
  readonly name: string;
}

/** The two routes of a fixed list, sortable by id and name. */
function fixedList<T extends Entry>(plural: string, singular: string, all: readonly T[]): readonly Route[] {
  return [
    {
      method: 'GET',
      template: `/${plural}`,
      answer: call =>
        listReply(call, {
          plural,
          items: byNameAndLabels(call, all),
          view: item => item,
          sort: { id: one => one.id, name: one => one.name },
        }),
    },
    {
      method: 'GET',
      template: `/${plural}/{id}`,
      answer: (call: Call): Reply => {
        const item = all.find(one => String(one.id) === call.params.id);
        if (item === undefined) throw notFound(singular);
        return { status: 200, body: { [singular]: item } };
      },
    },
  ];
}

function gone(): Reply {
  throw new ApiProblem(410, 'deprecated_api_endpoint', 'datacenters were removed', {
    announcement: 'https://docs.hetzner.cloud/changelog#2026-06-02-datacenters-deprecated',
  });
}

export const locations = fixedList('locations', 'location', allLocations);
export const serverTypes = fixedList('server_types', 'server_type', allTypes);

/** Removed from the API in 2026. */
export const datacenters: readonly Route[] = [
  { method: 'GET', template: '/datacenters', answer: gone },
  { method: 'GET', template: '/datacenters/{id}', answer: gone },
];
