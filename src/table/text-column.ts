/** Functions for columns of texts and of lists of texts, which are the input of text indexes. */
import { bitmapBytes, copyBits, countBits, setBits } from '../arrow/bits.js'
import { type Column, isValid } from '../arrow/column.js'
import { takeColumn } from '../arrow/take.js'
import type { DataType } from '../arrow/types.js'
import { assert } from '../errors.js'
import type { Bitset } from '../primitives/bitset.js'

/** Return whether a type is text or a list of texts. The texts may be dictionary-encoded. */
export function holdsText(type: DataType): boolean {
  return isText(type) || (type.kind === 'list' && isText(type.child.type))
}

function isText(type: DataType): boolean {
  return type.kind === 'utf8' || (type.kind === 'dictionary' && type.value.kind === 'utf8')
}

/** Replace dictionary-encoded texts of a column by plain texts. Returns other columns unchanged. */
export function plainTexts(column: Column): Column {
  const { type, dictionary } = column
  if (type.kind === 'list') {
    const child = column.children[0]!
    if (child.dictionary === null) return column
    const plain = plainTexts(child)
    return { ...column, type: { ...type, child: { ...type.child, type: plain.type } }, children: [plain] }
  }
  if (dictionary === null) return column
  const { values, length } = column
  const entries = new Int32Array(length)
  for (let row = 0; row < length; row++) entries[row] = isValid(column, row) ? Number(values![row]) : -1
  return takeColumn(dictionary, entries)
}

/** Return a copy of a column in which row `i` is null if `kept` does not contain `from + i`. */
export function onlyRows(column: Column, kept: Bitset, from: number): Column {
  const { length } = column
  const validity = new Uint8Array(bitmapBytes(length))
  if (column.validity === null) setBits(validity, 0, length)
  else copyBits(validity, 0, column.validity, 0, length)
  for (let row = 0; row < length; row++) {
    if (!kept.has(from + row)) validity[row >>> 3]! &= ~(1 << (row & 7))
  }
  return { ...column, validity, nullCount: length - countBits(validity, length) }
}

/** Return the total bytes of the texts in the rows before `row` of a plain column. Null rows count too. */
export function bytesBefore({ offsets, children }: Column, row: number): number {
  assert(offsets !== null, 'texts have offsets')
  const at = offsets[row]!
  return children.length === 0 ? at : bytesBefore(children[0]!, at)
}
