import type {
  HTTPCheck,
  HTTPCheckBody,
  HTTPOptions,
  LoadBalancerService,
  ServiceBody,
} from '../../hetzner/lb-types.ts';

/** True when both are the same JSON; lists count as lists. */
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The wanted fields of one level that are not there yet; what is not wanted doesn't count. null wants it to be absent. */
function differing<T extends object>(wanted: T, present: object | undefined): Partial<T> {
  const entries = Object.entries(wanted).filter(
    ([key, value]) =>
      value !== undefined && !same(value ?? undefined, (present as Record<string, unknown> | undefined)?.[key]),
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
  const { healthCheck: { http: check, ...timing } = {}, http, ...fields } = update;
  const merged = { ...present, ...defined(fields) };
  const healthCheck = { ...present.healthCheck, ...defined(timing) };
  return {
    ...merged,
    http: mergeHTTP(merged.protocol, present.http, http),
    healthCheck: {
      ...healthCheck,
      http: healthCheck.protocol === 'http' ? mergeCheck(present.healthCheck.http, check) : undefined,
    },
  };
}

/** Certificates and redirects are gone as soon as the protocol is another one. */
function mergeHTTP(
  protocol: string,
  present: HTTPOptions | undefined,
  update: ServiceBody['http'],
): HTTPOptions | undefined {
  if (protocol === 'tcp') return undefined;
  const merged: HTTPOptions = { ...defaultHTTP, ...present, ...defined(update ?? {}) };
  return protocol === 'https' ? merged : { ...merged, certificates: [], redirectHTTP: false };
}

const mergeCheck = (present: HTTPCheck | undefined, { domain, ...update }: HTTPCheckBody = {}): HTTPCheck => {
  const merged: HTTPCheck = { ...defaultCheck, ...present, ...defined(update) };
  return domain === undefined ? merged : { ...merged, domain: domain ?? undefined };
};

/** A new listener as the API completes it (hetzner-api.md, section 9). */
export function newListener(wanted: ServiceBody): LoadBalancerService {
  const { protocol = 'tcp', listenPort, destinationPort = listenPort } = wanted;
  const present: LoadBalancerService = {
    protocol,
    listenPort,
    destinationPort,
    proxyProtocol: false,
    http: undefined,
    healthCheck: {
      protocol: protocol === 'http' ? 'http' : 'tcp',
      port: destinationPort,
      interval: 15,
      timeout: 10,
      retries: 3,
      http: undefined,
    },
  };
  return mergeListener(present, wanted);
}

const defaultHTTP: HTTPOptions = {
  cookieName: 'HCLBSTICKY',
  cookieLifetime: 300,
  timeoutIdle: 50,
  stickySessions: false,
  certificates: [],
  redirectHTTP: false,
};
const defaultCheck: HTTPCheck = { domain: undefined, path: '/', response: '', statusCodes: ['2??', '3??'], tls: false };

/** Without the fields that are undefined. */
const defined = <T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
