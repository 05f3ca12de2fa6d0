import type { ActionCourse } from './actions.ts';
import type { FakeRequest } from './wire.ts';

/** What goes wrong. Those before the handler have no effect on the state; the others happen to its answer. */
export type FaultKind =
  /** Instead of the handler: an error envelope, a gateway's HTML page, a redirect, silence, a reset connection. */
  | {
      readonly kind: 'error';
      readonly status: number;
      readonly code: string;
      readonly message?: string;
      readonly details?: Record<string, unknown>;
    }
  | { readonly kind: 'html'; readonly status: 502 | 503 | 504 }
  | { readonly kind: 'redirect'; readonly location: string; readonly status?: number }
  | { readonly kind: 'hang' | 'reset' }
  /** After the handler: the effect is there, the answer is not. */
  | { readonly kind: 'lost-after-effect' | 'reset-after-effect' | 'truncated' }
  | { readonly kind: 'slow'; readonly ms: number }
  /** JSON labelled as something else (`text/plain` by default). */
  | { readonly kind: 'wrong-type'; readonly contentType?: string }
  /** An answer that is changed on its way: headers (undefined removes one), status, parsed body. A string body goes out as it is. */
  | {
      readonly kind: 'rewrite';
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string | undefined>>;
      readonly body?: (body: unknown) => unknown;
    }
  /** The request is accepted; its action runs longer, or fails. */
  | ({ readonly kind: 'action' } & Partial<ActionCourse>);

export type Fault = FaultKind & {
  readonly method?: string;
  /** Tested against the path without `/v1`, or compared with the path and with the route template. Absent: every path. */
  readonly path?: RegExp | string;
  /** How often it strikes; for ever when absent. */
  readonly times?: number;
  /** Lets this many matching requests pass first. */
  readonly skip?: number;
  /** Stops this many ms after it was added. */
  readonly forMs?: number;
  readonly when?: (request: FakeRequest) => boolean;
};

export interface FaultHandle {
  remove(): void;
  /** How often it struck. */
  readonly struck: number;
}

export interface Faults {
  add(fault: Fault): FaultHandle;
  clear(): void;
}

export interface FaultBook extends Faults {
  /** The first fault that applies to the request, counted as struck. */
  take(at: number, request: FakeRequest, path: string, template: string | undefined): Fault | undefined;
}

interface Entry {
  readonly fault: Fault;
  readonly until: number;
  skip: number;
  struck: number;
}

function applies({ fault }: Entry, request: FakeRequest, path: string, template: string | undefined): boolean {
  if (fault.method !== undefined && fault.method !== request.method) return false;
  if (
    fault.path instanceof RegExp
      ? !fault.path.test(path)
      : fault.path !== undefined && ![path, template].includes(fault.path)
  )
    return false;
  return fault.when?.(request) ?? true;
}

export function createFaultBook(now: () => number): FaultBook {
  const entries = new Set<Entry>();
  return {
    add(fault) {
      const entry: Entry = {
        fault,
        until: now() + (fault.forMs ?? Number.POSITIVE_INFINITY),
        skip: fault.skip ?? 0,
        struck: 0,
      };
      entries.add(entry);
      return {
        remove: () => {
          entries.delete(entry);
        },
        get struck() {
          return entry.struck;
        },
      };
    },
    clear: () => entries.clear(),
    take(at, request, path, template) {
      for (const entry of entries) {
        if (at >= entry.until) entries.delete(entry);
        else if (applies(entry, request, path, template)) {
          if (entry.skip-- > 0) continue;
          entry.struck++;
          if (entry.struck === entry.fault.times) entries.delete(entry);
          return entry.fault;
        }
      }
      return undefined;
    },
  };
}
