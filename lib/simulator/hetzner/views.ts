import type { ActionRecord } from './actions.ts';
import { includedTraffic } from './catalogue/server-types.ts';
import { type Holder, isShown, membersOf, type NetworkRecord, type ServerRecord } from './records.ts';

/** Records as the API shows them, complete by Hetzner's OpenAPI document. */

/** RFC 3339, whole seconds. */
export const timestamp = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

export function actionView(action: ActionRecord, at: number): unknown {
  const { id, command, started, ends, resources, done } = action;
  const share = done || ends === started ? 1 : (at - started) / (ends - started);
  return {
    id,
    command,
    status: done ? (action.error === undefined ? 'success' : 'error') : 'running',
    progress: done ? 100 : Math.max(0, Math.min(99, Math.floor(share * 100))),
    started: timestamp(started),
    finished: done ? timestamp(ends) : null,
    resources,
    error: (done && action.error) || null,
  };
}

export const reverseName = (ip: string): string => `static.${ip.split('.').reverse().join('.')}.clients.your-server.de`;

const imageView = (name: string, server: ServerRecord): unknown => ({
  id: 114_690_387,
  type: 'system',
  status: 'available',
  name,
  description: name,
  image_size: null,
  disk_size: 5,
  created: '2024-04-25T13:26:27Z',
  created_from: null,
  bound_to: null,
  os_flavor: ['ubuntu', 'debian', 'fedora', 'rocky', 'alma', 'opensuse'].find(one => name.startsWith(one)) ?? 'unknown',
  os_version: name.split('-')[1] ?? null,
  rapid_deploy: true,
  protection: { delete: false },
  deprecated: null,
  deleted: null,
  labels: {},
  architecture: server.type.architecture,
});

/** `loadBalancers` are the ids of those that have it as a target. */
export function serverView(server: ServerRecord, locked: boolean, loadBalancers: readonly number[]): unknown {
  const { id, name, status, type, location, labels, ipv4, ipv6 } = server;
  return {
    id,
    name,
    status,
    created: timestamp(server.created),
    public_net: {
      ipv4: ipv4 === undefined ? null : { ...ipv4, blocked: false, dns_ptr: reverseName(ipv4.ip) },
      ipv6: ipv6 === undefined ? null : { ...ipv6, blocked: false, dns_ptr: [] },
      floating_ips: [],
      firewalls: [],
    },
    private_net: server.attachments
      .filter(isShown)
      .map(one => ({ network: one.network, ip: one.ip, alias_ips: one.aliasIPs, mac_address: one.mac })),
    server_type: type,
    location,
    image: imageView(server.image, server),
    iso: null,
    rescue_enabled: false,
    locked,
    backup_window: null,
    outgoing_traffic: 0,
    ingoing_traffic: 0,
    included_traffic: includedTraffic,
    protection: { delete: server.protected, rebuild: server.protected },
    labels,
    volumes: [],
    load_balancers: loadBalancers,
    primary_disk_size: type.disk,
    placement_group: null,
  };
}

/** `isAttached` tells of which members the attachment is there. */
export function networkView(network: NetworkRecord, isAttached: (member: Holder) => boolean): unknown {
  const attached = (type: Holder['type']): number[] =>
    membersOf(network, type)
      .filter(isAttached)
      .map(one => one.id);
  return {
    id: network.id,
    name: network.name,
    ip_range: network.ipRange,
    subnets: network.subnets.filter(isShown).map(one => ({
      type: one.type,
      ip_range: one.ipRange,
      network_zone: one.zone,
      gateway: one.gateway,
      vswitch_id: one.vSwitch,
    })),
    routes: network.routes.filter(isShown).map(({ destination, gateway }) => ({ destination, gateway })),
    servers: attached('server'),
    load_balancers: attached('load_balancer'),
    protection: { delete: network.protected },
    labels: network.labels,
    created: timestamp(network.created),
    expose_routes_to_vswitch: network.exposeRoutes,
  };
}
