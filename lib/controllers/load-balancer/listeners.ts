import type { HTTPOptions, ServiceBody } from '../../hetzner/lb-types.ts';
import type { KubeService, ServicePort } from '../../kubernetes/types.ts';
import type { LoadBalancerConfig } from './config.ts';

export interface DesiredListeners {
  /** Fields that are undefined are left to the API, or as they are. */
  readonly listeners: readonly ServiceBody[];
  readonly problems: readonly string[];
}

/** The path kube-proxy answers on healthCheckNodePort of a Service with externalTrafficPolicy Local. */
const localHealthPath = '/healthz';

/**
 * Listeners of a Service: one for each TCP port. A port that can't be had is left out with a problem that names it, and
 * the others go on.
 *
 * @param certificates ids for https listeners; empty when none are known
 */
export function desiredListeners(
  service: KubeService,
  config: LoadBalancerConfig,
  certificates: readonly number[],
): DesiredListeners {
  const problems: string[] = [];
  const protocol = config.listener.protocol ?? 'tcp';
  const redirects = config.listener['http-redirect-http'] === true && protocol === 'https';
  const ports = service.ports.filter(port => {
    const problem = problemOf(port, redirects && service.ports.length > 1);
    if (problem !== undefined) problems.push(problem);
    return problem === undefined;
  });
  if (protocol === 'https' && ports.length > 0 && certificates.length === 0) {
    problems.push('https needs a certificate: set http-certificates, or certificate-type managed with its domains');
    return { listeners: [], problems };
  }
  const listeners = ports.map(port => ({
    listenPort: port.port,
    destinationPort: port.nodePort,
    protocol,
    ...(config.proxyProtocol !== undefined && { proxyProtocol: config.proxyProtocol }),
    ...(protocol !== 'tcp' && { http: httpOf(config, protocol, port, certificates) }),
    healthCheck: healthCheckOf(service, config, protocol, port),
  }));
  return { listeners, problems };
}

function problemOf(port: ServicePort, redirectTakes80: boolean): string | undefined {
  if (port.protocol !== 'TCP')
    return `port ${port.port}: ${port.protocol} is not supported by load balancers of Hetzner`;
  if (port.nodePort === 0) {
    return `port ${port.port} has no node port (allocateLoadBalancerNodePorts: false), which the load balancer needs`;
  }
  if (port.port === 80 && redirectTakes80) return 'port 80 is taken by http-redirect-http of the https port';
  return undefined;
}

/** Only what has an annotation is wanted; redirects belong to port 443, where the API has them. */
function httpOf(
  { listener }: LoadBalancerConfig,
  protocol: 'http' | 'https',
  port: ServicePort,
  certificates: readonly number[],
): Partial<HTTPOptions> {
  const cookieName = listener['http-cookie-name'];
  const cookieLifetime = listener['http-cookie-lifetime'];
  const stickySessions = listener['http-sticky-sessions'];
  const timeoutIdle = listener['http-timeout-idle'];
  const redirect = listener['http-redirect-http'];
  return {
    ...(cookieName !== undefined && { cookieName }),
    ...(cookieLifetime !== undefined && { cookieLifetime }),
    ...(stickySessions !== undefined && { stickySessions }),
    ...(timeoutIdle !== undefined && { timeoutIdle }),
    ...(protocol === 'https' && redirect !== undefined && { redirectHTTP: redirect && port.port === 443 }),
    ...(protocol === 'https' && { certificates: [...certificates].sort((a, b) => a - b) }),
  };
}

function healthCheckOf(
  service: KubeService,
  { listener, healthCheck }: LoadBalancerConfig,
  protocol: 'tcp' | 'http' | 'https',
  { nodePort }: ServicePort,
): NonNullable<ServiceBody['healthCheck']> {
  const { interval, timeout, retries } = healthCheck;
  const timing = {
    ...(interval !== undefined && { interval }),
    ...(timeout !== undefined && { timeout }),
    ...(retries !== undefined && { retries }),
  };
  const wished = listener['health-check-protocol'];
  const port = listener['health-check-port'];
  if (wished === undefined && port === undefined && isLocal(service)) {
    return {
      protocol: 'http',
      port: service.healthCheckNodePort,
      ...timing,
      http: { path: localHealthPath, statusCodes: ['200'], tls: false },
    };
  }
  const custom = wished !== undefined || port !== undefined || Object.keys(timing).length > 0;
  const checked = wished ?? (custom ? protocol : 'tcp');
  if (checked === 'tcp') return { protocol: 'tcp', port: port ?? nodePort, ...timing };
  const domain = listener['health-check-http-domain'];
  const path = listener['health-check-http-path'];
  const statusCodes = listener['http-status-codes'];
  const tls = listener['health-check-http-validate-certificate'] ?? (wished === 'https' ? true : undefined);
  return {
    protocol: 'http',
    port: port ?? nodePort,
    ...timing,
    http: {
      ...(domain !== undefined && { domain }),
      ...(path !== undefined && { path }),
      ...(statusCodes !== undefined && { statusCodes }),
      ...(tls !== undefined && { tls }),
    },
  };
}

/** Nodes without a pod of the Service would drop its traffic; kube-proxy tells which they are. */
const isLocal = (service: KubeService): boolean =>
  service.externalTrafficPolicy === 'Local' && service.healthCheckNodePort > 0;
