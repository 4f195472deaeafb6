/** Lists of 4-bit codes, in the blocks that `kernels/fast-scan.ts` scans. A block may have a tail with additional data of its rows. */
import { blockRows, partBytes } from '../../../kernels/fast-scan.js'

/** Return the bytes of a list. `tail`: additional bytes per block, default 0. */
export function nibbleListBytes(rows: number, parts: number, tail = 0): number {
  return Math.ceil(rows / blockRows) * (parts * partBytes + tail)
}

/** Write the codes of `rows` rows (one byte per part) to a list, from row `first` on. The list must have zeros there. */
export function putNibbles(
  codes: Uint8Array,
  rows: number,
  parts: number,
  list: Uint8Array,
  first: number,
  tail = 0,
): void {
  for (let i = 0; i < rows; i++) {
    const row = first + i
    const shift = shiftOf(row)
    let to = rowAt(row, parts, tail)
    for (let code = i * parts; code < (i + 1) * parts; code++, to += partBytes)
      list[to] = list[to]! | (codes[code]! << shift)
  }
}

/** Copy the codes of `rows` rows to another list. The target must have zeros there. */
export function copyNibbles(
  from: Uint8Array,
  fromFirst: number,
  to: Uint8Array,
  toFirst: number,
  rows: number,
  parts: number,
  tail = 0,
): void {
  for (let i = 0; i < rows; i++) {
    const fromShift = shiftOf(fromFirst + i)
    const toShift = shiftOf(toFirst + i)
    let source = rowAt(fromFirst + i, parts, tail)
    let target = rowAt(toFirst + i, parts, tail)
    for (let p = 0; p < parts; p++, source += partBytes, target += partBytes)
      to[target] = to[target]! | (((from[source]! >> fromShift) & 15) << toShift)
  }
}

function shiftOf(row: number): number {
  return (row & 16) >> 2
}

/** Return the position of the byte with the code of the row's first part. */
function rowAt(row: number, parts: number, tail: number): number {
  return Math.floor(row / blockRows) * (parts * partBytes + tail) + (row & 15)
}
