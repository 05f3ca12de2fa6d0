import { locations } from './locations.ts';

/** Some server types, as the API shows them. Sizes are real, prices are made up. */
export interface ServerType {
  readonly id: number;
  readonly name: string;
  readonly cores: number;
  readonly memory: number;
  readonly disk: number;
  readonly architecture: string;
  readonly [field: string]: unknown;
}

type Row = readonly [
  id: number,
  name: string,
  cores: number,
  memory: number,
  disk: number,
  family: keyof typeof families,
];

const families = {
  cost: { cpu: 'shared', architecture: 'x86', category: 'cost_optimized', places: ['fsn1', 'nbg1', 'hel1'] },
  arm: { cpu: 'shared', architecture: 'arm', category: 'cost_optimized', places: ['fsn1', 'nbg1', 'hel1'] },
  regular: { cpu: 'shared', architecture: 'x86', category: 'regular_purpose', places: locations.map(one => one.name) },
  dedicated: {
    cpu: 'dedicated',
    architecture: 'x86',
    category: 'general_purpose',
    places: locations.map(one => one.name),
  },
} as const;

const rows: readonly Row[] = [
  [22, 'cpx11', 2, 2, 40, 'regular'],
  [23, 'cpx21', 3, 4, 80, 'regular'],
  [24, 'cpx31', 4, 8, 160, 'regular'],
  [25, 'cpx41', 8, 16, 240, 'regular'],
  [26, 'cpx51', 16, 32, 360, 'regular'],
  [45, 'cax11', 2, 4, 40, 'arm'],
  [93, 'cax21', 4, 8, 80, 'arm'],
  [94, 'cax31', 8, 16, 160, 'arm'],
  [95, 'cax41', 16, 32, 320, 'arm'],
  [96, 'ccx13', 2, 8, 80, 'dedicated'],
  [97, 'ccx23', 4, 16, 160, 'dedicated'],
  [104, 'cx22', 2, 4, 40, 'cost'],
  [105, 'cx32', 4, 8, 80, 'cost'],
  [114, 'cx23', 2, 4, 40, 'cost'],
  [115, 'cx33', 4, 8, 80, 'cost'],
  [116, 'cx43', 8, 16, 160, 'cost'],
  [117, 'cx53', 16, 32, 320, 'cost'],
];

/** A price as the API writes it: decimal strings. */
export const price = (net: number): unknown => ({ net: net.toFixed(4), gross: (net * 1.19).toFixed(4) });

/** 20 TB, in bytes. */
export const includedTraffic = 20 * 1024 ** 4;

function serverType([id, name, cores, memory, disk, familyName]: Row): ServerType {
  const family = families[familyName];
  const places = locations.filter(one => (family.places as readonly string[]).includes(one.name));
  return {
    id,
    name,
    description: name.toUpperCase(),
    cores,
    memory,
    disk,
    deprecated: false,
    prices: places.map(one => ({
      location: one.name,
      price_hourly: price(cores * 0.004),
      price_monthly: price(cores * 2.4),
      included_traffic: includedTraffic,
      price_per_tb_traffic: price(1),
    })),
    storage_type: 'local',
    cpu_type: family.cpu,
    category: family.category,
    architecture: family.architecture,
    deprecation: null,
    locations: places.map(one => ({
      id: one.id,
      name: one.name,
      deprecation: null,
      recommended: true,
      available: true,
    })),
  };
}

export const serverTypes: readonly ServerType[] = rows.map(serverType);
