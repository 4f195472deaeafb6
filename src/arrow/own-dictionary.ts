/** Replaces the dictionary of a column by a smaller dictionary with only the values that its rows use. */
import { assert } from '../errors.js'
import { type Column, isValid, type Values } from './column.js'
import { takeColumn } from './take.js'

/**
 * Return the column with dictionaries that contain only used values, also in nested columns. The values are in the
 * order of their first use.
 */
export function withOwnDictionary(column: Column): Column {
  if (column.dictionary === null) {
    const { children } = column
    return children.length === 0 ? column : { ...column, children: children.map(withOwnDictionary) }
  }
  const { length, values, dictionary } = column
  assert(values !== null, 'a dictionary column without indices')
  const entryOf = new Int32Array(dictionary.length).fill(-1)
  const entries: number[] = []
  const indices = values.slice(0, length) as Values
  for (let row = 0; row < length; row++) {
    if (!isValid(column, row)) continue
    const old = Number(values[row])
    if (entryOf[old] === -1) entryOf[old] = entries.push(old) - 1
    const entry = entryOf[old]!
    if (indices instanceof BigInt64Array || indices instanceof BigUint64Array) indices[row] = BigInt(entry)
    else indices[row] = entry
  }
  if (entries.length === 0) indices.fill(0 as never)
  return {
    ...column,
    values: indices,
    dictionary: withOwnDictionary(takeColumn(dictionary, Uint32Array.from(entries))),
  }
}
