import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Batch, type Column, isValid } from '../../src/arrow/column.js'
import { concatBatches, concatColumns, DictionaryMerger } from '../../src/arrow/concat.js'
import { emptyColumn, nullColumn } from '../../src/arrow/fill.js'
import { encodeBatch } from '../../src/arrow/inline-batch.js'
import { batchBytes, columnBytes } from '../../src/arrow/layout.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { equalSchemas, equalTypes } from '../../src/arrow/same-type.js'
import { selectColumns } from '../../src/arrow/select.js'
import { sliceBatch, sliceColumn } from '../../src/arrow/slice.js'
import { takeBatch, takeColumn } from '../../src/arrow/take.js'
import { childFields, type DataType } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'
import { ErrorCode } from '../../src/errors.js'
import { batches, contents, dataType } from '../support/arrow-generators.js'

const runs = { numRuns: 200 }

/** What `column.ts` promises. */
function checkPromises(column: Column): void {
  const { type, length, validity, offsets } = column
  let nulls = 0
  for (let i = 0; i < length; i++) if (!isValid(column, i)) nulls++
  expect(column.nullCount).toBe(nulls)
  if (nulls > 0 && type.kind !== 'null') expect(validity).not.toBeNull()
  if (offsets !== null) {
    expect(offsets[0]).toBe(0)
    for (let i = 0; i < length; i++) expect(offsets[i + 1]).toBeGreaterThanOrEqual(offsets[i]!)
  }
  const fields = childFields(type)
  expect(column.children.map(child => child.type)).toEqual(fields.map(field => field.type))
  for (const child of column.children) {
    if (type.kind === 'struct') expect(child.length).toBe(length)
    else if (type.kind === 'fixed_size_list') expect(child.length).toBe(length * type.size)
    else expect(child.length).toBe(offsets![length])
    checkPromises(child)
  }
  expect(column.dictionary !== null).toBe(type.kind === 'dictionary')
  if (column.dictionary !== null) {
    checkPromises(column.dictionary)
    for (let i = 0; i < length; i++) {
      if (isValid(column, i)) expect(Number(column.values![i])).toBeLessThan(column.dictionary.length)
    }
  }
}

function checkBatch(batch: Batch): void {
  for (const column of batch.columns) {
    expect(column.length).toBe(batch.length)
    checkPromises(column)
  }
}

/** A narrow index type may be too narrow for joined dictionaries: an error of its own. */
function joined(list: readonly Batch[]): Batch | null {
  try {
    return concatBatches(list)
  } catch (error) {
    if (/does not fit its u?int8 indices/.test(String(error))) return null
    throw error
  }
}

