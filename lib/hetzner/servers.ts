import type { Cloud } from './cloud.ts';
import { createServerList, type ServerList } from './server-list.ts';
import { createSharedList, type SharedList, type SharedListTiming } from './shared-list.ts';

export type { ServerList } from './server-list.ts';

export interface ServersOptions extends SharedListTiming {
  readonly cloud: Pick<Cloud, 'listServers'>;
}

/** All servers of the project. */
export type Servers = SharedList<ServerList>;

export const createServers = ({ cloud, ...timing }: ServersOptions): Servers =>
  createSharedList({ ...timing, fetch: cloud.listServers, build: createServerList });
