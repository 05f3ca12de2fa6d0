import { arrayOf, DecodeError, identified, isID, recordOf, textOf } from './decode.ts';
import type {
  Certificate,
  HealthCheck,
  HTTPOptions,
  LoadBalancer,
  LoadBalancerService,
  LoadBalancerTarget,
  LoadBalancerType,
  PublicAddress,
  ServerTarget,
  TargetHealth,
} from './lb-types.ts';

/**
 * Fields of a load balancer that are read. Throws a DecodeError when it has no id or name, or when its listeners or
 * targets are unreadable: absent ones must not be taken for none, they would all be written again.
 */
export const decodeLoadBalancer = (json: unknown): LoadBalancer => {
  const { id, name, fields } = identified('load balancer', json);
  const { services, targets, private_net } = fields;
  const publicNet = recordOf(fields.public_net);
  const location = recordOf(fields.location);
  if (!Array.isArray(services)) throw new DecodeError(`load balancer ${id} has no list of services`);
  if (!Array.isArray(targets)) throw new DecodeError(`load balancer ${id} has no list of targets`);
  return {
    id,
    name,
    labels: labelsOf(fields.labels),
    created: instantOf(fields.created) ?? 0,
    publicNet: {
      enabled: publicNet.enabled !== false,
      ipv4: publicAddressOf(publicNet.ipv4),
      ipv6: publicAddressOf(publicNet.ipv6),
    },
    privateNets: arrayOf(private_net).flatMap(entry => {
      const { network, ip } = recordOf(entry);
      const address = textOf(ip);
      // While it is being attached its address can still be missing: then it is not there yet.
      return isID(network) && address !== undefined ? [{ network, ip: address }] : [];
    }),
    location: textOf(location.name) ?? '',
    networkZone: textOf(location.network_zone) ?? '',
    type: typeOf(fields.load_balancer_type),
    algorithm: textOf(recordOf(fields.algorithm).type) ?? '',
    services: services.map(service => decodeService(id, service)),
    targets: targets.flatMap(target => decodeTarget(id, target)),
    isProtected: recordOf(fields.protection).delete === true,
  };
};

const decodeService = (loadBalancerID: number, json: unknown): LoadBalancerService => {
  const fields = recordOf(json);
  const listenPort = numberOf(fields.listen_port);
  if (listenPort === undefined) throw new DecodeError(`load balancer ${loadBalancerID} has a service without port`);
  const protocol = textOf(fields.protocol) ?? '';
  return {
    protocol,
    listenPort,
    destinationPort: numberOf(fields.destination_port) ?? 0,
    proxyProtocol: fields.proxyprotocol === true,
    healthCheck: decodeHealthCheck(recordOf(fields.health_check)),
    http: protocol === 'http' || protocol === 'https' ? decodeHTTP(recordOf(fields.http)) : undefined,
  };
};

const decodeHealthCheck = (check: Record<string, unknown>): HealthCheck => {
  const protocol = textOf(check.protocol) ?? '';
  const http = recordOf(check.http);
  return {
    protocol,
    port: numberOf(check.port) ?? 0,
    interval: numberOf(check.interval) ?? 0,
    timeout: numberOf(check.timeout) ?? 0,
    retries: numberOf(check.retries) ?? 0,
    http:
      protocol === 'http'
        ? {
            domain: textOf(http.domain),
            path: textOf(http.path) ?? '',
            response: textOf(http.response) ?? '',
            statusCodes: arrayOf(http.status_codes).flatMap(code => textOf(code) ?? []),
            tls: http.tls === true,
          }
        : undefined,
  };
};

const decodeHTTP = (http: Record<string, unknown>): HTTPOptions => ({
  cookieName: textOf(http.cookie_name) ?? '',
  cookieLifetime: numberOf(http.cookie_lifetime) ?? 0,
  timeoutIdle: numberOf(http.timeout_idle) ?? 0,
  stickySessions: http.sticky_sessions === true,
  certificates: arrayOf(http.certificates).filter(isID),
  redirectHTTP: http.redirect_http === true,
});

