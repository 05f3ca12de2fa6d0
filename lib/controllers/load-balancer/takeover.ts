import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import { subjectOf } from './calls.ts';
import { actionOf } from './describe-change.ts';
import type { LoadBalancerChange, LoadBalancerPlan } from './plan.ts';

/** Most changes that are named. */
const most = 5;

/** Changes that only add something, or write what nobody else reads. */
const isHarmless = (change: LoadBalancerChange): boolean =>
  ['addService', 'addTarget', 'attach', 'enablePublicInterface'].includes(change.kind) ||
  (change.kind === 'update' && change.name === undefined);

/**
 * What a load balancer that a Service takes over had, and what of it will not stay; undefined where all does. Whoever made
 * it finds here what to make again.
 */
export function lossText({ services, targets }: LoadBalancer, { stages }: LoadBalancerPlan): string | undefined {
  const losses = stages.flat().filter(change => !isHarmless(change));
  if (losses.length === 0) return undefined;
  const ports = services.map(({ listenPort }) => listenPort).sort((a, b) => a - b);
  const had = [
    ports.length === 0 ? 'no listen port' : `the listen ports ${ports.join(', ')}`,
    targets.length === 1 ? '1 target' : `${targets.length} targets`,
  ].join(' and ');
  const texts = losses.slice(0, most).map(change => `${actionOf(change)} ${subjectOf(change)}`);
  const more = losses.length > most ? `, and ${losses.length - most} more` : '';
  return `It had ${had}. What changes: ${texts.join(', ')}${more}`;
}
