import type { LoadBalancerTypeEntry } from './catalogue/load-balancer-types.ts';
import { includedTraffic } from './catalogue/server-types.ts';
import type { CertificateRecord, LoadBalancerRecord, ServerTargetRecord, TargetRecord } from './lb-records.ts';
import { formsOf } from './lb-services.ts';
import { hasAddresses, healthOf, serverTargets } from './lb-targets.ts';
import { isShown } from './records.ts';
import { reverseName, timestamp } from './views.ts';
import type { World } from './world.ts';

/** Load balancers and certificates as the API shows them, complete by Hetzner's OpenAPI document. */

export function loadBalancerTypeView(world: World, type: LoadBalancerTypeEntry): unknown {
  const end = world.deprecations.get(type.name);
  if (end === undefined) return type;
  const [announced, unavailable_after] = [timestamp(end - 90 * 86_400_000), timestamp(end)];
  return { ...type, deprecated: announced, deprecation: { announced, unavailable_after } };
}

function targetView(world: World, lb: LoadBalancerRecord, target: TargetRecord, at: number): unknown {
  const health_status = (one: TargetRecord) =>
    lb.services
      .filter(isShown)
      .map(service => ({ listen_port: service.config.listen_port, status: healthOf(world, lb, service, one, at) }));
  const serverView = (one: ServerTargetRecord) => ({
    type: 'server',
    server: { id: one.server, ip: one.ip },
    health_status: health_status(one),
    use_private_ip: one.usePrivateIP,
  });
  switch (target.type) {
    case 'server':
      return serverView(target);
    case 'ip':
      return { type: 'ip', ip: { ip: target.ip }, health_status: health_status(target) };
    case 'label_selector':
      return {
        type: 'label_selector',
        label_selector: { selector: target.selector },
        targets: serverTargets(world, lb, target, at).map(serverView),
        use_private_ip: target.usePrivateIP,
      };
  }
}

export function loadBalancerView(world: World, lb: LoadBalancerRecord, at: number): unknown {
  const { attachment } = lb;
  const complete = hasAddresses(world, lb);
  const address = (ip: string, usual: string | null) =>
    complete ? { ip, dns_ptr: lb.dnsPtrs.get(ip) ?? usual } : { ip: null, dns_ptr: null };
  return {
    id: lb.id,
    name: lb.name,
    public_net: {
      enabled: lb.publicEnabled,
      ipv4: address(lb.ipv4, reverseName(lb.ipv4)),
      ipv6: address(lb.ipv6, null),
    },
    private_net:
      complete && attachment !== undefined && isShown(attachment)
        ? [{ network: attachment.network, ip: attachment.ip }]
        : [],
    location: lb.location,
    load_balancer_type: loadBalancerTypeView(world, lb.type),
    protection: { delete: lb.protected },
    labels: lb.labels,
    created: timestamp(lb.created),
    services: lb.services.filter(isShown).map(one => one.config),
    targets: lb.targets.filter(isShown).map(one => targetView(world, lb, one, at)),
    algorithm: { type: lb.algorithm },
    outgoing_traffic: null,
    ingoing_traffic: null,
    included_traffic: includedTraffic,
  };
}

/** Load balancers with a listener that has the certificate, or is about to have it. */
export const usersOf = (world: World, certificate: number): LoadBalancerRecord[] =>
  [...world.loadBalancers.values()].filter(lb =>
    lb.services.flatMap(formsOf).some(one => one.http?.certificates?.includes(certificate) === true),
  );

export function certificateView(world: World, certificate: CertificateRecord): unknown {
  const { id, name, labels, type, content, domainNames, issuance, renewal, error } = certificate;
  return {
    id,
    name,
    labels,
    type,
    certificate: content?.pem ?? null,
    created: timestamp(certificate.created),
    not_valid_before: content === undefined ? null : timestamp(content.from),
    not_valid_after: content === undefined ? null : timestamp(content.to),
    domain_names: domainNames,
    fingerprint: content?.fingerprint ?? null,
    status: type === 'managed' ? { issuance, renewal, error: error ?? null } : null,
    used_by: usersOf(world, id).map(lb => ({ id: lb.id, type: 'load_balancer' })),
  };
}
