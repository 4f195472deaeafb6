import { expect, test } from 'vitest'
import type { Column } from '../../src/arrow/column.js'
import { withOwnDictionary } from '../../src/arrow/own-dictionary.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { takeColumn } from '../../src/arrow/take.js'
import type { DataType } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'

const words: DataType = {
  kind: 'dictionary',
  index: { kind: 'int', bits: 8, signed: true },
  value: { kind: 'utf8', large: false },
  ordered: false,
}
const list: DataType = { kind: 'list', large: false, child: { name: 'item', type: words, nullable: true } }

function columnOf(type: DataType, values: readonly unknown[]): Column {
  return rowsToBatch(
    values.map(x => ({ x })),
    { fields: [{ name: 'x', type, nullable: true }] },
  ).columns[0]!
}

test.each([
  [words, ['a', null, 'b', 'a', 'c'], [4, 0, 1]],
  [words, [null, null], [1]],
  [list, [['a', 'b'], null, ['b', null, 'd']], [2, 0]],
] as const)(
  'keeps the values of %o and only the entries in use, in memory of its own',
  (type, values, rows) => {
    const whole = columnOf(type, values)
    const before = columnValues(whole)
    const taken = takeColumn(whole, Uint32Array.from(rows))
    const own = withOwnDictionary(taken)
    expect(columnValues(own)).toEqual(rows.map(row => values[row]))
    const [inner] = own.children
    const dictionary = (inner ?? own).dictionary!
    expect(new Set(columnValues(dictionary)).size).toBe(dictionary.length)
    expect(dictionary.length).toBeLessThanOrEqual(rows.length + 1)
    ;(dictionary.values as Uint8Array).fill(0x78)
    expect(columnValues(whole)).toEqual(before)
  },
)
