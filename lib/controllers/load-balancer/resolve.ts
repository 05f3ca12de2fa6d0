import type { LoadBalancer, ServiceBody, TargetBody } from '../../hetzner/lb-types.ts';
import { everything, parseLabelSelector } from '../../kubernetes/label-selector.ts';
import type { KubeNode, KubeService } from '../../kubernetes/types.ts';
import { nearestName } from '../../settings/nearest.ts';
import type { Settings } from '../../settings/settings.ts';
import type { InstanceLists } from '../instances.ts';
import { isUninitialized } from '../node/plan.ts';
import { type AnnotationName, annotationPrefix, annotations, readAnnotations } from './annotations.ts';
import { configOf, type LoadBalancerConfig } from './config.ts';
import type { DesiredLoadBalancer } from './desired.ts';
import { eligibleNodes } from './eligible-nodes.ts';
import { desiredListeners } from './listeners.ts';
import { type DesiredTarget, desiredTarget } from './targets.ts';

/** What users should be told: an event with this reason on the Service, or on a node. */
export interface Notice {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Name of the node it is about; undefined for the Service. */
  readonly node?: string;
}

export interface Wanted {
  readonly config: LoadBalancerConfig;
  readonly notices: readonly Notice[];
  /** Parts of which nobody can tell what is wanted, because an annotation is wrong; they stay as they are. */
  readonly held: { readonly targets: boolean; readonly listeners: boolean; readonly attachment: boolean };
}

const warning = (reason: string, message: string): Notice => ({ type: 'Warning', reason, message });

const targetAnnotations: readonly AnnotationName[] = ['use-private-ip', 'node-selector'];
const attachmentAnnotations: readonly AnnotationName[] = ['private-ipv4', 'private-subnet-ip-range'];
const isListenerAnnotation = (name: AnnotationName): boolean =>
  /^(?:protocol|uses-proxyprotocol|certificate-type|http-|health-check-)/.test(name);

/** Reads what a Service wants, and all that is wrong or not supported about it. */
export function wantedOf(
  service: KubeService,
  settings: Settings['loadBalancers'],
  networkID: number | undefined,
): Wanted {
  const { values, problems, wrong, unknown } = readAnnotations(service.annotations);
  const config = configOf(values, settings);
  const notices = problems.map(problem => warning('InvalidAnnotation', problem));
  const selectorIsWrong = config.nodeSelector !== undefined && parseLabelSelector(config.nodeSelector) === undefined;
  if (selectorIsWrong) {
    notices.push(
      warning(
        'InvalidAnnotation',
        `annotation ${annotationPrefix}node-selector: ${JSON.stringify(config.nodeSelector)} is no label selector`,
      ),
    );
  }
  const privateWithoutNetwork = config.usePrivateIP && networkID === undefined;
  if (privateWithoutNetwork) {
    notices.push(warning('SyncLoadBalancerFailed', 'use-private-ip needs a network: set HCLOUD_NETWORK'));
  }
  if (unknown.length > 0) notices.push(warning('UnknownAnnotation', unknownMessage(unknown)));
  notices.push(...unsupported(service));
  return {
    config,
    notices,
    held: {
      targets: selectorIsWrong || privateWithoutNetwork || wrong.some(name => targetAnnotations.includes(name)),
      listeners: wrong.some(isListenerAnnotation),
      attachment: wrong.some(name => attachmentAnnotations.includes(name)),
    },
  };
}

function unknownMessage(unknown: readonly string[]): string {
  const texts = unknown.map(name => {
    const nearest = nearestName(name, Object.keys(annotations));
    return `${annotationPrefix}${name}${nearest === undefined ? '' : ` (did you mean ${nearest}?)`}`;
  });
  return `These annotations are not known and have no effect: ${texts.join(', ')}`;
}

/** Fields of a Service that a load balancer of Hetzner can't honour. */
function unsupported({ sourceRanges, sessionAffinity }: KubeService): Notice[] {
  const notices: Notice[] = [];
  if (sourceRanges.length > 0) {
    notices.push(
      warning(
        'UnsupportedServiceField',
        'loadBalancerSourceRanges is not enforced: load balancers of Hetzner have no firewall',
      ),
    );
  }
  if (sessionAffinity !== '' && sessionAffinity !== 'None') {
    notices.push(
      warning(
        'UnsupportedServiceField',
        'sessionAffinity has no effect in the load balancer; http-sticky-sessions does that for http',
      ),
    );
  }
  return notices;
}

