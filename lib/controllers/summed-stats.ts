import type { ControllerHooks, QueueStats } from './controller.ts';

/** The hooks of one of several queues, and how it says that it is no more. */
export interface PartHooks extends ControllerHooks {
  end(): void;
}

const none: QueueStats = { ready: 0, delayed: 0, running: 0 };

/** Hooks for queues that run side by side under one name, as those of several networks: metrics hear of them as of one. */
export function summedStats(hooks: ControllerHooks): () => PartHooks {
  const parts = new Map<object, { readonly controller: string; readonly stats: QueueStats }>();
  const tell = (controller: string): void => {
    const own = [...parts.values()].filter(part => part.controller === controller);
    const sum = own.reduce(
      (all, { stats }) => ({
        ready: all.ready + stats.ready,
        delayed: all.delayed + stats.delayed,
        running: all.running + stats.running,
      }),
      none,
    );
    hooks.onStats(controller, sum);
  };
  return () => {
    const key = {};
    return {
      ...hooks,
      onStats: (controller, stats) => {
        parts.set(key, { controller, stats });
        tell(controller);
      },
      end: () => {
        const part = parts.get(key);
        parts.delete(key);
        if (part !== undefined) tell(part.controller);
      },
    };
  };
}