const decodeTarget = (loadBalancerID: number, json: unknown): LoadBalancerTarget[] => {
  const target = recordOf(json);
  const broken = (what: string): DecodeError =>
    new DecodeError(`load balancer ${loadBalancerID} has a target without ${what}`);
  switch (target.type) {
    case 'server': {
      const server = serverTargetOf(target);
      if (server === undefined) throw broken('server');
      return [server];
    }
    case 'ip': {
      const ip = textOf(recordOf(target.ip).ip);
      if (ip === undefined) throw broken('address');
      return [{ type: 'ip', ip, health: healthOf(target.health_status) }];
    }
    case 'label_selector': {
      const selector = textOf(recordOf(target.label_selector).selector);
      if (selector === undefined) throw broken('selector');
      const targets = arrayOf(target.targets).flatMap(one => serverTargetOf(recordOf(one)) ?? []);
      return [{ type: 'label_selector', selector, usePrivateIP: target.use_private_ip === true, targets }];
    }
    default:
      return [];
  }
};

const serverTargetOf = (target: Record<string, unknown>): ServerTarget | undefined => {
  const { id, ip } = recordOf(target.server);
  if (!isID(id)) return undefined;
  return {
    type: 'server',
    serverID: id,
    ip: textOf(ip),
    usePrivateIP: target.use_private_ip === true,
    health: healthOf(target.health_status),
  };
};

const healthOf = (json: unknown): TargetHealth[] =>
  arrayOf(json).flatMap(entry => {
    const { listen_port, status } = recordOf(entry);
    const listenPort = numberOf(listen_port);
    return listenPort === undefined ? [] : [{ listenPort, status: textOf(status) ?? 'unknown' }];
  });

/** Fields of a load balancer type that are read; throws a DecodeError when it has no id or name. */
export const decodeLoadBalancerType = (json: unknown): LoadBalancerType => {
  const { id, name } = identified('load balancer type', json);
  return { ...typeOf(json), id, name };
};

const typeOf = (json: unknown): LoadBalancerType => {
  const type = recordOf(json);
  return {
    id: isID(type.id) ? type.id : 0,
    name: textOf(type.name) ?? '',
    maxServices: numberOf(type.max_services),
    maxTargets: numberOf(type.max_targets),
    maxCertificates: numberOf(type.max_assigned_certificates),
    unavailableAfter: instantOf(recordOf(type.deprecation).unavailable_after),
  };
};

/** Fields of a certificate that are read; throws a DecodeError when it has no id or name. */
export const decodeCertificate = (json: unknown): Certificate => {
  const { id, name, fields } = identified('certificate', json);
  const status = recordOf(fields.status);
  const error = recordOf(status.error);
  const code = textOf(error.code);
  const type = textOf(fields.type) ?? '';
  return {
    id,
    name,
    labels: labelsOf(fields.labels),
    type,
    domainNames: arrayOf(fields.domain_names).flatMap(domain => textOf(domain) ?? []),
    notValidAfter: instantOf(fields.not_valid_after),
    status:
      type === 'managed'
        ? {
            issuance: textOf(status.issuance) ?? 'pending',
            renewal: textOf(status.renewal) ?? 'unavailable',
            error: code === undefined ? undefined : { code, message: textOf(error.message) ?? '' },
          }
        : undefined,
    // Not knowing counts as being used: a certificate is deleted only when nothing needs it.
    isUsed: !Array.isArray(fields.used_by) || fields.used_by.length > 0,
  };
};

const labelsOf = (json: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(recordOf(json)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );

const publicAddressOf = (json: unknown): PublicAddress | undefined => {
  const { ip, dns_ptr } = recordOf(json);
  const address = textOf(ip);
  return address === undefined ? undefined : { ip: address, dnsPtr: textOf(dns_ptr) };
};

const numberOf = (value: unknown): number | undefined => (Number.isFinite(value) ? Number(value) : undefined);

const instantOf = (value: unknown): number | undefined => {
  const instant = Date.parse(textOf(value) ?? '');
  return Number.isNaN(instant) ? undefined : instant;
};
