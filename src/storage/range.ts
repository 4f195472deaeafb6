import { assert, corrupted } from '../errors.js'

/** Throw `Internal` if the range of `length` bytes from `offset` on is not inside a blob of `size` bytes. */
export function checkRange(key: string, size: number, offset: number, length: number): void {
  assert(
    Number.isSafeInteger(offset) && offset >= 0 && length >= 0,
    `a range must start at 0 or later and have no negative length, got ${offset} and ${length}`,
  )
  if (offset + length > size) {
    throw corrupted(`${key} is cut off: it ends at byte ${size}, before byte ${offset + length}`)
  }
}
