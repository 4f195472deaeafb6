/** About the fixed cost of a read, in bytes of a long read. Measured on a local disk. */
export const readCost = 6 * 1024
