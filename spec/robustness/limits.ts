const MINUTE = 60_000;

/** What holds in each cell. The docs show these. */
export const limits = {
  /** ms after the end of the fault within which all is right: the longest wait between two tries, and some work. */
  recovery: 12 * MINUTE,
  /** The same where Hetzner refuses for good what may be asked for only rarely: addresses that cost a gap, certificates. */
  slowRecovery: 75 * MINUTE,
  /** Calls of the operation in any minute while the fault lasts: targets of five load balancers, each tried three times. */
  perMinute: 80,
  /** Changes at Hetzner that were accepted, in all. Without a fault it is 57. */
  writes: 120,
  /** Ends with a message, of two replicas at the pace of pods that fail again and again. */
  ends: 20,
} as const;
