/**
 * Every key a log line may carry, with what it means. The log reference in the docs is generated from this table and
 * a spec asserts that no line has another key: operators observe the system by these names.
 */
export const logKeys = {
  controller: 'controller that acts: node, lifecycle, route or loadBalancer',
  reconcileID: 'id of one run of one key; ties the lines of a run together',
  reason: 'why the run or the change was made',
  attempt: 'how many runs of this key failed in a row before this one',
  after: 'ms until the next try',
  durationMs: 'how long it took, in ms',
  node: 'name of the Kubernetes Node',
  key: 'work queue key',
  resource: 'Kubernetes resource of a list or watch',
  rv: 'Kubernetes resourceVersion',
  uid: 'uid of a Kubernetes object',
  count: 'how many objects the line speaks of',
  providerID: 'provider ID of the Node',
  serverID: 'id of the Hetzner server',
  service: 'namespace/name of the Kubernetes Service',
  loadBalancerID: 'id of the Hetzner load balancer',
  certificateID: 'id of the Hetzner certificate',
  subject: 'what a change of a load balancer is about: a port, a target, a network',
  networkID: 'id of the Hetzner network',
  network: 'name of the Hetzner network',
  destination: 'destination CIDR of a route',
  gateway: 'gateway address of a route',
  previousGateway: 'gateway the route had before',
  addresses: 'addresses of a Node, as type=address',
  labels: 'labels written to a Node',
  actionID: 'id of a Hetzner action',
  method: 'HTTP method',
  route: 'route template of an HTTP request, ids replaced by -',
  statusCode: 'HTTP status code',
  correlationID: 'X-Correlation-Id of a Hetzner answer, for their support',
  budgetRemaining: 'requests left in the Hetzner quota',
  budgetLimit: 'size of the Hetzner quota, requests an hour',
  identity: 'identity in the leader election',
  leader: 'identity that holds the lease',
  lease: 'namespace/name of the lease',
  version: 'version of this program',
  nodeVersion: 'version of the Node.js runtime',
  settings: 'effective settings that differ from the defaults, each with its source; secrets redacted',
  setting: 'name of one setting',
  source: 'where a setting came from',
  hint: 'what can be done about it',
  address: 'listen address',
  check: 'name of a health check',
  signal: 'signal that was received',
  exitCode: 'exit code of the process',
  body: 'request or answer body in HCLOUD_DEBUG traces, secrets redacted',
  headers: 'request or answer headers in HCLOUD_DEBUG traces, secrets redacted',
  err: 'error as {type, message, code?, status?, details?, stack?, cause?}',
} as const;

export type LogKey = keyof typeof logKeys;

/** Fields of one log line. Values are plain JSON; `err` may be an Error, it is serialised by the logger. */
export type LogFields = { readonly [K in LogKey]?: unknown };
