import { parseArguments } from './arguments.ts';
import { ipamRange, nodeMaskSize, wantsIPAM } from './ipam-rules.ts';
import { leaseNameFor } from './lease-name.ts';
import { type Origins, type Readings, readSettings } from './readings.ts';
import { effectiveSettings, type SettingsReport } from './report.ts';
import { checkRules, primaryNetwork, wantsRoutes } from './rules.ts';
import type { Settings } from './settings.ts';
import type { Values } from './table.ts';
import { unknownVariables } from './unknown-variables.ts';

export type LoadedSettings =
  | { readonly settings: Settings; readonly report: SettingsReport }
  | { readonly errors: readonly string[] };

const debugVerbosity = 4;

const freeze = <T extends object>(value: T): T => {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) freeze(part);
  return Object.freeze(value);
};

/** The switch of the routes is not read without a network, so garbage in it is harmless there, as in the peer. */
function withoutUnreadSwitch(readings: Readings): Readings {
  const names = ['network', 'controlPlaneNetwork'] as const;
  if (names.some(name => readings.set.has(name) || readings.errors.has(name))) return readings;
  const errors = new Map(readings.errors);
  const set = new Map(readings.set);
  errors.delete('networkRoutesEnabled');
  set.delete('networkRoutesEnabled');
  return { ...readings, errors, set };
}

function furtherNetworks(values: Values): Settings['hcloud']['furtherNetworks'] {
  const { controlPlaneNetwork, workerNetworkRegex, workerNetworkPrefix, networkPodCIDRs, networkGateways } = values;
  if ((controlPlaneNetwork ?? workerNetworkRegex ?? workerNetworkPrefix ?? networkPodCIDRs) === undefined)
    return undefined;
  return {
    controlPlane: controlPlaneNetwork,
    workerRegex: workerNetworkRegex,
    workerPrefix: workerNetworkPrefix,
    podCIDRs: [...(networkPodCIDRs ?? [])],
    gateways: [...(networkGateways ?? [])],
  };
}

function assemble(values: Values, set: Readings['set'], token: string): Settings {
  const fileOf = (key: 'token' | 'robotUser' | 'robotPassword'): string | undefined => set.get(key)?.source.path;
  const route = wantsRoutes(values) && values.clusterCIDRs !== undefined;
  const level = !set.has('logLevel') && values.verbosity >= debugVerbosity ? 'debug' : values.logLevel;
  return freeze<Settings>({
    hcloud: {
      token,
      tokenFile: fileOf('token'),
      endpoint: values.endpoint,
      network: primaryNetwork(values),
      furtherNetworks: furtherNetworks(values),
      networkAttachedCheck: !values.networkDisableAttachedCheck,
      networkRoutesEnabled: primaryNetwork(values) !== undefined && values.networkRoutesEnabled,
      metadataEndpoint: values.metadataEndpoint,
      debug: values.debug,
    },
    instances: { addressFamily: values.addressFamily, zoneLabelEnabled: values.zoneLabelEnabled },
    serverCache: { mode: values.serverCacheMode, maxAge: values.serverCacheMaxAge },
    robot: {
      enabled: values.robotEnabled,
      user: values.robotUser,
      userFile: fileOf('robotUser'),
      password: values.robotPassword,
      passwordFile: fileOf('robotPassword'),
      endpoint: values.robotEndpoint,
      cacheTimeout: values.robotCacheTimeout,
      rateLimitWaitTime: values.robotRateLimitWaitTime,
      forwardInternalIPs: values.robotForwardInternalIPs,
    },
    loadBalancers: {
      enabled: values.loadBalancersEnabled,
      className: values.loadBalancerClass ?? '',
      classless: values.classlessServices,
      location: values.location,
      networkZone: values.networkZone,
      type: values.type,
      algorithmType: values.algorithmType,
      disablePublicNetwork: values.disablePublicNetwork,
      disablePrivateIngress: values.disablePrivateIngress,
      usePrivateIP: values.usePrivateIP,
      disableIPv6: values.disableIPv6,
      usesProxyProtocol: values.usesProxyProtocol,
      privateSubnetIPRange: values.privateSubnetIPRange,
      network: values.loadBalancerNetwork,
      healthCheckInterval: values.healthCheckInterval,
      healthCheckTimeout: values.healthCheckTimeout,
      healthCheckRetries: values.healthCheckRetries,
    },
    kubernetes: {
      kubeconfig: values.kubeconfig,
      master: values.master,
      serviceHost: values.serviceHost,
      servicePort: values.servicePort,
      serviceAccountDir: values.serviceAccountDir,
    },
    proxy: { https: values.httpsProxy, http: values.httpProxy, no: values.noProxy },
    leaderElection: {
      enabled: values.leaderElect,
      leaseDuration: values.leaseDuration,
      renewDeadline: values.renewDeadline,
      retryPeriod: values.retryPeriod,
      resourceName: set.has('leaseName') ? values.leaseName : leaseNameFor(values.leaseName, values.nodeSelector),
      resourceNamespace: values.leaseNamespace,
    },
    controllers: {
      node: values.controllers.node,
      lifecycle: values.controllers.lifecycle,
      route,
      loadBalancer: values.controllers.loadBalancer && values.loadBalancersEnabled,
      ipam: wantsIPAM(values),
    },
    ipam: { clusterCIDR: wantsIPAM(values) ? ipamRange(values) : undefined, maskSize: nodeMaskSize(values) },
    nodes: {
      statusUpdateFrequency: values.nodeStatusUpdateFrequency,
      monitorPeriod: values.nodeMonitorPeriod,
      concurrentSyncs: values.concurrentNodeSyncs,
      selector: values.nodeSelector,
    },
    routes: {
      clusterCIDRs: route ? [...(values.clusterCIDRs ?? [])] : [],
      minResyncPeriod: values.minResyncPeriod,
    },
    services: { concurrentSyncs: values.concurrentServiceSyncs },
    metrics: { enabled: values.metricsEnabled, address: values.metricsAddress },
    secure: {
      port: values.securePort,
      bindAddress: values.bindAddress,
      tlsCertFile: values.tlsCertFile,
      tlsPrivateKeyFile: values.tlsPrivateKeyFile,
    },
    log: { level },
  });
}

/**
 * Turns flags, environment and files into frozen settings, or into every error that was found: one line each, with the
 * name, the value (never a secret), what is allowed and where it was set. The only reader of the environment.
 */
export function loadSettings(input: Origins & { readonly argv: readonly string[] }): LoadedSettings {
  const { flags, ignored, errors } = parseArguments(input.argv);
  const readings = withoutUnreadSwitch(readSettings(flags, input));
  const findings = checkRules(readings);
  const all = [...errors, ...readings.errors.values(), ...findings.errors];
  const { token } = readings.values;
  if (all.length > 0 || token === undefined) return { errors: all };
  return {
    settings: assemble(readings.values, readings.set, token),
    report: {
      warnings: [...unknownVariables(input.env), ...findings.warnings],
      ignored,
      effective: effectiveSettings(readings),
    },
  };
}
