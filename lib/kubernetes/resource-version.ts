/**
 * Whether version `a` is newer than `b`. Versions of one resource grow and may be compared (Kubernetes 1.35, KEP-5504);
 * one that is no number is newer than nothing.
 */
export const isNewerVersion = (a: string, b: string): boolean => numberOf(a) > numberOf(b);

const numberOf = (version: string): bigint => (/^\d{1,20}$/.test(version) ? BigInt(version) : 0n);
