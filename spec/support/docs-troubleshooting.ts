import { renderTable } from '../../lib/settings/reference.ts';
import { logLineKinds } from './docs-logs.ts';

interface Advice {
  /** What the line tells of, and what the controller does about it by itself. */
  readonly meaning: string;
  /** What is left to do for whoever reads it. */
  readonly toDo: string;
}

const nothing = 'Nothing, unless it repeats for longer than an outage would explain: then `err` says what is refused.';

/** For each line at warn and error. A spec sees to it that none is missing and none too many. */
export const advice: Readonly<Record<string, Advice>> = {
  'Failed to read the token again, using the one before': {
    meaning: 'The file of the token changed and cannot be used. Requests go on with the token that was read before.',
    toDo: 'Mend the file that `setting` names: one line, 64 letters and digits, readable for user 65532.',
  },
  'Failed to read the Robot login again, using the one before': {
    meaning:
      'The file of the Robot user or password changed and cannot be used. Requests go on with the login read before.',
    toDo: 'Mend the file that `setting` names. Both files have to change together.',
  },
  'Failed to reconcile, waiting for a change': {
    meaning: 'Trying again would be refused again. The object is looked at when it changes.',
    toDo: 'Correct what `err` names: mostly an annotation of the Service in `key`. The same is in an event on the object.',
  },
  'Left out a way between networks': {
    meaning:
      'A gateway of `HCLOUD_NETWORK_GATEWAYS` can not be used, so pods do not get from `network` to that neighbour. All other routes are made.',
    toDo: 'Correct what `hint` names: the address lies in the range of its network, the neighbour has a range in `HCLOUD_NETWORK_POD_CIDRS`.',
  },
  'Had the token refused by Hetzner': {
    meaning: 'Hetzner answered 401 or 403. Nothing is deleted or tainted; each need asks again, with a pause.',
    toDo: 'Give it a valid token with the right to read and write, of the project of this cluster. A file is read again by itself.',
  },
  'Stopped asking Robot, which refused the login': {
    meaning: 'Robot blocks an address at the third wrong login, so it is not asked again for 15 minutes.',
    toDo: 'Correct `ROBOT_USER` and `ROBOT_PASSWORD` (user of the web service, not of the console). Changed files are used at once.',
  },
  'Stopped on an error that waiting cannot mend': {
    meaning: 'A setting is wrong, or what it names does not exist. The process ends with an exit code other than 0.',
    toDo: 'Correct the setting that `err` names.',
  },
  'Stopped on an unexpected error': {
    meaning: 'A defect of this program. It ends, and Kubernetes starts it again.',
    toDo: 'Report it with the line.',
  },
  'Stopped on an unhandled rejection': {
    meaning: 'A defect of this program. It ends, and Kubernetes starts it again.',
    toDo: 'Report it with the line.',
  },
  'Left the certificate of the Kubernetes API unverified': {
    meaning: 'The kubeconfig says `insecure-skip-tls-verify`: whoever answers is believed.',
    toDo: 'Put the CA certificate into the kubeconfig instead.',
  },
  'Lost the watch of the Kubernetes API, will try again': {
    meaning:
      'The API server is away or refuses. What is known stays in use for reading; nothing is decided to be gone.',
    toDo: 'See to the API server; with status 403 to the rights of the ServiceAccount.',
  },
  'Held back all pod CIDRs, as a node can not be written to': {
    meaning:
      'A node that has no pod CIDR refuses each write, as by an admission webhook. A write of the leader before may still land on it, so nobody can know which blocks are free. Any change of the Node ends this, such as the report of its kubelet within five minutes.',
    toDo: 'Let the controller patch this node, or delete the Node object where its kubelet does not report any more.',
  },
  'Found no free pod CIDR': {
    meaning:
      'All of `range` is taken. Nodes wait, each with the event `CIDRNotAvailable`, and get what becomes free at once; other ranges go on.',
    toDo: 'Delete Nodes that are no more, make the range wider, or choose smaller blocks by `HCLOUD_NODE_CIDR_MASK_SIZE`: nodes keep what they have.',
  },
  'Found no range of pod CIDRs for a network': {
    meaning: '`HCLOUD_NETWORK_POD_CIDRS` is set and lacks a network that nodes live in. They wait for their pod CIDRs.',
    toDo: 'Add the network to the setting.',
  },
  'Found nodes with overlapping pod CIDRs': {
    meaning:
      'Somebody else gave two nodes the same addresses: another allocator, or a Node made by hand. Neither is changed, for a pod CIDR cannot be.',
    toDo: 'See that nobody else allocates (`--allocate-node-cidrs=false` of kube-controller-manager), drain one of them, delete its Node and restart its kubelet.',
  },
  'Failed to list the nodes before allocating pod CIDRs, will try again': {
    meaning: 'Nothing is allocated before the list is there: what the leader before has done would not be known.',
    toDo: nothing,
  },
  'Failed to list the networks, will try again': {
    meaning: 'Networks that were made or renamed since are not known yet.',
    toDo: nothing,
  },
  'Failed to reconcile, will try again': {
    meaning: 'One object could not be brought where it should be. `attempt` counts the failures, `after` is the pause.',
    toDo: nothing,
  },
  'Left node alone': {
    meaning: 'The provider ID of the node is not one of Hetzner, or is none that can be read: nothing is done to it.',
    toDo: 'For a machine of another provider nothing. Else see that only one controller sets provider IDs (with k3s: `--disable-cloud-controller`), and have the node join anew.',
  },
  'Had a change refused by Hetzner, as the token can only read': {
    meaning: 'The token is good for reading only: nodes are initialised, but no route and no load balancer is made.',
    toDo: 'Create a token with the permissions Read & Write and put it into the Secret. From a file it is taken over without a restart.',
  },
  'Found the network gone': {
    meaning:
      'The network of `HCLOUD_NETWORK` was deleted while the controller ran. Routes can not be kept, and no load balancer is attached.',
    toDo: 'Make a network of the same name again and attach the servers: it is taken over within five minutes, without a restart. Where `HCLOUD_NETWORK` is an id, set the new one.',
  },
  'Left the networks as they were, which the settings do not fit any more': {
    meaning:
      'Networks were renamed or made so that a setting names one twice, or one that is none of the cluster. The controller goes on with what it knew.',
    toDo: 'Let the settings fit the networks there are: a restart would be refused. The line says what is wrong.',
  },
  'Found a network renamed, and went on with it': {
    meaning:
      'A network of the cluster has another name than before. Its nodes and routes stay as they are for as long as the controller runs.',
    toDo: 'Change the settings that name or describe it, or give it its old name again, before the next start.',
  },
  'Failed to look for the network, will try again': {
    meaning: 'Hetzner did not answer the question whether there is a network of the name again.',
    toDo: nothing,
  },
  'Held back changes, as Hetzner knows no server of this cluster': {
    meaning:
      'Not one server of the nodes is in the project, and no load balancer of its Services, so it may be another one. Load balancers are not made and routes are not deleted until one is.',
    toDo: 'Check that the token in `setting` is for the project of this cluster. Delete the Nodes whose servers are gone.',
  },
  'Kept node, as Hetzner knows no server of this cluster': {
    meaning: 'The node is not ready and its server is not in the list, but neither is any other server of the cluster.',
    toDo: 'Check that the token is for the project of this cluster. Delete the node by hand if its server is gone.',
  },
  'Found the server of a ready node replaced by another of its name': {
    meaning:
      'The server was made anew under the name of the node, whose provider ID still is that of the old one. It has no route and is no target.',
    toDo: 'Delete the Node and restart its kubelet, so that it joins anew.',
  },
  'Kept node, as its server exists though the list lacks it': {
    meaning: 'The list of servers and the server itself contradict each other. The node stays.',
    toDo: 'Nothing. If it repeats, report it to Hetzner with the `correlationID` of the debug lines.',
  },
  'Could not undo change of load balancer': {
    meaning:
      'A change was refused, and so was putting back what it needed out of its way. The next run tries the whole.',
    toDo: 'See the line "Failed to reconcile" of the same Service.',
  },
  'Left certificate that something else uses': {
    meaning: 'A certificate that was replaced is still used by a load balancer that is not ours.',
    toDo: 'Take it from there; it is deleted afterwards.',
  },
  'Found no load balancer to delete': {
    meaning: 'The Service had an address, but the account has no load balancer of it.',
    toDo: 'If it was deleted by hand nothing; else look for it in the project the Service was made with, and delete it there.',
  },
  'Created load balancer without its targets at first, as Hetzner refused them together': {
    meaning: 'One request would have done; it took several. The load balancer is complete.',
    toDo: 'Nothing.',
  },
  'Failed to look for changes of servers, will try again': {
    meaning: 'Addresses and labels of nodes are as fresh as the list before. Nothing is deleted because of it.',
    toDo: nothing,
  },
  'Kept label that was set before': {
    meaning: 'A label that the controller would set has another value. It was not overwritten.',
    toDo: 'Remove the label, if it was not set on purpose, and have the node join anew.',
  },
  'Could not initialise node, waiting for its server': {
    meaning: 'No server has the name of the node, or it is in none of the networks. The node keeps its taint.',
    toDo: 'Give server and node the same name (`--hostname-override` of kubelet), or attach the server to the network that `err` names.',
  },
  'Failed to mark node network unavailable': {
    meaning: 'The route of the node failed, and so did saying so in its condition.',
    toDo: nothing,
  },
  'Failed to reach Hetzner, will try again': {
    meaning: 'The first contact of a term of leadership. Controllers begin when it succeeds.',
    toDo: 'Check the way to api.hetzner.cloud: DNS (with the host network before the CNI: `dnsPolicy`), proxy, firewall.',
  },
  'Skipped the check that this machine is in the network, as the metadata service did not tell': {
    meaning: 'Whether the controller runs inside of the network is not known. It goes on.',
    toDo: 'Outside of Hetzner Cloud set `HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK=true`.',
  },
  'Held back periodic work, Hetzner quota ran low': {
    meaning: 'Something uses the quota of the project up. Joining nodes, routes and load balancers go first.',
    toDo: 'Find the other users of the quota: Terraform, autoscalers, further clusters. A project of its own has its own quota.',
  },
  'Paused requests to Hetzner, quota was used up': {
    meaning: 'Hetzner answered 429. Nothing fails; everything waits for the time in `after`.',
    toDo: 'Find the other users of the quota: Terraform, autoscalers, further clusters.',
  },
  'Paused requests to Robot, its rate limit is reached': {
    meaning: 'Robot allows only so many requests an hour of each kind. Nothing fails; it waits.',
    toDo: 'Find the other users of the login, or raise `ROBOT_CACHE_TIMEOUT`.',
  },
  'Was not allowed to watch the lease': {
    meaning: 'The right `watch` on leases is missing. The lease is read every few seconds instead.',
    toDo: 'Grant the Role of the chart.',
  },
  'Lost the watch of the lease': {
    meaning: 'The API server is away. The leader goes on until the lease could lapse.',
    toDo: nothing,
  },
  'Could not reach the lease': { meaning: 'Nobody can be elected for as long as it lasts.', toDo: nothing },
  'Was not allowed to record events': {
    meaning: 'Everything works, but nobody is told by events.',
    toDo: 'Grant create and patch of events in all namespaces, as the ClusterRole of the chart does.',
  },
  'Lost the leadership': {
    meaning: 'All work of this process ended, and it stands for election again.',
    toDo: 'After an update nothing. If it repeats, see the lines about the lease before it: a slow API server, a starved CPU.',
  },
  'Could not renew the lease': {
    meaning: 'Writes end before the lease can lapse, unless it is renewed until then.',
    toDo: nothing,
  },
  'Failed health check': {
    meaning:
      'The check in `check` failed after it had passed; `reason` says why. Kubernetes restarts the pod if it lasts.',
    toDo: nothing,
  },
  'Failed to accept a connection': { meaning: 'A connection to a health or metrics port failed.', toDo: nothing },
  'Failed to load new TLS certificate, keeping the old one': {
    meaning: 'The files of the health port changed and do not go together.',
    toDo: 'Mend `--tls-cert-file` and `--tls-private-key-file`: PEM, and key and certificate of one pair.',
  },
  'Was not allowed to look for other instances': {
    meaning: 'Whether another instance looks after the same nodes can not be seen.',
    toDo: 'Grant the right to list leases (the chart does with a selector), or make sure that selectors do not overlap.',
  },
  'Failed to look for other instances, will try again': {
    meaning: 'Whether another instance looks after the same nodes was not seen this time.',
    toDo: nothing,
  },
  'Found the lease with an instance that looks after other nodes': {
    meaning:
      'Two instances with different node selectors have the same lease, so one of them waits for the other, and its nodes are looked after by nobody. While the selector of a Deployment is changed, this is said once and passes.',
    toDo: 'Leave `--leader-elect-resource-name` out, or give each instance a name of its own.',
  },
  'Left nodes to another instance that was there before': {
    meaning: 'Two selectors match the same nodes. The instance of the older lease keeps them.',
    toDo: 'Correct `HCLOUD_SERVER_LABEL_SELECTOR` of one of the two.',
  },
  'Left the route controller idle': {
    meaning: 'A network is set and no `--cluster-cidr`, so no routes are written.',
    toDo: 'Set `--cluster-cidr` (`networking.clusterCIDR`), or switch routes off by `HCLOUD_NETWORK_ROUTES_ENABLED=false`.',
  },
  'Found a token of unusual length': {
    meaning: 'Tokens of Hetzner have 64 characters. It is used as it is.',
    toDo: 'Look for a part that was cut off or quoted.',
  },
  'Ignored the server cache mode': {
    meaning: '`HCLOUD_SERVER_CACHE_MODE` of the peer has no effect: one shared list serves every mode.',
    toDo: 'Take the setting out.',
  },
  'Switched leader election off': {
    meaning: 'Two pods would act at once, also for the moment of an update.',
    toDo: 'Leave out `--leader-elect=false`, or run exactly one pod with the strategy `Recreate`.',
  },
  'Found private targets without a network': {
    meaning: '`HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP` is on and there is no network to have private addresses in.',
    toDo: 'Set `HCLOUD_NETWORK`.',
  },
  'Ignored the gateways between networks': {
    meaning: '`HCLOUD_NETWORK_GATEWAYS` is set, but no routes are written.',
    toDo: 'Switch routes on, with a `--cluster-cidr`, or take the setting out.',
  },
  'Left all controllers idle': {
    meaning: '`--controllers` names only what is not to run, so nothing runs.',
    toDo: 'Add `*`: `*,-route` is all but one.',
  },
  'Left the IPAM controller idle': {
    meaning:
      '`HCLOUD_NODE_IPAM` is on, but `--controllers` names no `node-ipam-controller`: nobody allocates pod CIDRs.',
    toDo: 'Add it to the list, or unset `HCLOUD_NODE_IPAM`.',
  },
  'Ignored an unknown environment variable': {
    meaning: 'A variable begins like one of ours, and there is none of this name.',
    toDo: 'Correct the name; `hint` has the nearest one.',
  },
};

