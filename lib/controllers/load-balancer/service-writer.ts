import type { KubeClient } from '../../kubernetes/client.ts';
import { isConflict, isNotFound } from '../../kubernetes/errors.ts';
import type { OwnWrites } from '../../kubernetes/own-writes.ts';
import { patchServiceStatus, type ServicePatch } from '../../kubernetes/service-patches.ts';
import type { Store } from '../../kubernetes/store.ts';
import type { KubeService } from '../../kubernetes/types.ts';
import { done, type Outcome } from '../../streams/outcome.ts';
import type { Reconcile } from '../controller.ts';
import { failedWrite } from '../failed-write.ts';
import { cleanupFinalizer } from './ownership.ts';
import { textOf } from './report.ts';

/** Writes finalizers and status of Services. Resolves with how the run ends where that can't be had. */
export interface ServiceWriter {
  /** A conflict is an outcome of its own. */
  write(service: KubeService, patch: ServicePatch, run: Reconcile): Promise<KubeService | Outcome>;
  /** The finalizer comes before the load balancer: a Service deleted in between would leave it behind. */
  hold(service: KubeService, run: Reconcile): Promise<KubeService | Outcome>;
}

export interface ServiceWriterDeps {
  readonly client: KubeClient;
  readonly services: Pick<Store<KubeService>, 'get'>;
  readonly ownWrites: Pick<OwnWrites<KubeService>, 'record'>;
  /** Told what could not be written. */
  readonly onFailure: (service: KubeService, problem: string) => void;
}

export function createServiceWriter({ client, services, ownWrites, onFailure }: ServiceWriterDeps): ServiceWriter {
  const write: ServiceWriter['write'] = async (service, patch, { key, attempt, signal }) => {
    try {
      const written = await patchServiceStatus(client, service, patch, signal);
      ownWrites.record(written);
      return written;
    } catch (err) {
      if (isNotFound(err) && services.get(key) === undefined) return done;
      if (!signal.aborted && !isConflict(err)) onFailure(service, textOf(err));
      return failedWrite(err, attempt);
    }
  };
  return {
    write,
    hold: async (service, run) => {
      if (service.finalizers.includes(cleanupFinalizer)) return service;
      return write(service, { finalizers: [...service.finalizers, cleanupFinalizer] }, run);
    },
  };
}
