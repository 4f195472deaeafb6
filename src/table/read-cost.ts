/**
 * Approximate fixed cost of one read, as the number of bytes that a long read transfers in the same time. Measured on a
 * local disk.
 */
export const readCost = 6 * 1024
