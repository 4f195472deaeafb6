/**
 * Writes and copies lists of 4-bit codes in the block format of `kernels/fast-scan.ts`. A block may end with a tail,
 * which has additional data of its rows.
 */
import { blockRows, partBytes } from '../../../kernels/fast-scan.js'

/** Return the number of bytes of a list of `rows` rows. `tail`: number of additional bytes per block, default 0. */
export function nibbleListBytes(rows: number, parts: number, tail = 0): number {
  return Math.ceil(rows / blockRows) * (parts * partBytes + tail)
}

/**
 * Write the codes of `rows` rows to a list, from row `first` on. `codes`: one byte per part, row by row. Before
 * the call, these rows of the list must consist of zeros.
 */
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

/**
 * Copy the codes of `rows` rows to another list. Before the copy, these rows of the other list must consist of zeros.
 */
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

/** Return the offset in the list of the byte that contains the code of the row's first part. */
function rowAt(row: number, parts: number, tail: number): number {
  return Math.floor(row / blockRows) * (parts * partBytes + tail) + (row & 15)
}
