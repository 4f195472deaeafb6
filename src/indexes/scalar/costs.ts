/** Defines the thresholds from which another algorithm with the same result is faster. */

/**
 * Maximum number of values that an estimate looks up one by one. For more values, an estimate counts whole strides or
 * pages.
 */
export const exactMembers = 1024

/** Return whether sorting `count` row numbers is faster than filling and reading a bitmap of all `length` rows. */
export function fewRows(count: number, length: number): boolean {
  return count * 1024 <= length || count <= 64
}
