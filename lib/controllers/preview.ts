/** One change a controller would make, as data and in words. */
export interface PlannedChange {
  /** Where it is written. */
  readonly at: 'Hetzner' | 'Kubernetes';
  /** What it is about, such as `Node w1`. */
  readonly object: string;
  /** What is done, such as `create route`. */
  readonly action: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** In words, to follow a colon. */
  readonly why: string;
}

/** What keeps a controller from a change, or what users should know about an object. */
export interface PlannedNote {
  readonly object: string;
  readonly text: string;
}

/** What a controller would do to what was read once, and what it would say. */
export interface Preview {
  readonly changes: readonly PlannedChange[];
  readonly notes: readonly PlannedNote[];
}

/** Many previews as one. */
export const joinPreviews = (previews: readonly Preview[]): Preview => ({
  changes: previews.flatMap(({ changes }) => changes),
  notes: previews.flatMap(({ notes }) => notes),
});
