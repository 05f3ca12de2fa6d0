/** The locations of Hetzner Cloud (facts, section 10), as the API shows them. */
export interface Location {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly country: string;
  readonly city: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly network_zone: string;
}

type Row = readonly [string, string, string, string, number, number, string];

const rows: readonly Row[] = [
  ['fsn1', 'Falkenstein DC Park 1', 'DE', 'Falkenstein', 50.47612, 12.370071, 'eu-central'],
  ['nbg1', 'Nuremberg DC Park 1', 'DE', 'Nuremberg', 49.452102, 11.076665, 'eu-central'],
  ['hel1', 'Helsinki DC Park 1', 'FI', 'Helsinki', 60.169855, 24.938379, 'eu-central'],
  ['ash', 'Ashburn, VA', 'US', 'Ashburn, VA', 39.045821, -77.487073, 'us-east'],
  ['hil', 'Hillsboro, OR', 'US', 'Hillsboro, OR', 45.54222, -122.951924, 'us-west'],
  ['sin', 'Singapore', 'SG', 'Singapore', 1.283333, 103.833333, 'ap-southeast'],
];

export const locations: readonly Location[] = rows.map(
  ([name, description, country, city, latitude, longitude, network_zone], index) => ({
    id: index + 1,
    name,
    description,
    country,
    city,
    latitude,
    longitude,
    network_zone,
  }),
);

const oldZones: Readonly<Record<string, string>> = {
  fsn1: 'dc14',
  nbg1: 'dc3',
  hel1: 'dc2',
  ash: 'dc1',
  hil: 'dc1',
  sin: 'dc1',
};

/** Name of the former data center of a location; the metadata service still answers it. */
export function oldZone(location: string): string {
  const suffix = oldZones[location];
  return suffix === undefined ? location : `${location}-${suffix}`;
}