export interface DesiredInput {
  readonly service: KubeService;
  readonly wanted: Wanted;
  readonly nodes: readonly KubeNode[];
  readonly lists: InstanceLists;
  readonly networkID: number | undefined;
  readonly robotEnabled: boolean;
  readonly certificates: readonly number[];
  /** The load balancer as it is; undefined before its creation. */
  readonly present: LoadBalancer | undefined;
}

export interface DesiredResult {
  readonly desired: DesiredLoadBalancer;
  readonly notices: readonly Notice[];
}

/** The load balancer a Service should have. Held parts are taken from what is there. */
export function desiredLoadBalancer(input: DesiredInput): DesiredResult {
  const { service, wanted, networkID, present } = input;
  const { config, held } = wanted;
  const { targets, kept, notices } = held.targets ? presentTargets(present) : nodeTargets(input);
  const { listeners, problems } = held.listeners
    ? { listeners: [], problems: [] }
    : desiredListeners(service, config, input.certificates);
  const heldPorts = held.listeners
    ? (present?.services ?? []).map(({ listenPort }) => listenPort)
    : heldByProblem(service, listeners);
  const attachment =
    networkID === undefined || (held.attachment && present === undefined)
      ? undefined
      : { networkID, ip: held.attachment ? undefined : config.privateIPv4, subnet: config.privateSubnet };
  return {
    desired: {
      owner: service.uid,
      name: config.name,
      type: config.type,
      algorithm: config.algorithm,
      publicInterface: config.publicInterface,
      rdns: config.rdns,
      attachment,
      listeners,
      heldPorts,
      targets,
      keptTargets: kept,
    },
    notices: [
      ...notices,
      ...problems.map(problem =>
        warning(
          problem.includes('is not supported') ? 'UnsupportedProtocolConfigured' : 'SyncLoadBalancerFailed',
          problem,
        ),
      ),
    ],
  };
}

/** A TCP port that can't be had right now keeps the listener it has, unless the API needs the port for a redirect. */
function heldByProblem(service: KubeService, listeners: readonly ServiceBody[]): number[] {
  const redirects = listeners.some(({ http }) => http?.redirectHTTP === true);
  return service.ports
    .filter(({ protocol, port }) => protocol === 'TCP' && !(port === 80 && redirects))
    .map(({ port }) => port)
    .filter(port => listeners.every(({ listenPort }) => listenPort !== port));
}

const presentTargets = (present: LoadBalancer | undefined) => ({
  targets: [] as TargetBody[],
  kept: (present?.targets ?? []).flatMap((target): TargetBody[] => {
    if (target.type === 'label_selector') return [];
    if (target.type === 'ip') return [{ type: 'ip', ip: target.ip }];
    return [{ type: 'server', serverID: target.serverID, usePrivateIP: target.usePrivateIP }];
  }),
  notices: [] as Notice[],
});

function nodeTargets({ wanted, nodes, lists, networkID, robotEnabled }: DesiredInput) {
  const { config } = wanted;
  const selector =
    config.nodeSelector === undefined ? everything : (parseLabelSelector(config.nodeSelector) ?? everything);
  // A node that is only just joining becomes a target once it is initialised, without a word before.
  const known = nodes.filter(node => node.providerID !== '' || !isUninitialized(node));
  const eligible = eligibleNodes(known, selector);
  const rules = { usePrivateIP: config.usePrivateIP, networkID, robotEnabled };
  const results = [...eligible]
    .sort((a, b) => a.creationTimestamp - b.creationTimestamp || (a.name < b.name ? -1 : 1))
    .map(node => desiredTarget(node, lists, rules));
  const skipped = results.filter((r): r is DesiredTarget & { kind: 'skip' } => r.kind === 'skip');
  const notices: Notice[] = skipped.map(({ node, reason, problem }) => ({
    ...warning(reason, `Not a target: ${problem}`),
    node,
  }));
  if (eligible.length === 0) {
    notices.push(
      warning(
        'UnAvailableLoadBalancer',
        `There are no nodes that can be targets; nodes with the label node.kubernetes.io/exclude-from-external-load-balancers are none${config.nodeSelector === undefined ? '' : `, nor those outside of node-selector ${config.nodeSelector}`}`,
      ),
    );
  } else if (skipped.length > 0) {
    notices.push(
      warning(
        'SyncLoadBalancerFailed',
        `${skipped.length} of ${eligible.length} nodes are not targets: ${skipped
          .map(s => s.problem)
          .slice(0, 5)
          .join('; ')}`,
      ),
    );
  }
  return {
    targets: results.flatMap(r => (r.kind === 'target' ? [r.target] : [])),
    kept: skipped.flatMap(({ keep }) => (keep === undefined ? [] : [keep])),
    notices,
  };
}
