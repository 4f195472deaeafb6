/** Replaces the values of a column by numbers of different values. */
import { type Column, isValid } from '../../../src/arrow/column.js'
import { asBytes, cellBytes, viewCells } from '../../../src/arrow/layout.js'
import { takeColumn } from '../../../src/arrow/take.js'
import type { DataType } from '../../../src/arrow/types.js'
import { invalidInput, quote } from '../../../src/errors.js'

/**
 * Return a column of a dictionary type with the values of `column`. Throws InvalidInput if the index type cannot number
 * all values.
 */
export function encodeDictionary(
  type: DataType & { readonly kind: 'dictionary' },
  column: Column,
  name: string,
): Column {
  const { length, validity, nullCount } = column
  const keyAt = keyReader(column)
  const known = new Map<string, number>()
  const first: number[] = []
  const { bits, signed } = type.index
  const most = 2 ** (signed ? bits - 1 : bits)
  const values = viewCells(type, new Uint8Array((bits >>> 3) * length), length)
  for (let i = 0; i < length; i++) {
    if (!isValid(column, i)) continue
    const key = keyAt(i)
    let index = known.get(key)
    if (index === undefined) {
      index = first.length
      known.set(key, index)
      first.push(i)
      if (index >= most)
        throw invalidInput(
          `column ${quote(name)} of the Parquet file has more than ${most} different values, but its dictionary has ${signed ? '' : 'u'}int${bits} indices`,
          { hint: 'read the column with the option schema, and a wider index type' },
        )
    }
    if (values instanceof BigInt64Array || values instanceof BigUint64Array) values[i] = BigInt(index)
    else values[i] = index
  }
  const dictionary = takeColumn({ ...column, validity: null, nullCount: 0 }, Uint32Array.from(first))
  return { type, length, nullCount, validity, values, offsets: null, children: [], dictionary }
}

/** Return a function that returns the bytes of the value of a row as a text. */
function keyReader({ type, values, offsets }: Column): (row: number) => string {
  const view = asBytes(values!)
  const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength)
  if (offsets !== null) return row => bytes.toString('latin1', offsets[row], offsets[row + 1])
  if (type.kind === 'bool') return row => String((bytes[row >>> 3]! >>> (row & 7)) & 1)
  const width = cellBytes(type)
  return row => bytes.toString('latin1', width * row, width * (row + 1))
}
