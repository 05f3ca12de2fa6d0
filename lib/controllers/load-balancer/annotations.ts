import { isIP } from 'node:net';
import { type Parsed, parseBoolean, parseDuration, parseInteger } from '../../settings/go-values.ts';

/** Prefix of all annotations of a Service that are read. */
export const annotationPrefix = 'load-balancer.hetzner.cloud/';

/** One annotation: how its text is read and what it does. The annotation reference is generated from the table below. */
export interface AnnotationDefinition<T = unknown> {
  readonly parse: (text: string) => Parsed<T>;
  /** For the reference. */
  readonly type: string;
  readonly description: string;
  /** Variable that gives the value where the annotation is absent. */
  readonly variable?: string;
}

const define = <T>(
  type: string,
  parse: (text: string) => Parsed<T>,
  description: string,
  variable?: string,
): AnnotationDefinition<T> => ({ type, parse, description, ...(variable !== undefined && { variable }) });

const text = (value: string): Parsed<string> => ({ value });
const oneOf =
  <const T extends string>(...values: readonly T[]) =>
  (input: string): Parsed<T> => {
    const found = values.find(value => value === input.toLowerCase());
    return found === undefined ? { allowed: `must be one of ${values.join(', ')}` } : { value: found };
  };
const list = (input: string): Parsed<readonly string[]> => ({
  value: input
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== ''),
});

/** Whole seconds, as a duration or as the integer the peer's table once promised. */
const seconds = (input: string): Parsed<number> => {
  if (/^\d+$/.test(input)) return parseInteger(input, 0, 1_000_000);
  const parsed = parseDuration(input);
  if (!('value' in parsed)) return parsed;
  return parsed.value < 0 ? { allowed: 'must not be negative' } : { value: Math.floor(parsed.value / 1_000) };
};
const ipv4 = (input: string): Parsed<string> =>
  isIP(input) === 4 ? { value: input } : { allowed: 'must be an IPv4 address' };
const cidr = (input: string): Parsed<string> => {
  const [address = '', prefix = '', ...rest] = input.split('/');
  const fits = isIP(address) === 4 && rest.length === 0 && /^\d{1,2}$/.test(prefix) && Number(prefix) <= 32;
  return fits ? { value: input } : { allowed: 'must be an IPv4 network such as 10.0.1.0/24' };
};
/** As the API server checks it in the status of a Service. */
const dnsName = (input: string): Parsed<string> => {
  const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
  const fits = input.length <= 253 && new RegExp(`^${label}(\\.${label})*$`).test(input) && isIP(input) === 0;
  return fits ? { value: input } : { allowed: 'must be a DNS name in lower case, such as web.example.com' };
};
const port = (input: string): Parsed<number> => parseInteger(input, 1, 65_535);
const id = (input: string): Parsed<number> => parseInteger(input, 1, Number.MAX_SAFE_INTEGER);

