import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ControllerList, parseControllerList } from '../../lib/settings/controller-list.ts';

const examples: ReadonlyArray<readonly [string, readonly (keyof ControllerList)[]]> = [
  ['*', ['node', 'lifecycle', 'route', 'loadBalancer', 'ipam']],
  ['*,-cloud-node-controller', ['lifecycle', 'route', 'loadBalancer', 'ipam']],
  ['*,-cloud-node', ['lifecycle', 'route', 'loadBalancer', 'ipam']],
  ['-cloud-node-lifecycle,*', ['node', 'route', 'loadBalancer', 'ipam']],
  ['*, -service , -route', ['node', 'lifecycle', 'ipam']],
  ['*,-service-lb-controller,-node-route-controller,-nodeipam', ['node', 'lifecycle']],
  ['cloud-node', ['node']],
  ['cloud-node-lifecycle-controller,service', ['lifecycle', 'loadBalancer']],
  ['-route', []],
  ['route,-route', ['route']],
  ['*,-route,node-route-controller', ['node', 'lifecycle', 'loadBalancer', 'ipam']],
  ['node-ipam-controller', ['ipam']],
];

describe('the list of controllers', () => {
  for (const [text, on] of examples) {
    it(`"${text}" runs ${on.join(', ') || 'nothing'}`, () => {
      assert.deepEqual(parseControllerList(text), {
        value: {
          node: on.includes('node'),
          lifecycle: on.includes('lifecycle'),
          route: on.includes('route'),
          loadBalancer: on.includes('loadBalancer'),
          ipam: on.includes('ipam'),
        },
      });
    });
  }

  for (const text of ['', ',', 'nodes', '*,-cloud-nodes', '--route', '-*']) {
    it(`"${text}" is refused with the list of names`, () => {
      const parsed = parseControllerList(text);
      assert.ok('allowed' in parsed);
      assert.match(parsed.allowed, /cloud-node-controller, cloud-node, .*node-route-controller, route/);
    });
  }
});
