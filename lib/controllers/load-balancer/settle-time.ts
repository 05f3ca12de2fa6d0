/** ms in which Services that were made or deleted together come to their reads, so that one list serves them all. */
export const settleTime = 250;
