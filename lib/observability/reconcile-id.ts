import { randomBytes } from 'node:crypto';

/** A short id that ties the log lines of one run together: 8 hex characters. */
export const reconcileID = (): string => randomBytes(4).toString('hex');
