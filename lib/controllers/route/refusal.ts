import { classOf, isLimitExceeded } from '../../hetzner/errors.ts';
import { obstacleTo } from './plan.ts';

/** What Hetzner refused, with the route that is in the way where one is: Hetzner itself does not name it. */
export function explainRefusal(
  err: unknown,
  destination: string,
  gateways: ReadonlyMap<string, string>,
): { readonly err: unknown; readonly isObstructed: boolean } {
  const obstacle = mayBeOverlap(err) ? obstacleTo(destination, gateways) : undefined;
  if (obstacle === undefined) return { err, isObstructed: false };
  const text = err instanceof Error ? err.message : String(err);
  const explained = `it overlaps the route to ${obstacle.destination} via ${obstacle.gateway}: ${text}`;
  return { err: new Error(explained, { cause: err }), isObstructed: true };
}

/** Only what the API understood and did not want. */
export const mayBeOverlap = (err: unknown): boolean => classOf(err) === 'permanent' && !isLimitExceeded(err);

/** Why a way between networks is not led through another machine, which would cost the one that there is. */
export const noGateway = (wanted: string | undefined, present: string | undefined): Error =>
  new Error(
    `no server in the network has the address ${wanted} of HCLOUD_NETWORK_GATEWAYS, so the route via ${present} stays`,
  );
