import { concatMap, type Observable, tap } from 'rxjs';
import type { Trigger } from '../../streams/workqueue.ts';
import type { Project } from '../project.ts';

/** Services that wait until it is certain that the token is of the project of their cluster. */
export interface HeldBack {
  add(key: string): void;
  /** All of them, once it is. */
  readonly triggers$: Observable<Trigger>;
}

/** @param onCleared called before they are told: what is known of load balancers may be another project's */
export function createHeldBack({ cleared$ }: Pick<Project, 'cleared$'>, onCleared: () => void): HeldBack {
  const keys = new Set<string>();
  return {
    add: key => void keys.add(key),
    triggers$: cleared$.pipe(
      tap(onCleared),
      concatMap(() => {
        const all = [...keys];
        keys.clear();
        return all.map(key => ({ key, reason: 'Hetzner knows servers of the cluster again' }));
      }),
    ),
  };
}
