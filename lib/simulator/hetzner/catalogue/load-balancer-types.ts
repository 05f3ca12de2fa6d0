import { locations } from './locations.ts';
import { includedTraffic, price } from './server-types.ts';

/** The load balancer types (facts, section 9.3), as the API shows them. Limits of lb31 and prices are made up. */
export interface LoadBalancerTypeEntry {
  readonly id: number;
  readonly name: string;
  readonly max_services: number;
  readonly max_targets: number;
  readonly max_assigned_certificates: number;
  readonly [field: string]: unknown;
}

const rows: readonly (readonly [services: number, targets: number, certificates: number, connections: number])[] = [
  [5, 25, 10, 10_000],
  [15, 75, 25, 20_000],
  [30, 150, 50, 40_000],
];

export const loadBalancerTypes: readonly LoadBalancerTypeEntry[] = rows.map(
  ([services, targets, certificates, connections], index) => ({
    id: index + 1,
    name: `lb${index + 1}1`,
    description: `LB${index + 1}1`,
    max_connections: connections,
    max_services: services,
    max_targets: targets,
    max_assigned_certificates: certificates,
    deprecated: null,
    deprecation: null,
    prices: locations.map(one => ({
      location: one.name,
      price_hourly: price(services * 0.0017),
      price_monthly: price(services * 1.08),
      included_traffic: includedTraffic,
      price_per_tb_traffic: price(1),
    })),
  }),
);
