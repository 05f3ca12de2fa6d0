import type { CertificateBody, LoadBalancerBody, ServiceBody, TargetBody } from './lb-types.ts';

/** Bodies as Hetzner wants them. Fields that are undefined are left out of the JSON. */

export const encodeLoadBalancer = (body: LoadBalancerBody): Record<string, unknown> => ({
  name: body.name,
  load_balancer_type: body.type,
  location: body.location,
  network_zone: body.networkZone,
  algorithm: body.algorithm === undefined ? undefined : { type: body.algorithm },
  labels: body.labels,
  services: body.services?.map(encodeService),
  targets: body.targets?.map(encodeTarget),
  public_interface: body.publicInterface,
  network: body.network,
});

export const encodeService = (body: ServiceBody): Record<string, unknown> => {
  const { healthCheck: check, http } = body;
  return {
    protocol: body.protocol,
    listen_port: body.listenPort,
    destination_port: body.destinationPort,
    proxyprotocol: body.proxyProtocol,
    health_check: check && {
      protocol: check.protocol,
      port: check.port,
      interval: check.interval,
      timeout: check.timeout,
      retries: check.retries,
      http: check.http && {
        domain: check.http.domain,
        path: check.http.path,
        response: check.http.response,
        status_codes: check.http.statusCodes,
        tls: check.http.tls,
      },
    },
    http: http && {
      cookie_name: http.cookieName,
      cookie_lifetime: http.cookieLifetime,
      timeout_idle: http.timeoutIdle,
      sticky_sessions: http.stickySessions,
      certificates: http.certificates,
      redirect_http: http.redirectHTTP,
    },
  };
};

/** A new target. Addresses have no `use_private_ip`: the API is known to refuse even a null there. */
export const encodeTarget = (target: TargetBody): Record<string, unknown> =>
  target.type === 'ip' ? encodeTargetID(target) : { ...encodeTargetID(target), use_private_ip: target.usePrivateIP };

/** What `remove_target` wants to know of a target. */
export const encodeTargetID = (target: TargetBody): Record<string, unknown> => {
  switch (target.type) {
    case 'server':
      return { type: 'server', server: { id: target.serverID, ip: target.ip } };
    case 'label_selector':
      return { type: 'label_selector', label_selector: { selector: target.selector } };
    case 'ip':
      return { type: 'ip', ip: { ip: target.ip } };
  }
};

export const encodeCertificate = (body: CertificateBody): Record<string, unknown> => ({
  name: body.name,
  type: body.type,
  labels: body.labels,
  ...(body.type === 'managed'
    ? { domain_names: body.domainNames }
    : { certificate: body.certificate, private_key: body.privateKey }),
});
