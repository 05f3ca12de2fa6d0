import type { HealthCheck, HTTPOptions, ServiceBody } from '../../hetzner/lb-types.ts';
import type { EventReason } from '../../kubernetes/event-reasons.ts';
import type { KubeService, ServicePort } from '../../kubernetes/types.ts';
import type { LoadBalancerConfig } from './config.ts';

export interface DesiredListeners {
  /** Fields that are undefined are left to the API, or as they are. */
  readonly listeners: readonly ServiceBody[];
  readonly problems: readonly ListenerProblem[];
}

/** Why a port has no listener; the reason is that of its event, where there is a special one. */
export interface ListenerProblem {
  readonly reason?: EventReason;
  readonly text: string;
}

/** What kube-proxy answers on healthCheckNodePort of a Service with externalTrafficPolicy Local. */
const localCheck = { path: '/healthz', statusCodes: ['200'], tls: false } as const;
const usualCheck = { path: '/', statusCodes: ['2??', '3??'] } as const;

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
  const problems: ListenerProblem[] = [];
  const protocol = config.listener.protocol ?? 'tcp';
  const redirects =
    config.listener['http-redirect-http'] === true &&
    protocol === 'https' &&
    service.ports.some(port => port.port === redirectingPort && problemOf(port, false) === undefined);
  const ports = service.ports.filter(port => {
    const problem = problemOf(port, redirects);
    if (problem !== undefined) problems.push(problem);
    return problem === undefined;
  });
  if (protocol === 'https' && ports.length > 0 && certificates.length === 0) {
    const text = 'https needs a certificate: set http-certificates, or certificate-type managed with its domains';
    return { listeners: [], problems: [...problems, { text }] };
  }
  const listeners = ports.map(port => ({
    listenPort: port.port,
    destinationPort: port.nodePort,
    protocol,
    ...(config.proxyProtocol !== undefined && { proxyProtocol: config.proxyProtocol }),
    ...(protocol !== 'tcp' && { http: httpOf(config, protocol, port, certificates, ports) }),
    healthCheck: healthCheckOf(service, config, protocol, port),
  }));
  return { listeners, problems };
}

/** Hetzner redirects from port 80 to this one only. */
const redirectingPort = 443;

function problemOf({ port, protocol, nodePort }: ServicePort, redirectTakes80: boolean): ListenerProblem | undefined {
  if (protocol !== 'TCP') {
    const text = `port ${port}: ${protocol} is not supported by load balancers of Hetzner`;
    return { reason: 'UnsupportedProtocolConfigured', text };
  }
  if (nodePort === 0) {
    return {
      text: `port ${port} has no node port (allocateLoadBalancerNodePorts: false), which the load balancer needs`,
    };
  }
  if (port === 80 && redirectTakes80) return { text: 'port 80 is taken by http-redirect-http of port 443' };
  return undefined;
}

/**
 * Only what has an annotation is wanted; redirects belong to port 443, where the API has them. One that is left over
 * has to go when port 80 is wanted for something else.
 */
function httpOf(
  { listener }: LoadBalancerConfig,
  protocol: 'http' | 'https',
  port: ServicePort,
  certificates: readonly number[],
  ports: readonly ServicePort[],
): Partial<HTTPOptions> {
  const cookieName = listener['http-cookie-name'];
  const cookieLifetime = listener['http-cookie-lifetime'];
  const stickySessions = listener['http-sticky-sessions'];
  const timeoutIdle = listener['http-timeout-idle'];
  const redirect = listener['http-redirect-http'] ?? (ports.some(one => one.port === 80) ? false : undefined);
  return {
    ...(cookieName !== undefined && { cookieName }),
    ...(cookieLifetime !== undefined && { cookieLifetime }),
    ...(stickySessions !== undefined && { stickySessions }),
    ...(timeoutIdle !== undefined && { timeoutIdle }),
    ...(protocol === 'https' && redirect !== undefined && { redirectHTTP: redirect && port.port === redirectingPort }),
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
      http: localCheck,
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

/** True for a check that was made for externalTrafficPolicy Local. */
export const isLocalCheck = ({ http }: Pick<HealthCheck, 'http'>): boolean =>
  http?.path === localCheck.path && http.statusCodes.join() === localCheck.statusCodes.join();

/** Says what was left to the load balancer of an http check where that would be what was right for kube-proxy only. */
export function withoutLocalCheck(listener: ServiceBody): ServiceBody {
  const { healthCheck } = listener;
  if (healthCheck?.http === undefined) return listener;
  return { ...listener, healthCheck: { ...healthCheck, http: { ...usualCheck, ...healthCheck.http } } };
}
