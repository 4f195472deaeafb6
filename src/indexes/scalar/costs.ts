/** Thresholds at which another algorithm for the same rows is cheaper. */

/** Maximum number of values that an estimate looks up one by one. For more values, it counts whole strides or pages. */
export const exactMembers = 1024

/** Whether sorting `count` of `length` rows is faster than filling and reading a bitmap of all rows. */
export function fewRows(count: number, length: number): boolean {
  return count * 1024 <= length || count <= 64
}
