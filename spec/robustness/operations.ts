import type { Verb } from '../../lib/simulator/kubernetes/route.ts';

/** The calls that the program makes: the rows of the fault matrix. */

export interface HetznerOperation {
  readonly side: 'hetzner';
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Route template, below `/v1` for the Cloud. */
  readonly route: string;
  /** Its change is told by an action. */
  readonly startsAction: boolean;
  /** Codes of refusals that the documentation names for this call alone. */
  readonly codes: readonly (readonly [status: number, code: string])[];
}

export interface KubernetesOperation {
  readonly side: 'kubernetes';
  readonly name: string;
  readonly verb: Verb;
  /** Tested against path and query. */
  readonly path: RegExp;
}

export type Operation = HetznerOperation | KubernetesOperation;

const action = (path: string, codes: HetznerOperation['codes'] = []): HetznerOperation => ({
  side: 'hetzner',
  name: path.replace(/^\/(network|load_balancer|certificate)s\/\{id\}\/actions\//, (_, kind: string) => `${kind}: `),
  method: 'POST',
  route: path,
  startsAction: true,
  codes,
});
const call = (
  name: string,
  method: HetznerOperation['method'],
  route: string,
  more: Partial<Pick<HetznerOperation, 'startsAction' | 'codes'>> = {},
): HetznerOperation => ({ side: 'hetzner', name, method, route, startsAction: false, codes: [], ...more });

const lb = (verb: string): string => `/load_balancers/{id}/actions/${verb}`;
const of422 = (...codes: readonly string[]): HetznerOperation['codes'] => codes.map(code => [422, code]);

const hetzner: readonly HetznerOperation[] = [
  call('list servers', 'GET', '/servers'),
  call('list networks', 'GET', '/networks'),
  call('get network', 'GET', '/networks/{id}'),
  call('list actions', 'GET', '/actions'),
  action('/networks/{id}/actions/add_route'),
  action('/networks/{id}/actions/delete_route'),
  call('list load balancers', 'GET', '/load_balancers'),
  call('list load balancer types', 'GET', '/load_balancer_types'),
  call('create load balancer', 'POST', '/load_balancers', {
    startsAction: true,
    codes: [
      [412, 'source_port_already_used'],
      ...of422(
        'ip_not_owned',
        'load_balancer_not_attached_to_network',
        'resolve_cloud_private_targets_error',
        'resolve_cloud_public_targets_error',
        'target_already_defined',
      ),
    ],
  }),
  call('update load balancer', 'PUT', '/load_balancers/{id}'),
  call('delete load balancer', 'DELETE', '/load_balancers/{id}'),
  action(lb('add_service'), [[412, 'source_port_already_used']]),
  action(lb('update_service'), of422('source_port_already_used')),
  action(lb('delete_service')),
  action(
    lb('add_target'),
    of422(
      'ip_not_in_vswitch_subnet',
      'ip_not_owned',
      'ip_not_assigned_to_server',
      'load_balancer_public_interface_disabled',
      'load_balancer_not_attached_to_network',
      'network_has_no_vswitch_subnet',
      'resolve_cloud_private_targets_error',
      'resolve_cloud_public_targets_error',
      'target_already_defined',
    ),
  ),
  action(lb('remove_target')),
  action(lb('attach_to_network'), of422('load_balancer_already_attached', 'ip_not_available', 'no_subnet_available')),
  action(lb('detach_from_network')),
  action(lb('enable_public_interface')),
  action(
    lb('disable_public_interface'),
    of422('load_balancer_not_attached_to_network', 'targets_without_use_private_ip'),
  ),
  action(lb('change_algorithm')),
  action(lb('change_type'), of422('invalid_load_balancer_type')),
  action(lb('change_dns_ptr')),
  call('list certificates', 'GET', '/certificates'),
  call('create certificate', 'POST', '/certificates', { startsAction: true }),
  action(
    '/certificates/{id}/actions/retry',
    of422(
      'caa_record_does_not_allow_ca',
      'ca_dns_validation_failed',
      'ca_too_many_authorizations_failed_recently',
      'ca_too_many_certificates_issued_for_registered_domain',
      'ca_too_many_duplicate_certificates',
      'could_not_verify_domain_delegated_to_zone',
      'dns_zone_not_found',
      'dns_zone_is_secondary_zone',
    ),
  ),
  call('delete certificate', 'DELETE', '/certificates/{id}'),
];

const kube = (name: string, verb: Verb, path: RegExp): KubernetesOperation => ({
  side: 'kubernetes',
  name,
  verb,
  path,
});

const kubernetes: readonly KubernetesOperation[] = [
  kube('list nodes', 'list', /^\/api\/v1\/nodes/),
  kube('watch nodes', 'watch', /^\/api\/v1\/nodes/),
  kube('patch node', 'patch', /^\/api\/v1\/nodes\/[^/]+$/),
  kube('patch node status', 'patch', /^\/api\/v1\/nodes\/[^/]+\/status$/),
  kube('delete node', 'delete', /^\/api\/v1\/nodes\//),
  kube('list services', 'list', /^\/api\/v1\/services/),
  kube('watch services', 'watch', /^\/api\/v1\/services/),
  kube('patch service status', 'patch', /^\/api\/v1\/namespaces\/[^/]+\/services\/[^/]+\/status$/),
  kube('create event', 'create', /\/events$/),
  kube('count event', 'patch', /\/events\//),
  kube('get lease', 'get', /\/leases\//),
  kube('list leases', 'list', /\/leases\?/),
  kube('watch leases', 'watch', /\/leases\?/),
  kube('create lease', 'create', /\/leases$/),
  kube('update lease', 'update', /\/leases\//),
];

export const operations: readonly Operation[] = [...hetzner, ...kubernetes];

/** What changes something at Hetzner. */
export const isWrite = (operation: HetznerOperation): boolean => operation.method !== 'GET';
