/** Checks that text is UTF-8. */
import { isAscii, isUtf8 } from 'node:buffer'
import { type Column, isValid } from './column.js'

/** Return the first row of a utf8 column that is not null and not valid UTF-8, or -1 if there is none. */
export function invalidUtf8Row(column: Column): number {
  const bytes = column.values as Uint8Array
  const offsets = column.offsets!
  if (isAscii(bytes)) return -1
  const allValid = isUtf8(bytes)
  for (let i = 0; i < column.length; i++) {
    const start = offsets[i]!
    const end = offsets[i + 1]!
    if (start === end) continue
    // If all bytes of the column together are valid UTF-8, a value is valid unless it starts or ends inside a
    // character.
    const isSound = allValid
      ? (bytes[start]! & 0xc0) !== 0x80 && (end === bytes.length || (bytes[end]! & 0xc0) !== 0x80)
      : isUtf8(bytes.subarray(start, end))
    if (!isSound && isValid(column, i)) return i
  }
  return -1
}
