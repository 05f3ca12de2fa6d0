import type { Settings } from '../../settings/settings.ts';
import type { AnnotationName, AnnotationValues } from './annotations.ts';

/** What is wanted of one load balancer: annotations, and behind them the defaults of the settings. */
export interface LoadBalancerConfig {
  readonly id: number | undefined;
  readonly name: string | undefined;
  readonly type: string | undefined;
  /** At most one of the two. */
  readonly location: string | undefined;
  readonly networkZone: string | undefined;
  readonly algorithm: 'round_robin' | 'least_connections' | undefined;
  readonly publicInterface: boolean | undefined;
  readonly privateIngress: boolean;
  readonly usePrivateIP: boolean;
  readonly privateIPv4: string | undefined;
  readonly privateSubnet: string | undefined;
  readonly ipv6Ingress: boolean;
  readonly hostname: string | undefined;
  readonly rdns: { readonly ipv4: string | undefined; readonly ipv6: string | undefined };
  readonly nodeSelector: string | undefined;
  readonly listener: AnnotationValues;
  readonly proxyProtocol: boolean | undefined;
  /** Seconds; undefined leaves it to the API. */
  readonly healthCheck: {
    readonly interval: number | undefined;
    readonly timeout: number | undefined;
    readonly retries: number | undefined;
  };
}

/**
 * Puts the annotations of a Service on top of the defaults (HCLOUD_LOAD_BALANCERS_*). A location wins over a zone. An
 * annotation with a wrong value was meant to say something else than the default, so the default does not count then:
 * what can be left as it is, is left; addresses that somebody may have wanted to hide are not shown.
 */
export function configOf(
  values: AnnotationValues,
  defaults: Settings['loadBalancers'],
  wrong: readonly AnnotationName[] = [],
): LoadBalancerConfig {
  const or = <K extends AnnotationName, T>(name: K, fallback: T, ifWrong: T): NonNullable<AnnotationValues[K]> | T =>
    values[name] ?? (wrong.includes(name) ? ifWrong : fallback);
  const unless = <K extends AnnotationName, T>(name: K, fallback: T) => or<K, T | undefined>(name, fallback, undefined);
  const location = values.location ?? defaults.location ?? '';
  const disablePublic = unless('disable-public-network', defaults.disablePublicNetwork);
  const seconds = (ms: number | undefined): number | undefined =>
    ms === undefined ? undefined : Math.floor(ms / 1_000);
  return {
    id: values.id,
    name: values.name,
    type: values.type ?? defaults.type,
    location: location === '' ? undefined : location,
    networkZone: location === '' ? (values['network-zone'] ?? defaults.networkZone) : undefined,
    algorithm: unless('algorithm-type', defaults.algorithmType),
    publicInterface: disablePublic === undefined ? undefined : !disablePublic,
    privateIngress: !or('disable-private-ingress', defaults.disablePrivateIngress, true),
    usePrivateIP: values['use-private-ip'] ?? defaults.usePrivateIP,
    privateIPv4: values['private-ipv4'],
    privateSubnet: unless('private-subnet-ip-range', defaults.privateSubnetIPRange),
    ipv6Ingress: !or('ipv6-disabled', defaults.disableIPv6, true),
    hostname: values.hostname,
    rdns: { ipv4: values['ipv4-rdns'], ipv6: values['ipv6-rdns'] },
    nodeSelector: values['node-selector'],
    listener: values,
    proxyProtocol: unless('uses-proxyprotocol', defaults.usesProxyProtocol),
    healthCheck: {
      interval: unless('health-check-interval', seconds(defaults.healthCheckInterval)),
      timeout: unless('health-check-timeout', seconds(defaults.healthCheckTimeout)),
      retries: unless('health-check-retries', defaults.healthCheckRetries),
    },
  };
}
