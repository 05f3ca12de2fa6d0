import {
  type JsonObject,
  onlyKeys,
  optionalBoolean,
  optionalIds,
  optionalInRange,
  optionalObject,
  optionalOneOf,
  optionalString,
  optionalStrings,
  required,
} from './body.ts';
import type { HealthCheckConfig, HTTPConfig, LoadBalancerRecord, ServiceConfig, ServiceRecord } from './lb-records.ts';
import { ApiProblem, invalidInput, notFound, overLimit } from './problem.ts';
import type { World } from './world.ts';

/** What the API demands of listeners (facts, section 9). Absent fields get defaults, or stay as they were `before`. */

const usualPorts = { tcp: undefined, http: 80, https: 443 } as const;

/** A listener out of a body. */
export function serviceConfig(world: World, body: JsonObject, before?: ServiceConfig): ServiceConfig {
  const protocol = required(
    'protocol',
    optionalOneOf(body, 'protocol', ['tcp', 'http', 'https'] as const) ?? before?.protocol,
  );
  const port = (field: string): number | undefined => optionalInRange(body, field, 1, 65_535);
  const destination = port('destination_port') ?? before?.destination_port;
  const destination_port = required('destination_port', destination ?? (protocol === 'tcp' ? undefined : 80));
  const http = optionalObject(body, 'http');
  if (protocol === 'tcp' && http !== undefined) throw invalidInput('http', 'Only for protocols http and https.');
  return {
    protocol,
    listen_port: required('listen_port', port('listen_port') ?? before?.listen_port ?? usualPorts[protocol]),
    destination_port,
    proxyprotocol: optionalBoolean(body, 'proxyprotocol') ?? before?.proxyprotocol ?? false,
    health_check: healthCheck(optionalObject(body, 'health_check') ?? {}, before?.health_check, {
      protocol: protocol === 'http' ? 'http' : 'tcp',
      port: destination_port,
    }),
    ...(protocol === 'tcp' ? {} : { http: httpConfig(world, protocol, http ?? {}, before?.http) }),
  };
}

function healthCheck(
  body: JsonObject,
  before: HealthCheckConfig | undefined,
  usual: Pick<HealthCheckConfig, 'protocol' | 'port'>,
): HealthCheckConfig {
  onlyKeys(body, ['protocol', 'port', 'interval', 'timeout', 'retries', 'http']);
  const protocol = optionalOneOf(body, 'protocol', ['tcp', 'http'] as const) ?? before?.protocol ?? usual.protocol;
  const http = optionalObject(body, 'http');
  if (protocol === 'tcp' && 'http' in body) throw invalidInput('health_check.http', 'Only for protocol http.');
  if (body.http === null) throw invalidInput('health_check.http', 'Not a valid object.');
  return {
    protocol,
    port: optionalInRange(body, 'port', 1, 65_535) ?? before?.port ?? usual.port,
    interval: optionalInRange(body, 'interval', 3, 60) ?? before?.interval ?? 15,
    timeout: optionalInRange(body, 'timeout', 1, 60) ?? before?.timeout ?? 10,
    retries: optionalInRange(body, 'retries', 1, 5) ?? before?.retries ?? 3,
    ...(protocol === 'http' ? { http: httpCheck(http ?? {}, before?.http) } : {}),
  };
}

function httpCheck(body: JsonObject, before: HealthCheckConfig['http']): NonNullable<HealthCheckConfig['http']> {
  onlyKeys(body, ['domain', 'path', 'response', 'status_codes', 'tls']);
  const domain = optionalString(body, 'domain') ?? (body.domain === null ? null : (before?.domain ?? null));
  const path = optionalString(body, 'path') ?? before?.path ?? '/';
  const response = optionalString(body, 'response') ?? before?.response ?? '';
  const status_codes = optionalStrings(body, 'status_codes') ?? before?.status_codes ?? ['2??', '3??'];
  if (domain !== null && (domain.length > 128 || /[\s%\\]/.test(domain)))
    throw invalidInput('health_check.http.domain', 'Not a valid domain.');
  if (path.length < 1 || path.length > 256 || path.includes(' '))
    throw invalidInput('health_check.http.path', 'Not a valid path.');
  if (response.length > 256) throw invalidInput('health_check.http.response', 'Longer than maximum length 256.');
  if (status_codes.length > 20 || !status_codes.every(code => /^[0-9?*]{1,3}$/.test(code)))
    throw invalidInput('health_check.http.status_codes', 'Not valid status codes.');
  return { domain, path, response, status_codes, tls: optionalBoolean(body, 'tls') ?? before?.tls ?? false };
}

