/** The fixed cost of a read, expressed in bytes of a long read: measured on a local disk, about. */
export const readCost = 6 * 1024
