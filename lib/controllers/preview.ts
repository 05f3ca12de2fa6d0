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

/** Many previews as one; what is said twice is said once. */
export function joinPreviews(previews: readonly Preview[]): Preview {
  const notes = previews.flatMap(one => one.notes).map(note => [`${note.object} ${note.text}`, note] as const);
  return { changes: previews.flatMap(({ changes }) => changes), notes: [...new Map(notes).values()] };
}
