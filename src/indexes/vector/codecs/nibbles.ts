/** Lists of codes of 4 bits, in blocks as `kernels/fast-scan.ts` scans them. What else rows have may stand behind the parts of their block. */
import { blockRows, partBytes } from '../../../kernels/fast-scan.js'

/** Bytes of a list. `tail`: bytes behind the parts of a block. */
export function nibbleListBytes(rows: number, parts: number, tail = 0): number {
  return Math.ceil(rows / blockRows) * (parts * partBytes + tail)
}

/** Writes the codes of `rows` rows, a byte for each part, into rows `first ..` of a list that has zeros there. */
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

/** Copies the codes of rows to rows of another list that has zeros there. */
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

/** The byte with the code of the row's first part. */
function rowAt(row: number, parts: number, tail: number): number {
  return Math.floor(row / blockRows) * (parts * partBytes + tail) + (row & 15)
}
