/** What the result is compared with. Requests are `without / with GET /actions`. */

export interface RequestFigure {
  readonly withoutActions: number;
  readonly withActions: number;
}

export interface LatencyFigure {
  /** ms */
  readonly p50: number;
  /** ms */
  readonly p99: number;
}

/** The work the figures stand for; other work is not comparable. */
export const comparedWork = { workers: 10, interval: 2_000, idle: 360 } as const;

/** Measured by this project with the same delays, against a simulated Hetzner API and a real kube-apiserver. */
export const peer = {
  name: 'hcloud-cloud-controller-manager v1.35.0',
  requests: {
    takeOver: { withoutActions: 9, withActions: 10 },
    scaleUp: { withoutActions: 26, withActions: 36 },
    idle: { withoutActions: 1, withActions: 1 },
  },
  latencies: {
    initialised: { p50: 20, p99: 200 },
    routed: { p50: 6_000, p99: 10_100 },
    available: { p50: 6_500, p99: 10_600 },
  },
  memoryMiB: 65,
} as const satisfies {
  name: string;
  requests: Record<string, RequestFigure>;
  latencies: Record<string, LatencyFigure>;
  memoryMiB: number;
};

/** Hetzner's blog on the same work, requests without and with its server cache. */
export const hetznerBlog = {
  scaleUp: { before: 114, after: 27 },
  idle: { before: 31, after: 2 },
} as const;