describe('rows of any column', () => {
  test('are sliced as an array is', () => {
    fc.assert(
      fc.property(batches, fc.nat(), fc.nat(), ({ batches: list }, a, b) => {
        for (const batch of list) {
          const start = a % (batch.length + 1)
          const length = b % (batch.length - start + 1)
          const slice = sliceBatch(batch, start, length)
          checkBatch(slice)
          expect(contents(slice)).toEqual(contents(batch).map(values => values.slice(start, start + length)))
        }
      }),
      runs,
    )
  })

  test('are taken by number, -1 being null', () => {
    fc.assert(
      fc.property(
        batches,
        fc.array(fc.integer({ min: -1, max: 30 }), { maxLength: 20 }),
        ({ batches: list }, picks) => {
          for (const batch of list) {
            const rows = Int32Array.from(
              batch.length === 0 ? picks.map(() => -1) : picks.map(row => row % batch.length),
            )
            const taken = takeBatch(batch, rows)
            checkBatch(taken)
            const expected = contents(batch).map(values =>
              [...rows].map(row => (row < 0 ? null : values[row])),
            )
            expect(contents(taken)).toEqual(expected)
            const present = Uint32Array.from(rows.filter(row => row >= 0))
            expect(contents(takeBatch(batch, present))).toEqual(
              contents(batch).map(values => [...present].map(row => values[row])),
            )
          }
        },
      ),
      runs,
    )
  })

  test('are joined as arrays are, dictionaries made one', () => {
    fc.assert(
      fc.property(batches, ({ batches: list }) => {
        if (list.length === 0) return
        const all = joined(list)
        if (all === null) return
        checkBatch(all)
        expect(all.length).toBe(list.reduce((sum, batch) => sum + batch.length, 0))
        expect(contents(all)).toEqual(
          list[0]!.columns.map((_, i) => list.flatMap(batch => contents(batch)[i]!)),
        )
      }),
      runs,
    )
  })

  test('cut in two and joined again encode to the same bytes', () => {
    fc.assert(
      fc.property(batches, fc.nat(), ({ batches: list }, at) => {
        for (const batch of list) {
          const cut = at % (batch.length + 1)
          const again = joined([sliceBatch(batch, 0, cut), sliceBatch(batch, cut, batch.length - cut)])
          // Of dictionaries the join keeps both halves' values, in another order perhaps.
          if (again === null || JSON.stringify(batch.schema).includes('"dictionary"')) continue
          expect(Buffer.compare(encodeBatch(again), encodeBatch(batch))).toBe(0)
        }
      }),
      runs,
    )
  })

  test('no rows, and rows that are all null, have every guaranteed property', () => {
    fc.assert(
      fc.property(dataType, fc.nat(20), (type, length) => {
        checkPromises(emptyColumn(type))
        const nulls = nullColumn(type, length)
        checkPromises(nulls)
        expect(columnValues(nulls)).toEqual(new Array(length).fill(null))
        const again = concatColumns([nulls, emptyColumn(type), nulls])
        expect(columnValues(again)).toEqual(new Array(2 * length).fill(null))
      }),
      { numRuns: 500 },
    )
  })
})

describe('a null vector', () => {
  const type: DataType = {
    kind: 'fixed_size_list',
    size: 3,
    child: { name: 'item', nullable: false, type: { kind: 'float', bits: 32 } },
  }

  test('has zeros and a validity bit of 0', () => {
    for (const column of [nullColumn(type, 2), takeColumn(nullColumn(type, 2), Int32Array.of(-1, 0))]) {
      expect(column.nullCount).toBe(2)
      expect(column.children[0]).toMatchObject({
        length: 6,
        nullCount: 0,
        validity: null,
        values: new Float32Array(6),
      })
    }
  })
})

describe('slices', () => {
  test('that start on a byte view the same memory', () => {
    const { columns } = rowsToBatch(
      Array.from({ length: 32 }, (_, i) => ({ n: i, b: i % 2 === 0, t: `t${i}`, v: [i, i] })),
    )
    for (const column of columns) {
      const slice = sliceColumn(column, 8, 16)
      const own = (c: Column) => c.values ?? c.children[0]!.values!
      expect(own(slice).buffer).toBe(own(column).buffer)
    }
  })
})

describe('joined dictionaries', () => {
  const type = {
    kind: 'dictionary',
    index: { kind: 'int', bits: 8, signed: false },
    value: { kind: 'utf8', large: false },
    ordered: false,
  } as const
  const words = (...values: (string | null)[]): Column =>
    rowsToBatch(
      values.map(c => ({ c })),
      { fields: [{ name: 'c', type, nullable: true }] },
    ).columns[0]!

  test('hold each value once, in order of appearance', () => {
    const all = concatColumns([words('b', 'a'), words('c', 'a', null), words('b')])
    expect(columnValues(all.dictionary!)).toEqual(['b', 'a', 'c'])
    expect(columnValues(all)).toEqual(['b', 'a', 'c', 'a', null, 'b'])
  })

  test('leave indices alone where the dictionary is the same', () => {
    const column = words('b', 'a', 'b')
    const merger = new DictionaryMerger(type)
    expect(merger.add(column).buffer).toBe(column.values!.buffer)
    expect(merger.add(column).buffer).toBe(column.values!.buffer)
    expect(merger.dictionary()).toBe(column.dictionary)
  })

  test('with too many entries for their index type are refused', () => {
    const many = (from: number) => words(...Array.from({ length: 200 }, (_, i) => `${from + i}`))
    expect(() => concatColumns([many(0), many(100)])).toThrow(
      'a dictionary of 300 values does not fit its uint8 indices',
    )
    expect(concatColumns([many(0), many(50)]).dictionary!.length).toBe(250)
  })

  test('of numbers keep -0 apart from 0', () => {
    const numbers: DataType = { ...type, value: { kind: 'float', bits: 64 } }
    const of = (value: number) =>
      rowsToBatch([{ c: value }], { fields: [{ name: 'c', type: numbers, nullable: true }] }).columns[0]!
    expect(columnValues(concatColumns([of(0), of(-0), of(Number.NaN), of(Number.NaN)]))).toEqual([
      0,
      -0,
      Number.NaN,
      Number.NaN,
    ])
    expect(concatColumns([of(0), of(-0), of(Number.NaN), of(Number.NaN)]).dictionary!.length).toBe(3)
  })
})

