/** Which endpoint asks a check: `live` = restart helps, `ready` = not yet of use, `health` = /healthz only. */
export type Probe = 'live' | 'ready' | 'health';

export interface CheckResult {
  readonly name: string;
  /** Why it failed; undefined = fine. For the log only, never for who asks. */
  readonly reason: string | undefined;
}

export interface HealthResult {
  readonly ok: boolean;
  readonly checks: readonly CheckResult[];
}

export interface Health {
  /**
   * Adds or replaces a check. It is called at each question, so it derives its answer from the present state:
   * undefined = fine, else the reason. One that throws has failed. Returns the way to remove it.
   */
  setCheck(name: string, check: () => string | undefined, probe?: Probe): () => void;
  /** /livez: the process works. Answering at all shows that the event loop turns. */
  live(): HealthResult;
  /** /readyz: the process can do its work when asked to; followers of the election are ready. */
  ready(): HealthResult;
  /** /healthz: everything. */
  all(): HealthResult;
}

interface Check {
  readonly run: () => string | undefined;
  readonly probe: Probe;
}

/** Health that is computed when asked for, never stored. `ping`, which always passes, is the first check of each probe. */
export const createHealth = (): Health => {
  const checks = new Map<string, Check>();
  const ask = (probes: readonly Probe[]): HealthResult => {
    const results: CheckResult[] = [{ name: 'ping', reason: undefined }];
    for (const [name, { run, probe }] of checks) {
      if (!probes.includes(probe)) continue;
      try {
        results.push({ name, reason: run() });
      } catch (err) {
        results.push({ name, reason: `the check failed: ${String(err)}` });
      }
    }
    return { ok: results.every(result => result.reason === undefined), checks: results };
  };
  return {
    setCheck: (name, run, probe = 'ready') => {
      const check: Check = { run, probe };
      checks.set(name, check);
      return () => {
        if (checks.get(name) === check) checks.delete(name);
      };
    },
    live: () => ask(['live']),
    ready: () => ask(['ready']),
    all: () => ask(['live', 'ready', 'health']),
  };
};

/**
 * A check that fails once `beat` has not been called for more than `maxAge` ms: for loops that must go on turning, such as
 * the one of the leader election. Before the first beat the time counts from here.
 */
export const heartbeat = (
  clock: { monotonic(): number },
  maxAge: number,
): { beat(): void; check(): string | undefined } => {
  let last = clock.monotonic();
  return {
    beat: () => {
      last = clock.monotonic();
    },
    check: () => {
      const age = clock.monotonic() - last;
      return age > maxAge ? `no sign of life for ${Math.round(age)} ms, at most ${maxAge} ms are expected` : undefined;
    },
  };
};
