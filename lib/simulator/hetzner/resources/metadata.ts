import { includes, knownCidr, parseIPv4 } from '../addresses.ts';
import { oldZone } from '../catalogue/locations.ts';
import { notFound } from '../problem.ts';
import { isShown, type ServerRecord } from '../records.ts';
import type { Call, Route } from '../router.ts';
import type { World } from '../world.ts';

/** The metadata service as one server sees it (facts, section 12): plain text and YAML, no authentication. */

function privateNetworks(world: World, server: ServerRecord): string {
  const entries = server.attachments.filter(isShown).map((one, index) => {
    const network = world.networks.get(one.network);
    const subnet = network?.subnets.find(range => includes(knownCidr(range.ipRange), parseIPv4(one.ip) ?? -1));
    const fields = [
      `ip: ${one.ip}`,
      `alias_ips: [${one.aliasIPs.join(', ')}]`,
      `interface_num: ${index + 1}`,
      `mac_address: ${one.mac}`,
      `network_id: ${one.network}`,
      `network_name: ${network?.name}`,
      `network: ${network?.ipRange}`,
      `subnet: ${subnet?.ipRange}`,
      `gateway: ${subnet?.gateway}`,
    ];
    return `- ${fields.join('\n  ')}\n`;
  });
  return entries.length === 0 ? '[]\n' : entries.join('');
}

const values: Readonly<Record<string, (world: World, server: ServerRecord) => string>> = {
  'availability-zone': (_, server) => oldZone(server.location.name),
  hostname: (_, server) => server.name,
  'instance-id': (_, server) => String(server.id),
  'public-ipv4': (_, server) => server.ipv4?.ip ?? '',
  region: (_, server) => server.location.network_zone,
};

/** Routes below `/hetzner/v1/metadata`; `serverId` says which server asks. */
export function metadata(serverId: () => number | undefined): readonly Route[] {
  const text = (path: string, value: (world: World, server: ServerRecord) => string): Route => ({
    method: 'GET',
    template: path,
    answer: (call: Call) => {
      const server = call.world.servers.get(serverId() ?? 0);
      if (server === undefined) throw notFound('metadata');
      return { status: 200, body: value(call.world, server) };
    },
  });
  const summary = (world: World, server: ServerRecord): string =>
    Object.entries(values)
      .map(([name, value]) => `${name}: ${value(world, server)}\n`)
      .join('');
  return [
    text('', summary),
    text('/private-networks', privateNetworks),
    ...Object.entries(values).map(([name, value]) => text(`/${name}`, value)),
  ];
}
