import type { Parsed } from './go-values.ts';

/** Which controllers `--controllers` asks for. */
export interface ControllerList {
  readonly node: boolean;
  readonly lifecycle: boolean;
  readonly route: boolean;
  readonly loadBalancer: boolean;
  readonly ipam: boolean;
}

/** The upstream name of each controller, then its alias. */
const controllerNames: Readonly<Record<keyof ControllerList, readonly [string, string]>> = {
  node: ['cloud-node-controller', 'cloud-node'],
  lifecycle: ['cloud-node-lifecycle-controller', 'cloud-node-lifecycle'],
  loadBalancer: ['service-lb-controller', 'service'],
  route: ['node-route-controller', 'route'],
  ipam: ['node-ipam-controller', 'nodeipam'],
};

const knownNames: readonly string[] = Object.values(controllerNames).flat();

/**
 * Comma-separated list: `*` turns all on, `name` one on, `-name` one off; without `*` only those named run.
 * The first item that speaks of a controller decides, as in upstream's IsControllerEnabled.
 */
export function parseControllerList(text: string): Parsed<ControllerList> {
  const items = text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '');
  const valid = items.every(item => item === '*' || knownNames.includes(item.replace(/^-/, '')));
  if (!valid || items.length === 0) {
    return { allowed: `must be a comma-separated list of *, names and -names; names are ${knownNames.join(', ')}` };
  }
  const isOn = (names: readonly string[]): boolean => {
    const first = items.find(item => names.includes(item.replace(/^-/, '')));
    return first === undefined ? items.includes('*') : !first.startsWith('-');
  };
  return {
    value: {
      node: isOn(controllerNames.node),
      lifecycle: isOn(controllerNames.lifecycle),
      route: isOn(controllerNames.route),
      loadBalancer: isOn(controllerNames.loadBalancer),
      ipam: isOn(controllerNames.ipam),
    },
  };
}