/** Messages at warn and error, in the order of the log reference. */
export const troubles = (): string[] => {
  const loud = logLineKinds().filter(({ level }) => level === 'error' || level === 'warn');
  return [...new Set(loud.map(({ message }) => message))];
};

const symptoms: readonly (readonly [symptom: string, look: string])[] = [
  [
    'A node keeps the taint `node.cloudprovider.kubernetes.io/uninitialized`',
    '"Could not initialise node, waiting for its server" and the events of the node; no line at all: is somebody the leader ("Became the leader")?',
  ],
  [
    'Pods on a node are not reached, `NetworkUnavailable` is True',
    '"Failed to reconcile, will try again" of the controller `route`; "Left the route controller idle"; the event `RouteLimitReached`',
  ],
  [
    'Pods of other networks are not reached ([several networks](networks.md))',
    '"Left out a way between networks"; the event `PodCIDRMisplaced` on nodes; host routes of the nodes and forwarding of the gateway machines are not seen by the controller',
  ],
  [
    'A node has no `spec.podCIDR`',
    '"Began to allocate pod CIDRs" (with `HCLOUD_NODE_IPAM` only), the event `CIDRNotAvailable` on the node; one that waits for its initialisation waits for this, too',
  ],
  [
    'A node whose server is gone stays',
    '"Kept node, as Hetzner knows no server of this cluster", "Left node alone"; a node that is ready is never deleted',
  ],
  [
    'A Service stays `<pending>`',
    '"Failed to reconcile" with its namespace and name in `key`, and the events of the Service; no line: has it another `loadBalancerClass`, or is `HCLOUD_LOAD_BALANCERS_ENABLED` false?',
  ],
  [
    'Targets of a load balancer are unhealthy',
    'Not seen by the controller: a firewall of the servers, the proxy protocol on one side only, or a health check on a port that nothing answers',
  ],
  ['Nothing happens at all', '"Failed to reach Hetzner", "Could not reach the lease", "Paused requests to Hetzner"'],
];

/** The page. */
export const renderTroubleshooting = (): string => `# Troubleshooting by log line

The log is JSON lines; a change is told at \`info\` with its reason, trouble at \`warn\` and \`error\`. To see no more than trouble:

\`\`\`sh
kubectl -n kube-system logs deployment/hcloud-reactive-controller | jq -c 'select(.level == "warn" or .level == "error")'
kubectl -n kube-system logs deployment/hcloud-reactive-controller | jq -c 'select(.node == "worker-1")'   # the story of a node
\`\`\`

Each run and each request is told at \`debug\`: \`logLevel: debug\` in the values of the chart, or the signal SIGUSR2 to a process
that runs. The keys are in [the log reference](logs.md).

## What is seen

${renderTable(
  ['What is seen', 'Look for'],
  symptoms.map(line => [...line]),
)}

## What the lines mean

${renderTable(
  ['Line', 'Meaning', 'What to do'],
  troubles().map(message => [message, advice[message]?.meaning ?? '', advice[message]?.toDo ?? '']),
)}
`;
