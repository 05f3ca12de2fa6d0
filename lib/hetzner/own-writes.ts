/**
 * Entities as our own writes left them, until a list speaks for a later instant. Between an action's success and the
 * next list the process knows better than the newest list; without this each write would need a read after it.
 */
export interface OwnWrites<T extends { readonly id: number }> {
  /** The entity as it is after a write that was known to have succeeded at `at` (monotonic ms). */
  record(entity: T, at: number): void;
  /** The entity was deleted. */
  forget(id: number, at: number): void;
  /** A list with our writes laid over it. Writes that are older than its request are dropped for good. */
  over(entities: readonly T[], requestedAt: number): readonly T[];
}

export const createOwnWrites = <T extends { readonly id: number }>(): OwnWrites<T> => {
  const writes = new Map<number, { readonly entity: T | undefined; readonly at: number }>();
  return {
    record: (entity, at) => {
      writes.set(entity.id, { entity, at });
    },
    forget: (id, at) => {
      writes.set(id, { entity: undefined, at });
    },
    over: (entities, requestedAt) => {
      for (const [id, { at }] of writes) if (at <= requestedAt) writes.delete(id);
      if (writes.size === 0) return entities;
      const read = new Set(entities.map(({ id }) => id));
      const added = [...writes.values()].flatMap(({ entity }) => (entity && !read.has(entity.id) ? [entity] : []));
      return [
        ...entities.flatMap(entity => {
          const write = writes.get(entity.id);
          return write === undefined ? [entity] : (write.entity ?? []);
        }),
        ...added,
      ];
    },
  };
};