describe('equal types', () => {
  test('are those with the same encoding', () => {
    fc.assert(
      fc.property(dataType, dataType, (a, b) => {
        expect(equalTypes(a, structuredClone(a))).toBe(true)
        const bytes = (type: DataType) =>
          Buffer.from(
            encodeBatch({
              schema: { fields: [{ name: 'c', type, nullable: true }] },
              length: 0,
              columns: [emptyColumn(type)],
            }),
          )
        if (equalTypes(a, b)) expect(bytes(a).equals(bytes(b))).toBe(true)
        expect(equalTypes(a, b)).toBe(equalTypes(b, a))
      }),
      { numRuns: 500 },
    )
  })

  test('do not depend on metadata or on the name of a list’s child', () => {
    const list = (name: string, nullable: boolean): DataType => ({
      kind: 'list',
      large: false,
      child: { name, nullable, type: { kind: 'bool' }, metadata: { [name]: 'x' } },
    })
    expect(equalTypes(list('item', true), list('element', true))).toBe(true)
    expect(equalTypes(list('item', true), list('item', false))).toBe(false)
    const field = { name: 'a', nullable: true, type: list('item', true) }
    expect(
      equalSchemas(
        { fields: [field] },
        { fields: [{ ...field, metadata: { k: 'v' } }], metadata: { k: 'v' } },
      ),
    ).toBe(true)
    expect(equalSchemas({ fields: [field] }, { fields: [{ ...field, name: 'b' }] })).toBe(false)
    expect(equalSchemas({ fields: [field] }, { fields: [] })).toBe(false)
  })
})

describe('columns by name', () => {
  const batch = rowsToBatch([{ id: 1, title: 'x' }])

  test('come in the order asked for', () => {
    const chosen = selectColumns(batch, ['title', 'id'])
    expect(chosen.schema.fields.map(field => field.name)).toEqual(['title', 'id'])
    expect(contents(chosen)).toEqual([['x'], [1]])
  })

  test('that are unknown are refused with the nearest name', () => {
    expect(() => selectColumns(batch, ['titel'])).toThrow(
      expect.objectContaining({ code: ErrorCode.ColumnNotFound, hint: 'did you mean "title"?' }),
    )
  })
})

describe('the bytes of columns', () => {
  test('count what their rows take, not what their buffers hold', () => {
    const batch = rowsToBatch([
      { n: 1, t: 'abc', v: Float32Array.of(1, 2), s: { b: true } },
      { n: null, t: 'de', v: Float32Array.of(3, 4), s: null },
    ])
    const [n, t, v, s] = batch.columns.map(columnBytes)
    expect([n, t, v, s]).toEqual([1 + 16, 12 + 5, 16, 1 + 1 + 1])
    expect(batchBytes(batch)).toBe(n! + t! + v! + s!)
    expect(columnBytes(sliceColumn(batch.columns[1]!, 1, 1))).toBe(8 + 2)
  })
})
