/** About the cost of a read beside its bytes, in bytes of a long read: measured on a local disk. */
export const readCost = 6 * 1024