function httpConfig(
  world: World,
  protocol: 'http' | 'https',
  body: JsonObject,
  before: HTTPConfig | undefined,
): HTTPConfig {
  const cookie_name = optionalString(body, 'cookie_name') ?? before?.cookie_name ?? 'HCLBSTICKY';
  if (cookie_name.length < 1 || cookie_name.length > 100)
    throw invalidInput('http.cookie_name', 'Length must be between 1 and 100.');
  const common = {
    cookie_name,
    cookie_lifetime: optionalInRange(body, 'cookie_lifetime', 30, 86_400) ?? before?.cookie_lifetime ?? 300,
    timeout_idle: optionalInRange(body, 'timeout_idle', 30, 300) ?? before?.timeout_idle ?? 50,
    sticky_sessions: optionalBoolean(body, 'sticky_sessions') ?? before?.sticky_sessions ?? false,
  };
  const certificates = optionalIds(body, 'certificates') ?? before?.certificates ?? [];
  const redirect_http = optionalBoolean(body, 'redirect_http') ?? before?.redirect_http ?? false;
  if (protocol === 'http') {
    if (optionalIds(body, 'certificates')?.length || optionalBoolean(body, 'redirect_http'))
      throw invalidInput('http', 'Certificates and redirect are only for protocol https.');
    return common;
  }
  if (certificates.length === 0) throw invalidInput('http.certificates', 'At least one certificate is required.');
  for (const id of certificates) {
    const content = world.certificates.get(id)?.content;
    if (content === undefined) throw invalidInput('http.certificates', `certificate ${id} not found or not issued`);
  }
  return { ...common, certificates: [...new Set(certificates)], redirect_http };
}

/** Ports that a listener takes on the load balancer. */
export const portsOf = ({ listen_port, http }: ServiceConfig): number[] =>
  http?.redirect_http === true ? [listen_port, 80] : [listen_port];

/** The listener as it is, and as running updates may leave it. */
export const formsOf = (service: ServiceRecord): ServiceConfig[] => [service.config, ...service.pending];

/** Refuses ports that another listener has, or has been promised. The API answers adding and updating differently. */
export function checkPorts(
  lb: LoadBalancerRecord,
  config: ServiceConfig,
  status: 412 | 422,
  own?: ServiceRecord,
): void {
  const busy = (text: string): ApiProblem => new ApiProblem(status, 'source_port_already_used', text);
  if (config.listen_port === 80 && config.http?.redirect_http === true)
    throw busy('port 80 is busy, redirect_http is enabled');
  for (const other of lb.services.filter(one => one !== own).flatMap(formsOf))
    for (const port of portsOf(config)) {
      if (port === other.listen_port) throw busy(`port ${port} is busy`);
      if (portsOf(other).includes(port))
        throw busy(`port ${port} is busy, redirect_http is enabled on another service`);
    }
}

/** Refuses more listeners or certificates than the type of the load balancer has room for. */
export function checkServiceLimits(lb: LoadBalancerRecord, config: ServiceConfig, own?: ServiceRecord): void {
  const others = lb.services.filter(one => one !== own);
  if (own === undefined && others.length >= lb.type.max_services)
    throw overLimit('load_balancer_services', 'service limit of the load balancer exceeded');
  const used = [...others.flatMap(formsOf), config].flatMap(one => one.http?.certificates ?? []);
  if (new Set(used).size > lb.type.max_assigned_certificates)
    throw overLimit('load_balancer_certificates', 'certificate limit of the load balancer exceeded');
}

/** The listener on a port. Throws `not_found`, also while it comes or goes. */
export function serviceOn(lb: LoadBalancerRecord, port: number): ServiceRecord {
  const found = lb.services.find(one => one.config.listen_port === port && one.phase === 'present');
  if (found === undefined) throw notFound('service');
  return found;
}
