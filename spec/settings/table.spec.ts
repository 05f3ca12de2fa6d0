import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultOf } from '../../lib/settings/readings.ts';
import { renderHelp, renderReference } from '../../lib/settings/reference.ts';
import { knownFlags, knownVariables, rows } from '../../lib/settings/table.ts';

/** The variables of the peer, facts/peer-behaviour.md section 1.2. */
const peerVariables =
  `HCLOUD_TOKEN HCLOUD_TOKEN_FILE HCLOUD_ENDPOINT HCLOUD_NETWORK HCLOUD_DEBUG HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK
HCLOUD_NETWORK_ROUTES_ENABLED HCLOUD_INSTANCES_ADDRESS_FAMILY HCLOUD_INSTANCES_ZONE_LABEL_ENABLED HCLOUD_SERVER_CACHE_MODE
HCLOUD_SERVER_CACHE_MAX_AGE HCLOUD_METRICS_ENABLED HCLOUD_METRICS_ADDRESS ROBOT_ENABLED ROBOT_USER ROBOT_USER_FILE ROBOT_PASSWORD
ROBOT_PASSWORD_FILE ROBOT_CACHE_TIMEOUT ROBOT_RATE_LIMIT_WAIT_TIME ROBOT_FORWARD_INTERNAL_IPS HCLOUD_LOAD_BALANCERS_ENABLED
HCLOUD_LOAD_BALANCERS_LOCATION HCLOUD_LOAD_BALANCERS_NETWORK_ZONE HCLOUD_LOAD_BALANCERS_TYPE HCLOUD_LOAD_BALANCERS_ALGORITHM_TYPE
HCLOUD_LOAD_BALANCERS_DISABLE_PUBLIC_NETWORK HCLOUD_LOAD_BALANCERS_DISABLE_PRIVATE_INGRESS HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP
HCLOUD_LOAD_BALANCERS_DISABLE_IPV6 HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE
HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_INTERVAL HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_TIMEOUT HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES`.split(
    /\s+/,
  );

/** The flags of facts/peer-behaviour.md section 9. */
const peerFlags =
  `cloud-provider allow-untagged-cloud leader-elect leader-elect-lease-duration leader-elect-renew-deadline
leader-elect-retry-period leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace controllers
node-status-update-frequency concurrent-node-syncs concurrent-node-status-updates concurrent-service-syncs node-monitor-period
route-reconciliation-period configure-cloud-routes cluster-cidr allocate-node-cidrs cluster-name min-resync-period feature-gates
secure-port webhook-secure-port kube-api-qps kube-api-burst kubeconfig master use-service-account-credentials
controller-start-interval profiling v vmodule logging-format`.split(/\s+/);

describe('the table of settings', () => {
  it('knows every variable and flag of the peer', () => {
    assert.deepEqual(
      peerVariables.filter(name => !knownVariables.includes(name)),
      [],
    );
    assert.deepEqual(
      peerFlags.filter(name => !knownFlags.has(name)),
      [],
    );
  });

  it('names each setting once', () => {
    assert.equal(new Set(knownVariables).size, knownVariables.length);
    const flags = rows.flatMap(([, { flag }]) => flag ?? []);
    assert.equal(new Set(flags).size, flags.length);
  });

  it('has defaults that its own types accept', () => {
    for (const [key, setting] of rows) {
      assert.equal(defaultOf(setting) !== undefined, setting.fallback !== undefined, key);
    }
  });

  it('gives each setting a name', () => {
    for (const [key, { variable, flag }] of rows) assert.ok(variable ?? flag, key);
  });
});

describe('the settings reference', () => {
  it('has a row with as many cells as the head for each setting', () => {
    const lines = renderReference()
      .split('\n')
      .filter(line => line.startsWith('| `'));
    assert.equal(lines.length, rows.length);
    for (const line of lines) assert.equal(line.split(/(?<!\\)\|/).length, 7, line);
  });

  it('names every variable and flag', () => {
    const text = renderReference();
    for (const name of knownVariables) assert.ok(text.includes(`\`${name}\``), name);
    for (const name of knownFlags.keys()) {
      assert.ok(['help', 'version', 'v'].includes(name) || text.includes(`\`--${name}\``), name);
    }
  });

  it('has a short form for --help', () => {
    assert.match(renderHelp(), / {2}--secure-port {2}integer \(default 10258\)\n/);
    assert.match(renderHelp(), / {2}HCLOUD_TOKEN, HCLOUD_TOKEN_FILE {2}text\n/);
  });
});
