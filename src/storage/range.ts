import { assert, corrupted } from '../errors.js'

/** Throw `Internal` unless `offset .. offset+length` lies inside a blob of `size` bytes. */
export function checkRange(key: string, size: number, offset: number, length: number): void {
  assert(Number.isSafeInteger(offset) && offset >= 0 && length >= 0, `a range starts at ${offset}`)
  if (offset + length > size) {
    throw corrupted(`${key} is cut off: it ends at byte ${size}, before byte ${offset + length}`)
  }
}
