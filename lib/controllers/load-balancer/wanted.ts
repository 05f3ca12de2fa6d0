import type { EventReason } from '../../kubernetes/event-reasons.ts';
import { parseLabelSelector } from '../../kubernetes/label-selector.ts';
import type { KubeService } from '../../kubernetes/types.ts';
import { nearestName } from '../../settings/nearest.ts';
import type { Settings } from '../../settings/settings.ts';
import { type AnnotationName, annotationPrefix, annotations, readAnnotations } from './annotations.ts';
import { configOf, type LoadBalancerConfig } from './config.ts';

/** What users should be told: an event with this reason on the Service, or on a node. */
export interface Notice {
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason;
  readonly message: string;
  /** Name of the node it is about; undefined for the Service. */
  readonly node?: string;
}

export const warning = (reason: EventReason, message: string): Notice => ({ type: 'Warning', reason, message });

export interface Wanted {
  readonly config: LoadBalancerConfig;
  readonly notices: readonly Notice[];
  readonly held: Held;
}

/** Parts of which nobody can tell what is wanted, because an annotation is wrong; they stay as they are. */
export interface Held {
  readonly targets: boolean;
  readonly attachment: boolean;
  /** No load balancer is made or taken over. */
  readonly creation: boolean;
  /** Listeners only follow their node ports. */
  readonly listeners: boolean;
  /** None is added. */
  readonly newListeners: boolean;
  /** Health checks only follow their node ports. */
  readonly healthCheck: boolean;
  /** The status stays as it is. */
  readonly ingress: boolean;
  /** The status shows private addresses if it does already. */
  readonly privateIngress: boolean;
  /** The status shows IPv6 addresses if it does already. */
  readonly ipv6Ingress: boolean;
}

const dependents: { readonly [K in keyof Held]: readonly AnnotationName[] } = {
  targets: ['use-private-ip', 'node-selector'],
  attachment: ['private-ipv4', 'private-subnet-ip-range'],
  creation: [
    'id',
    'use-private-ip',
    'node-selector',
    'private-ipv4',
    'private-subnet-ip-range',
    'disable-public-network',
  ],
  listeners: ['protocol', 'certificate-type', 'http-redirect-http'],
  newListeners: ['protocol', 'certificate-type', 'http-redirect-http', 'uses-proxyprotocol'],
  healthCheck: ['health-check-protocol', 'health-check-port'],
  ingress: ['hostname'],
  privateIngress: ['disable-private-ingress'],
  ipv6Ingress: ['ipv6-disabled'],
};

/** Reads what a Service wants, and all that is wrong or not supported about it. */
export function wantedOf(
  service: KubeService,
  settings: Settings['loadBalancers'],
  networkID: number | undefined,
): Wanted {
  const { values, problems, wrong, unknown } = readAnnotations(service.annotations);
  const config = configOf(values, settings, wrong);
  const notices = problems.map(problem => warning('InvalidAnnotation', problem));
  const selectorIsWrong = config.nodeSelector !== undefined && parseLabelSelector(config.nodeSelector) === undefined;
  if (selectorIsWrong) {
    const text = JSON.stringify(config.nodeSelector?.slice(0, 100));
    notices.push(
      warning('InvalidAnnotation', `annotation ${annotationPrefix}node-selector: ${text} ${selectorSyntax}`),
    );
  }
  const privateWithoutNetwork = config.usePrivateIP && networkID === undefined;
  if (privateWithoutNetwork) {
    notices.push(warning('SyncLoadBalancerFailed', 'use-private-ip needs a network: set HCLOUD_NETWORK'));
  }
  if (unknown.length > 0) notices.push(warning('UnknownAnnotation', unknownMessage(unknown)));
  notices.push(...unsupported(service));
  const holds = (part: keyof Held): boolean => wrong.some(name => dependents[part].includes(name));
  const unknownTargets = selectorIsWrong || privateWithoutNetwork;
  return {
    config,
    notices,
    held: {
      targets: unknownTargets || holds('targets'),
      attachment: holds('attachment'),
      creation: unknownTargets || holds('creation'),
      listeners: holds('listeners'),
      newListeners: holds('newListeners'),
      healthCheck: holds('healthCheck'),
      ingress: holds('ingress'),
      privateIngress: holds('privateIngress'),
      ipv6Ingress: holds('ipv6Ingress'),
    },
  };
}

const selectorSyntax = 'is no label selector, such as role=edge,zone in (a,b),!spot';

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
