import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { load } from 'js-yaml';
import { clusterCIDR, environment } from '../../lib/simulator/demo/networks/topology.ts';
import { accepted } from '../settings/load-with.ts';
import { container, envOf, refusal, render, skipWithoutHelm } from './render.ts';

const skip = await skipWithoutHelm();
const page = readFileSync(join(import.meta.dirname, '../../docs/networks.md'), 'utf8');

/** The variables that say something about networks or selectors. */
const networkVariables = async (values: object): Promise<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(envOf(await render(values))).filter(([name]) => /NETWORK|SELECTOR|_NODE_/.test(name)),
  );

describe('the values about networks', { skip }, () => {
  it('of the example in the documentation become the settings of the demo', async () => {
    const values = load(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '') as object;
    const variables = await networkVariables(values);
    assert.deepEqual(variables, environment);
    const { args } = container(await render(values));
    assert.ok(args.includes(`--cluster-cidr=${clusterCIDR}`));
    const { settings } = accepted({ env: variables as Record<string, string>, argv: args });
    assert.equal(settings.hcloud.furtherNetworks?.gateways.length, 3);
    assert.equal(settings.controllers.route, true);
  });

  it('of the example for pod CIDRs do, too, with their allocation', async () => {
    const pods = readFileSync(join(import.meta.dirname, '../../docs/node-ipam.md'), 'utf8');
    const values = load(/```yaml\n([\s\S]*?)```/.exec(pods)?.[1] ?? '') as object;
    const variables = await networkVariables(values);
    const { HCLOUD_NETWORK_GATEWAYS: _, ...others } = environment;
    assert.deepEqual(variables, { ...others, HCLOUD_NODE_IPAM: 'true' });
    const { settings } = accepted({
      env: variables as Record<string, string>,
      argv: container(await render(values)).args,
    });
    assert.equal(settings.controllers.ipam, true);
  });

  it('have one for each setting', async () => {
    const networking = {
      enabled: true,
      network: 4711,
      controlPlaneNetwork: 4712,
      workerNetworks: { regex: 'w-[0-9]+' },
      podCIDRs: { 4711: '10.240.0.0/16', b: '10.241.0.0/16' },
      gateways: { 4711: { b: '10.0.0.10', '*': '10.0.0.11' }, b: { 4711: 'none' } },
      nodeIPAM: { enabled: 'true', maskSize: 25 },
      loadBalancerNetwork: 'b',
      routesEnabled: false,
      attachedCheck: false,
    };
    assert.deepEqual(await networkVariables({ networking, nodeLabelSelector: 'group=a' }), {
      HCLOUD_NETWORK: '4711',
      HCLOUD_CONTROL_PLANE_NETWORK: '4712',
      HCLOUD_WORKER_NETWORK_REGEX: 'w-[0-9]+',
      HCLOUD_NETWORK_POD_CIDRS: '4711=10.240.0.0/16,b=10.241.0.0/16',
      HCLOUD_NETWORK_GATEWAYS: '4711/*=10.0.0.11,4711/b=10.0.0.10,b/4711=none',
      HCLOUD_NODE_IPAM: 'true',
      HCLOUD_NODE_CIDR_MASK_SIZE: '25',
      HCLOUD_LOAD_BALANCER_NETWORK: 'b',
      HCLOUD_NETWORK_ROUTES_ENABLED: 'false',
      HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: 'true',
      HCLOUD_SERVER_LABEL_SELECTOR: 'group=a',
    });
  });

  it('do nothing without networking and where they are empty, and what is in env wins', async () => {
    const podCIDRs = { core: '10.240.0.0/16' };
    assert.deepEqual(await networkVariables({ networking: { podCIDRs, routesEnabled: false } }), {});
    const names = Object.keys(await networkVariables({ networking: { enabled: true } }));
    assert.deepEqual(names, ['HCLOUD_NETWORK']);
    const env = { HCLOUD_NETWORK_POD_CIDRS: 'core=10.250.0.0/16', HCLOUD_NETWORK_ROUTES_ENABLED: 'true' };
    const both = await networkVariables({ networking: { enabled: true, podCIDRs, routesEnabled: 'false' }, env });
    assert.deepEqual(
      [both.HCLOUD_NETWORK_POD_CIDRS, both.HCLOUD_NETWORK_ROUTES_ENABLED],
      ['core=10.250.0.0/16', 'true'],
    );
  });

  it('are refused by name where they are of another kind', async () => {
    assert.match(await refusal({ networking: { gateways: { core: '10.0.0.10' } } }), /gateways/);
    assert.match(await refusal({ networking: { podCIDRs: ['10.0.0.0/8'] } }), /podCIDRs/);
  });
});
