import { optionalString } from '../body.ts';
import { ApiProblem } from '../problem.ts';
import type { RobotServerRecord, RobotState } from '../robot-state.ts';
import type { Call, Route } from '../router.ts';

/** Calls of the Robot web service: servers and their reset. Bodies are forms. */

const invalid = (field: string, kind: 'missing' | 'invalid'): ApiProblem =>
  new ApiProblem(400, 'INVALID_INPUT', 'invalid input', { missing: null, invalid: null, [kind]: [field] });

const listView = (server: RobotServerRecord) => ({
  server_ip: server.ipv4,
  server_ipv6_net: server.ipv6Net,
  server_number: server.number,
  server_name: server.name,
  product: server.product,
  dc: server.dc,
  traffic: 'unlimited',
  status: 'ready',
  cancelled: false,
  paid_until: '2026-12-31',
  ip: server.ipv4 === null ? null : [server.ipv4],
  subnet: server.subnet,
  linked_storagebox: null,
});

const singleView = (server: RobotServerRecord) => ({
  ...listView(server),
  reset: server.resetTypes.length > 0,
  rescue: true,
  vnc: true,
  windows: false,
  plesk: false,
  cpanel: false,
  wol: true,
  hot_swap: false,
});

const resetView = ({ ipv4, ipv6Net, number, resetTypes }: RobotServerRecord) => ({
  server_ip: ipv4,
  server_ipv6_net: ipv6Net,
  server_number: number,
  type: resetTypes,
});

/** What a button does to a machine in this state. */
const pressed = (type: string, status: string): string => {
  if (type === 'power_long') return 'shut off';
  if (type === 'power') return status === 'shut off' ? 'running' : 'shut off';
  return status;
};

/** Routes below the prefix of Robot. */
export function robot(state: RobotState): readonly Route[] {
  /** By its number or, as older clients do, by its main IPv4 address. */
  const theServer = ({ params }: Call): RobotServerRecord => {
    const server =
      state.servers.get(Number(params.number)) ?? state.servers.values().find(one => one.ipv4 === params.number);
    if (server === undefined) throw new ApiProblem(404, 'SERVER_NOT_FOUND', 'server not found');
    return server;
  };
  const withReset = (call: Call): RobotServerRecord => {
    const server = theServer(call);
    if (server.resetTypes.length === 0) throw new ApiProblem(404, 'RESET_NOT_AVAILABLE', 'reset not available');
    return server;
  };
  return [
    {
      method: 'GET',
      template: '/server',
      answer: () => {
        if (state.servers.size === 0) throw new ApiProblem(404, 'SERVER_NOT_FOUND', 'no server found');
        return { status: 200, body: [...state.servers.values()].map(one => ({ server: listView(one) })) };
      },
    },
    {
      method: 'GET',
      template: '/server/{number}',
      answer: call => ({ status: 200, body: { server: singleView(theServer(call)) } }),
    },
    {
      method: 'POST',
      template: '/server/{number}',
      answer: call => {
        const server = theServer(call);
        const name = optionalString(call.body, 'server_name');
        if (name === undefined) throw invalid('server_name', 'missing');
        if (!/^[\w.-]{1,100}$/.test(name)) throw invalid('server_name', 'invalid');
        server.name = name;
        return { status: 200, body: { server: singleView(server) } };
      },
    },
    {
      method: 'GET',
      template: '/reset',
      answer: () => {
        const found = [...state.servers.values()].filter(one => one.resetTypes.length > 0);
        if (found.length === 0) throw new ApiProblem(404, 'NOT_FOUND', 'not found');
        return { status: 200, body: found.map(one => ({ reset: resetView(one) })) };
      },
    },
    {
      method: 'GET',
      template: '/reset/{number}',
      answer: call => {
        const server = withReset(call);
        return { status: 200, body: { reset: { ...resetView(server), operating_status: server.operatingStatus } } };
      },
    },
    {
      method: 'POST',
      template: '/reset/{number}',
      answer: call => {
        const server = withReset(call);
        const type = optionalString(call.body, 'type');
        if (type === undefined) throw invalid('type', 'missing');
        if (!server.resetTypes.includes(type)) throw invalid('type', 'invalid');
        server.operatingStatus = pressed(type, server.operatingStatus);
        return { status: 200, body: { reset: { ...resetView(server), type } } };
      },
    },
  ];
}
