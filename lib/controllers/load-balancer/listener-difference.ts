import type { LoadBalancerService, ServiceBody } from '../../hetzner/lb-types.ts';

/** True when both are the same JSON; lists count as lists. */
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The wanted fields of one level that are not there yet; what is not wanted doesn't count. */
function differing<T extends object>(wanted: T, present: object | undefined): Partial<T> {
  const entries = Object.entries(wanted).filter(
    ([key, value]) => value !== undefined && !same(value, (present as Record<string, unknown> | undefined)?.[key]),
  );
  return Object.fromEntries(entries) as Partial<T>;
}

const orNothing = <T extends object>(value: T): T | undefined => (Object.keys(value).length === 0 ? undefined : value);

/**
 * What an update of `present` must say to become `wanted`, field by field; undefined when it is that already. An update
 * keeps what it does not mention, so only differences are sent (the API merges nested objects, too).
 */
export function listenerDifference(wanted: ServiceBody, present: LoadBalancerService): ServiceBody | undefined {
  const { listenPort, healthCheck, http, ...fields } = wanted;
  const { certificates, ...options } = http ?? {};
  const { certificates: presentCertificates, ...presentOptions } = present.http ?? { certificates: [] };
  const sameCertificates = certificates === undefined || same(ascending(certificates), ascending(presentCertificates));
  const httpDifference = {
    ...differing(options, presentOptions),
    ...(sameCertificates ? {} : { certificates }),
  };
  const { http: check, ...timing } = healthCheck ?? {};
  const checkDifference = check === undefined ? undefined : orNothing(differing(check, present.healthCheck.http));
  const healthDifference = {
    ...differing(timing, present.healthCheck),
    ...(checkDifference !== undefined && { http: checkDifference }),
  };
  const difference = {
    ...differing(fields, present),
    ...(orNothing(httpDifference) !== undefined && { http: httpDifference }),
    ...(orNothing(healthDifference) !== undefined && { healthCheck: healthDifference }),
  };
  return orNothing(difference) === undefined ? undefined : { listenPort, ...difference };
}

const ascending = (ids: readonly number[]): number[] => [...ids].sort((a, b) => a - b);

/** The listener after an update with these differences, as the API merges them. */
export function mergeListener(present: LoadBalancerService, update: ServiceBody): LoadBalancerService {
  const { healthCheck, http, ...fields } = update;
  const check = healthCheck?.http;
  const protocol = healthCheck?.protocol ?? present.healthCheck.protocol;
  const mergedCheck =
    check === undefined
      ? present.healthCheck.http
      : { ...defaultCheck, ...present.healthCheck.http, ...defined(check) };
  return {
    ...present,
    ...defined(fields),
    http: http === undefined ? present.http : { ...defaultHTTP, ...present.http, ...defined(http) },
    healthCheck: {
      ...present.healthCheck,
      ...defined({ ...healthCheck, http: undefined }),
      http: protocol === 'http' ? (mergedCheck ?? defaultCheck) : undefined,
    },
  } as LoadBalancerService;
}

/** A new listener as the API completes it (hetzner-api.md, section 9). */
export function newListener(wanted: ServiceBody): LoadBalancerService {
  const protocol = wanted.protocol ?? 'tcp';
  const present: LoadBalancerService = {
    protocol,
    listenPort: wanted.listenPort,
    destinationPort: wanted.destinationPort ?? wanted.listenPort,
    proxyProtocol: false,
    http: protocol === 'tcp' ? undefined : defaultHTTP,
    healthCheck: {
      protocol: 'tcp',
      port: wanted.destinationPort ?? wanted.listenPort,
      interval: 15,
      timeout: 10,
      retries: 3,
      http: undefined,
    },
  };
  return mergeListener(present, wanted);
}

const defaultHTTP = {
  cookieName: 'HCLBSTICKY',
  cookieLifetime: 300,
  timeoutIdle: 50,
  stickySessions: false,
  certificates: [],
  redirectHTTP: false,
} as const;
const defaultCheck = { domain: undefined, path: '/', response: '', statusCodes: ['2??', '3??'], tls: false } as const;

const defined = <T extends object>(value: T): Partial<T> =>
  Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as Partial<T>;
