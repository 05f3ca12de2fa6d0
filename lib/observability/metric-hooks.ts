import type { Clock } from '../streams/clock.ts';
import type { Outcome } from '../streams/outcome.ts';
import type { Metrics } from './metrics.ts';
import { trackRuns } from './run-tracker.ts';

interface HetznerReport {
  readonly method: string;
  readonly route: string;
  readonly code: number | string;
  readonly durationMs: number;
}

interface KubeReport {
  readonly method: string;
  readonly code: number | string;
  readonly durationMs: number;
}

interface RunReport {
  readonly outcome: Outcome;
  /** ms */
  readonly waited: number;
  /** ms */
  readonly duration: number;
}

interface QueueStats {
  readonly ready: number;
  readonly running: number;
}

/** Ids out, query out: the number of series must not grow with the number of servers. */
const endpointOf = (route: string): string => (route.split('?', 1)[0] ?? '').replace(/\/\d+(?=\/|$)/g, '/-');

/** What the Hetzner client tells -> metrics. Methods are lower case, as the peer has them. */
export const hetznerHooks = (metrics: Metrics) => ({
  onRequest: ({ method, route, code, durationMs }: HetznerReport): void => {
    const verb = method.toLowerCase();
    metrics.hcloudRequests.inc({ code: String(code), method: verb, api_endpoint: endpointOf(route) });
    metrics.hcloudDuration.observe({ method: verb }, durationMs / 1000);
  },
  onInFlight: (count: number): void => metrics.hcloudInFlight.set({}, count),
  onHeaders: ({ limit, remaining }: { limit?: number | undefined; remaining?: number | undefined }): void => {
    if (limit !== undefined) metrics.budgetLimit.set({}, limit);
    if (remaining !== undefined) metrics.budgetRemaining.set({}, remaining);
  },
});

/** What the Kubernetes client tells -> metrics. No answer is the code `<error>`, as in client-go. */
export const kubeHooks = (metrics: Metrics, host: string) => ({
  onRequest: ({ method, code, durationMs }: KubeReport): void => {
    const verb = method.toUpperCase();
    metrics.kubeRequests.inc({ code: code === 0 ? '<error>' : String(code), method: verb, host });
    metrics.kubeDuration.observe({ verb, host }, durationMs / 1000);
  },
});

/** What list and watch tell -> metrics. */
export const watchHooks = (metrics: Metrics, resource: string) => ({
  onEvent: (): void => metrics.watchEvents.inc({ resource }),
  onRestart: (cause: string): void => metrics.watchRestarts.inc({ resource, cause }),
});

/** Names of the work queues in the peer, where it has the same queue. */
const queueNames: Readonly<Record<string, string>> = { node: 'Nodes', route: 'Routes', loadBalancer: 'service' };

/** What the controllers tell -> metrics. */
export const controllerHooks = (metrics: Metrics, clock: Pick<Clock, 'monotonic'>) => {
  const trackers = new Map<string, ReturnType<typeof trackRuns>>();
  const trackerOf = (controller: string) => {
    const tracker = trackers.get(controller) ?? trackRuns(clock);
    trackers.set(controller, tracker);
    return tracker;
  };
  const nameOf = (controller: string): string => queueNames[controller] ?? controller;
  metrics.onRender(() => {
    for (const [controller, tracker] of trackers) {
      const { unfinished, longest } = tracker.now();
      metrics.unfinishedWork.set({ name: nameOf(controller) }, unfinished / 1000);
      metrics.longestRunning.set({ name: nameOf(controller) }, longest / 1000);
    }
  });
  return {
    onTrigger: (controller: string): void => metrics.queueAdds.inc({ name: nameOf(controller) }),
    onRun: (controller: string, { outcome, waited, duration }: RunReport): void => {
      const name = nameOf(controller);
      trackerOf(controller).ended(duration);
      metrics.queueDuration.observe({ name }, waited / 1000);
      metrics.workDuration.observe({ name }, duration / 1000);
      metrics.outcomes.inc({ controller, outcome: outcome.kind });
      if (outcome.kind === 'failed') metrics.queueRetries.inc({ name });
      if (controller === 'route') metrics.routeSyncs.inc({});
    },
    onStats: (controller: string, { ready, running }: QueueStats): void => {
      metrics.queueDepth.set({ name: nameOf(controller) }, ready);
      trackerOf(controller).running(running);
    },
  };
};
