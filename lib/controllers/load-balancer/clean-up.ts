import type { LoadBalancer } from '../../hetzner/lb-types.ts';
import type { LoadBalancers } from '../../hetzner/load-balancers.ts';
import { pause } from '../../hetzner/pause.ts';
import type { CallOptions } from '../../hetzner/types.ts';
import type { KubeService } from '../../kubernetes/types.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../streams/clock.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Project } from '../project.ts';
import type { CertificateKeeper } from './certificate-keeper.ts';
import { ownerLabel } from './identity.ts';
import { type ServiceReport, textOf } from './report.ts';
import { settleTime } from './settle-time.ts';
import type { LoadBalancerView } from './view.ts';

export interface CleanUpDeps {
  readonly api: LoadBalancers;
  readonly view: LoadBalancerView;
  /** Told that a load balancer is gone. */
  readonly forget: (id: number) => void;
  readonly pipelineOf: (id: number) => Pipeline;
  readonly certificates: CertificateKeeper;
  readonly project: Pick<Project, 'doubt'>;
  readonly clock: Clock;
}

/**
 * Deletes all load balancers and certificates of a Service that was given up; a list from after that says what is there.
 * What is protected against deletion stays as it is, but belongs to nobody from then on. Where there is none, and the project
 * may be another one, resolves with that doubt: the Service must not be let go. Rejects with the API's error.
 */
export async function cleanUpLoadBalancers(
  service: KubeService,
  { api, view, forget, pipelineOf, certificates, project, clock }: CleanUpDeps,
  tell: ServiceReport,
  log: Logger,
  o: CallOptions,
): Promise<string | undefined> {
  const keep = async (loadBalancer: LoadBalancer): Promise<void> => {
    const { [ownerLabel]: _, ...labels } = loadBalancer.labels;
    view.record(await api.update(loadBalancer.id, { labels }, o));
    tell.kept(loadBalancer);
    log.info('Kept protected load balancer', { loadBalancerID: loadBalancer.id });
  };
  const remove = async ({ id }: LoadBalancer): Promise<void> => {
    tell.deleting();
    await pipelineOf(id).run([async signal => void (await api.delete(id, { ...o, signal }))], o.signal);
    forget(id);
    log.info('Deleted load balancer', { loadBalancerID: id });
    tell.deleted();
  };

  const since = clock.monotonic();
  await pause(settleTime, o.signal);
  const all = await view.load(since, o);
  const ours = all.filter(({ labels }) => labels[ownerLabel] === service.uid);
  const doubt = ours.length === 0 ? await project.doubt(o) : undefined;
  if (doubt !== undefined) return doubt;
  if (ours.length === 0 && service.ingress.length > 0) {
    log.warn('Found no load balancer to delete', {
      hint: 'it was deleted before, or HCLOUD_TOKEN is of another project',
    });
    tell.nothingToDelete();
  }
  try {
    for (const loadBalancer of ours) {
      await (loadBalancer.isProtected ? keep(loadBalancer) : remove(loadBalancer));
    }
    await certificates.cleanUpAll(service, o);
    return undefined;
  } catch (err) {
    if (!o.signal.aborted) {
      view.invalidate();
      tell.failed(textOf(err));
    }
    throw err;
  }
}
