import { contains, parseIPv4CIDR } from '../controllers/ip.ts';
import { checkIPAM, ipamKeys } from './ipam-rules.ts';
import { mention } from './mention.ts';
import type { NetworkPodCIDR } from './network-pod-cidrs.ts';
import { quote } from './quote.ts';
import type { Readings } from './readings.ts';
import type { Warning } from './report.ts';
import { nameOf } from './setting.ts';
import { type SettingKey, table, type Values } from './table.ts';

/** What the rules that span settings found. */
export interface Findings {
  readonly errors: readonly string[];
  readonly warnings: readonly Warning[];
}

/** The network that counts where nothing says otherwise. */
export const primaryNetwork = (values: Values): string | undefined => values.network ?? values.controlPlaneNetwork;

/** Whether routes are written as far as the switches say; the pod CIDR is checked apart. */
export const wantsRoutes = (values: Values): boolean =>
  primaryNetwork(values) !== undefined &&
  values.networkRoutesEnabled &&
  values.configureCloudRoutes &&
  values.controllers.route;

/**
 * Upstream demands lease > renew > 1.2 x retry: otherwise a leader can lose the lease before it notices
 * (client-go, leaderelection.NewLeaderElector; 1.2 is its jitter factor).
 */
function checkLeaderElection(readings: Readings): string[] {
  const { leaseDuration, renewDeadline, retryPeriod, leaderElect } = readings.values;
  if (!leaderElect) return [];
  const errors: string[] = [];
  if (leaseDuration <= renewDeadline) {
    errors.push(
      `${mention(readings, 'leaseDuration')} is invalid: must be more than ${mention(readings, 'renewDeadline')}`,
    );
  }
  if (renewDeadline <= 1.2 * retryPeriod) {
    errors.push(
      `${mention(readings, 'renewDeadline')} is invalid: must be more than 1.2 times ${mention(readings, 'retryPeriod')}`,
    );
  }
  return errors;
}

/** Both settings of a pair, or neither. */
function checkPair(readings: Readings, one: SettingKey, other: SettingKey): string[] {
  if (readings.set.has(one) === readings.set.has(other)) return [];
  const [present, missing] = readings.set.has(one) ? [one, other] : [other, one];
  return [`${mention(readings, present)} is invalid without ${nameOf(table[missing])}: must be both or neither`];
}

/** host:port of two listeners that would take the same port of the same interface. */
function checkListeners(readings: Readings): string[] {
  const { metricsEnabled, metricsAddress, securePort, bindAddress } = readings.values;
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(metricsAddress) ?? [];
  const isEverywhere = (address: string): boolean => ['', '0.0.0.0', '::'].includes(address);
  if (!metricsEnabled || securePort === 0 || Number(port) !== securePort) return [];
  if (host !== bindAddress && !isEverywhere(host) && !isEverywhere(bindAddress)) return [];
  return [
    `${mention(readings, 'metricsAddress')} is invalid: must not be the port of ${mention(readings, 'securePort')}`,
  ];
}

function checkNetworks(readings: Readings): string[] {
  const { values, set } = readings;
  if (set.has('workerNetworkRegex') && set.has('workerNetworkPrefix')) {
    return [
      `${mention(readings, 'workerNetworkRegex')} and ${mention(readings, 'workerNetworkPrefix')} exclude each other: set only one`,
    ];
  }
  if (primaryNetwork(values) !== undefined) return [];
  const further = ['workerNetworkRegex', 'workerNetworkPrefix', 'networkPodCIDRs', 'networkGateways'] as const;
  return further
    .filter(key => set.has(key))
    .map(
      key =>
        `${mention(readings, key)} is invalid without HCLOUD_NETWORK: must have a primary network beside it, HCLOUD_NETWORK or HCLOUD_CONTROL_PLANE_NETWORK`,
    );
}

/** A gateway leads to a range, which has to be told. */
function checkGateways(readings: Readings): string[] {
  const { networkGateways = [], networkPodCIDRs = [] } = readings.values;
  if (networkPodCIDRs.length > 0 || networkGateways.every(({ address }) => address === undefined)) return [];
  return [
    `${mention(readings, 'networkGateways')} is invalid without HCLOUD_NETWORK_POD_CIDRS: must have the range of pods that each gateway leads to`,
  ];
}

/** Pods outside of the cluster CIDRs are none to Kubernetes, and their routes would stay for good. */
function checkPodCIDRs(readings: Readings): string[] {
  const { networkPodCIDRs = [], clusterCIDRs } = readings.values;
  if (clusterCIDRs === undefined) return [];
  const allowed = clusterCIDRs.map(parseIPv4CIDR).filter(block => block !== undefined);
  const isInside = ({ cidr }: NetworkPodCIDR): boolean => {
    const block = parseIPv4CIDR(cidr);
    return block !== undefined && allowed.some(one => contains(one, block));
  };
  const outside = networkPodCIDRs.find(one => !isInside(one));
  if (outside === undefined) return [];
  const { network, cidr } = outside;
  return [
    `${mention(readings, 'networkPodCIDRs')} is invalid: ${quote(`${network}=${cidr}`)} must lie in ${mention(readings, 'clusterCIDRs')}`,
  ];
}

