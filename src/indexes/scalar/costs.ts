/** From where on another way to the same rows is cheaper. */

/** Values of which each is looked up only to say how many rows there are. */
export const exactMembers = 1024

/** Whether so many of `length` rows are sorted sooner than a bitmap of all is filled and read. */
export function fewRows(count: number, length: number): boolean {
  return count * 1024 <= length || count <= 64
}