/** Every annotation that is read, by the part of its key behind the prefix. */
export const annotations = {
  id: define(
    'integer',
    id,
    'Id of an existing load balancer to use. Its owner, if it has one, must no longer exist; one that seems to serve another cluster has to lose its label `hcloud-ccm/service-uid` first. Without effect where there is none. Its ports and targets become those of the Service (the event `AdoptedLoadBalancer` names what it had), and it is deleted with the Service unless it is protected against deletion.',
  ),
  name: define(
    'text',
    text,
    'Name of the load balancer. An existing one of this name without an owner is used as if its id was given.',
  ),
  type: define(
    'text',
    text,
    'Type of the load balancer, such as lb11. Removing it never downgrades.',
    'HCLOUD_LOAD_BALANCERS_TYPE',
  ),
  location: define(
    'text',
    text,
    'Location, at creation only. Empty cancels the default, so that a network zone can be used.',
    'HCLOUD_LOAD_BALANCERS_LOCATION',
  ),
  'network-zone': define(
    'text',
    text,
    'Network zone, at creation only and where no location is given.',
    'HCLOUD_LOAD_BALANCERS_NETWORK_ZONE',
  ),
  'algorithm-type': define(
    'round_robin, least_connections',
    oneOf('round_robin', 'least_connections'),
    'How targets are chosen.',
    'HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE',
  ),
  'disable-public-network': define(
    'boolean',
    parseBoolean,
    'Switches the public interface off; false switches it on. Absent: left as it is.',
    'HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK',
  ),
  'disable-private-ingress': define(
    'boolean',
    parseBoolean,
    'Leaves private addresses out of the status of the Service.',
    'HCLOUD_LOAD_BALANCERS_DISABLE_PRIVATE_INGRESS',
  ),
  'use-private-ip': define(
    'boolean',
    parseBoolean,
    'Reaches targets through the private network; needs HCLOUD_NETWORK.',
    'HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP',
  ),
  network: define(
    'text',
    text,
    'Name or id of the private network the load balancer is attached to; only nodes in it can be private targets. Another one moves it, for a moment without private targets.',
    'HCLOUD_LOAD_BALANCER_NETWORK',
  ),
  'private-ipv4': define(
    'IPv4 address',
    ipv4,
    'Address of the load balancer in the private network. Another one re-attaches it.',
  ),
  'private-subnet-ip-range': define(
    'CIDR',
    cidr,
    'Subnet to attach into; used when attaching.',
    'HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE',
  ),
  'ipv6-disabled': define(
    'boolean',
    parseBoolean,
    'Leaves the IPv6 address out of the status of the Service.',
    'HCLOUD_LOAD_BALANCERS_DISABLE_IPV6',
  ),
  hostname: define('DNS name', dnsName, 'The status of the Service names this host and no addresses.'),
  'ipv4-rdns': define('text', text, 'Reverse DNS name of the IPv4 address.'),
  'ipv6-rdns': define('text', text, 'Reverse DNS name of the IPv6 address.'),
  'node-selector': define('label selector', text, 'Only nodes with these labels become targets.'),
  protocol: define('tcp, http, https', oneOf('tcp', 'http', 'https'), 'Protocol of all ports.'),
  'uses-proxyprotocol': define(
    'boolean',
    parseBoolean,
    'Sends the PROXY protocol to the targets.',
    'HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL',
  ),
  'http-cookie-name': define('text', text, 'Cookie of sticky sessions.'),
  'http-cookie-lifetime': define('duration', seconds, 'Lifetime of that cookie; a bare number means seconds.'),
  'http-timeout-idle': define('duration', seconds, 'Idle timeout of HTTP connections, 30s to 300s.'),
  'http-sticky-sessions': define('boolean', parseBoolean, 'Keeps a client at one target by a cookie.'),
  'http-redirect-http': define(
    'boolean',
    parseBoolean,
    'Redirects HTTP on port 80 to HTTPS; the load balancer takes port 80 for it.',
  ),
  'certificate-type': define(
    'uploaded, managed',
    oneOf('uploaded', 'managed'),
    'Where the certificates of https ports come from.',
  ),
  'http-certificates': define('list', list, 'Names or ids of uploaded certificates.'),
  'http-managed-certificate-name': define('text', text, 'Name of the managed certificate.'),
  'http-managed-certificate-domains': define('list', list, 'Domains of the managed certificate.'),
  'http-managed-certificate-acme-staging': define(
    'boolean',
    parseBoolean,
    'Takes the managed certificate from the staging CA; for tests.',
  ),
  'health-check-protocol': define(
    'tcp, http, https',
    oneOf('tcp', 'http', 'https'),
    'Protocol of the health check. Default: tcp, or that of the ports where another health-check setting is present.',
  ),
  'health-check-port': define('integer', port, 'Port of the health check. Default: the node port.'),
  'health-check-interval': define(
    'duration',
    seconds,
    'Time between two checks; a bare number means seconds.',
    'HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL',
  ),
  'health-check-timeout': define(
    'duration',
    seconds,
    'Time a check may take; a bare number means seconds.',
    'HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_TIMEOUT',
  ),
  'health-check-retries': define(
    'integer',
    value => parseInteger(value, 0, 1_000),
    'Failed checks in a row until a target counts as unhealthy.',
    'HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES',
  ),
  'health-check-http-domain': define('text', text, 'Host header of http checks.'),
  'health-check-http-path': define('text', text, 'Path of http checks.'),
  'health-check-http-validate-certificate': define(
    'boolean',
    parseBoolean,
    'Whether https checks look at the certificate.',
  ),
  'http-status-codes': define('list', list, 'Status codes that count as healthy, such as 2??,3??.'),
} as const satisfies Record<string, AnnotationDefinition>;

/** Keys the peer documents as written by it; nobody writes or reads them, so they are no mistakes either. */
export const ignoredAnnotations: readonly string[] = ['ipv4', 'ipv6'];

export type AnnotationName = keyof typeof annotations;
export type AnnotationValue<K extends AnnotationName> =
  (typeof annotations)[K] extends AnnotationDefinition<infer T> ? T : never;

/** Parsed annotations of one Service; what was absent or wrong is not there. */
export type AnnotationValues = { readonly [K in AnnotationName]?: AnnotationValue<K> };

export interface ReadAnnotations {
  readonly values: AnnotationValues;
  /** One sentence for each wrong value, naming key, value and what is allowed. */
  readonly problems: readonly string[];
  /** Annotations with a wrong value: what depends on them must not be guessed. */
  readonly wrong: readonly AnnotationName[];
  /** Keys with our prefix that mean nothing. */
  readonly unknown: readonly string[];
}

/**
 * Reads all annotations of a Service. Values are trimmed. An empty one counts as absent, for templates write those where
 * nothing is meant, but for `location`, where it cancels the default. One wrong value does not stop the others.
 */
export function readAnnotations(all: Readonly<Record<string, string>>): ReadAnnotations {
  const values: Partial<Record<AnnotationName, unknown>> = {};
  const problems: string[] = [];
  const wrong: AnnotationName[] = [];
  const unknown: string[] = [];
  for (const [key, raw] of Object.entries(all)) {
    if (!key.startsWith(annotationPrefix)) continue;
    const name = key.slice(annotationPrefix.length);
    if (!Object.hasOwn(annotations, name)) {
      if (!ignoredAnnotations.includes(name)) unknown.push(name);
      continue;
    }
    const known = name as AnnotationName;
    const input = raw.trim();
    if (input === '' && known !== 'location') continue;
    const parsed: Parsed<unknown> = annotations[known].parse(input);
    if ('value' in parsed) {
      values[known] = parsed.value;
    } else {
      wrong.push(known);
      problems.push(`annotation ${key}: ${JSON.stringify(input.slice(0, 100))} ${parsed.allowed}`);
    }
  }
  return { values: values as AnnotationValues, problems, wrong, unknown };
}
