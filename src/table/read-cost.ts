/**
 * Approximate fixed cost of one read, as the number of bytes that a long read transfers in the same time. Measured on a
 * local disk.
 */
export const readCost = 6 * 1024

/**
 * The same for one read of a row of a Lance file. It is greater, because the reader looks up the page and its encoding
 * for each read.
 */
export const lanceReadCost = 48 * 1024