function checkRoutes(readings: Readings): Findings {
  const { values } = readings;
  if (!wantsRoutes(values) || values.clusterCIDRs !== undefined) return { errors: [], warnings: [] };
  const switches = `${mention(readings, 'networkRoutesEnabled')} with ${mention(readings, values.network === undefined ? 'controlPlaneNetwork' : 'network')}`;
  if (values.allocateNodeCIDRs) {
    const error = `--cluster-cidr is not set but ${switches} and ${mention(readings, 'allocateNodeCIDRs')} ask for routes: set --cluster-cidr, or HCLOUD_NETWORK_ROUTES_ENABLED=false`;
    return { errors: [error], warnings: [] };
  }
  const hint = `${switches} asks for routes: set --cluster-cidr, or HCLOUD_NETWORK_ROUTES_ENABLED=false`;
  return {
    errors: [],
    warnings: [{ msg: 'Left the route controller idle', fields: { setting: '--cluster-cidr', hint } }],
  };
}

function findWarnings({ values, set }: Readings): Warning[] {
  const setting = (key: SettingKey): string => set.get(key)?.source.name ?? nameOf(table[key]);
  const warnings: (Warning | false)[] = [
    values.token !== undefined &&
      values.token.length !== 64 && {
        msg: 'Found a token of unusual length',
        fields: { setting: setting('token'), hint: `tokens have 64 characters, this one has ${values.token.length}` },
      },
    values.serverCacheMode !== 'all' && {
      msg: 'Ignored the server cache mode',
      fields: { setting: setting('serverCacheMode'), hint: 'one shared snapshot serves every mode' },
    },
    !values.leaderElect && {
      msg: 'Switched leader election off',
      fields: { setting: setting('leaderElect'), hint: 'several pods would act at once: run exactly one' },
    },
    values.usePrivateIP &&
      primaryNetwork(values) === undefined && {
        msg: 'Found private targets without a network',
        fields: { setting: setting('usePrivateIP'), hint: 'set HCLOUD_NETWORK, or load balancers get no targets' },
      },
    values.networkGateways !== undefined &&
      (!wantsRoutes(values) || values.clusterCIDRs === undefined) && {
        msg: 'Ignored the gateways between networks',
        fields: {
          setting: setting('networkGateways'),
          hint: 'routes are off: see HCLOUD_NETWORK_ROUTES_ENABLED and --cluster-cidr',
        },
      },
    Object.values(values.controllers).every(on => !on) && {
      msg: 'Left all controllers idle',
      fields: { setting: setting('controllers'), hint: 'add * to the list: without it only those named run' },
    },
    values.nodeIPAM &&
      !values.controllers.ipam && {
        msg: 'Left the IPAM controller idle',
        fields: {
          setting: setting('controllers'),
          hint: 'add node-ipam-controller to the list, or unset HCLOUD_NODE_IPAM',
        },
      },
  ];
  return warnings.filter(warning => warning !== false);
}

/**
 * The rules that span settings. Each looks only at settings that are valid by themselves, so that one mistake
 * gives one message.
 */
export function checkRules(readings: Readings): Findings {
  const { values, set } = readings;
  const valid = (...keys: SettingKey[]): boolean => keys.every(key => !readings.errors.has(key));
  const errors: string[] = [];
  if (valid('token') && values.token === undefined) {
    errors.push(
      'HCLOUD_TOKEN is not set: must be an API token, in HCLOUD_TOKEN or in the file named by HCLOUD_TOKEN_FILE',
    );
  }
  if (set.has('location') && set.has('networkZone')) {
    errors.push(
      `${mention(readings, 'location')} and ${mention(readings, 'networkZone')} exclude each other: set only one`,
    );
  }
  if (values.robotEnabled && valid('robotUser', 'robotPassword'))
    errors.push(...checkPair(readings, 'robotUser', 'robotPassword'));
  if (valid('network', 'controlPlaneNetwork')) errors.push(...checkNetworks(readings));
  if (valid('networkPodCIDRs', 'clusterCIDRs')) errors.push(...checkPodCIDRs(readings));
  if (valid('networkPodCIDRs', 'networkGateways')) errors.push(...checkGateways(readings));
  if (valid(...ipamKeys)) errors.push(...checkIPAM(readings));
  if (values.securePort !== 0) errors.push(...checkPair(readings, 'tlsCertFile', 'tlsPrivateKeyFile'));
  if (valid('leaseDuration', 'renewDeadline', 'retryPeriod', 'leaderElect'))
    errors.push(...checkLeaderElection(readings));
  if (valid('metricsEnabled', 'metricsAddress', 'securePort', 'bindAddress')) errors.push(...checkListeners(readings));
  const routes = valid(
    'clusterCIDRs',
    'networkRoutesEnabled',
    'configureCloudRoutes',
    'controllers',
    'allocateNodeCIDRs',
  )
    ? checkRoutes(readings)
    : { errors: [], warnings: [] };
  return { errors: [...errors, ...routes.errors], warnings: [...findWarnings(readings), ...routes.warnings] };
}
