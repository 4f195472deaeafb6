import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dataPath } from '../../scripts/data.js'
import type { Batch } from '../../src/arrow/column.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import type { DataType, Schema } from '../../src/arrow/types.js'
import { SheafError } from '../../src/errors.js'
import { bindFilter } from '../../src/sql/binding/bind.js'
import { selectRows } from '../../src/sql/evaluate.js'
import { acceptedOnPurpose, refusedOnPurpose } from './lancedb-differences.js'

interface Entry {
  readonly filter: string
  /** `OK 1,2` (column a of the rows that passed) or `ERR`. */
  readonly lancedb: string
}

interface Table {
  readonly schema: Readonly<Record<string, string>>
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

const int64: DataType = { kind: 'int', bits: 64, signed: true }
const types: Readonly<Record<string, DataType>> = {
  int64,
  float64: { kind: 'float', bits: 64 },
  utf8: { kind: 'utf8', large: false },
  bool: { kind: 'bool' },
  date32: { kind: 'date', unit: 'day' },
  'timestamp(us)': { kind: 'timestamp', unit: 'us', timezone: null },
  binary: { kind: 'binary', large: false },
  'list<utf8>': {
    kind: 'list',
    large: false,
    child: { name: 'item', type: { kind: 'utf8', large: false }, nullable: true },
  },
  'fixed_size_list<float32>[2]': {
    kind: 'fixed_size_list',
    size: 2,
    child: { name: 'item', type: { kind: 'float', bits: 32 }, nullable: true },
  },
  'struct<inner: struct<c: int64>>': {
    kind: 'struct',
    children: [
      {
        name: 'inner',
        nullable: true,
        type: { kind: 'struct', children: [{ name: 'c', type: int64, nullable: true }] },
      },
    ],
  },
}

function batchOf(table: Table): Batch {
  const fields = Object.entries(table.schema).map(([name, type]) => ({
    name,
    type: types[type]!,
    nullable: true,
  }))
  const rowid = { name: '_rowid', type: { kind: 'int', bits: 64, signed: false }, nullable: false } as const
  const schema: Schema = { fields: [...fields, rowid] }
  const rows = table.rows.map((row, i) => ({
    ...row,
    _rowid: i,
    big: row.big === null ? null : BigInt(row.big as string),
    bin: row.bin === null ? null : Buffer.from(row.bin as string, 'hex'),
  }))
  return rowsToBatch(rows, schema)
}

const tablePath = dataPath('sql', 'oracle-table.json')
const filtersPath = dataPath('sql', 'lancedb-filters.json')

/** Not filters but names of measurements. */
const label = /^(in|nest|or chain) \d+$/

describe.skipIf(tablePath === null || filtersPath === null)(
  'what LanceDB answered (skipped without SHEAF_DATA)',
  () => {
    const batch = tablePath === null ? null : batchOf(JSON.parse(readFileSync(tablePath, 'utf8')) as Table)
    const entries = (
      filtersPath === null ? [] : (JSON.parse(readFileSync(filtersPath, 'utf8')) as Entry[])
    ).filter(entry => !label.test(entry.filter))

    /** Column a of the rows selected, or the error. */
    function run(filter: string): string | SheafError {
      try {
        const selected = selectRows(bindFilter(filter, batch!.schema), batch!)
        return [...selected.toIndices()].map(row => row + 1).join(',')
      } catch (error) {
        if (error instanceof SheafError) return error
        throw error
      }
    }

    const rowsOf = (entry: Entry) => entry.lancedb.replace(/^OK ?/, '')

    test('A-056 the same filter gives the same rows', () => {
      const alike = entries.filter(
        ({ filter, lancedb }) => lancedb !== 'ERR' && !(filter in refusedOnPurpose),
      )
      const answers = alike.map(entry => [entry.filter, run(entry.filter)])
      expect(answers).toEqual(alike.map(entry => [entry.filter, rowsOf(entry)]))
      expect(alike.length).toBe(94)
    })

    test('a filter that LanceDB refuses is refused too, with listed exceptions', () => {
      const refused = entries.filter(({ lancedb }) => lancedb === 'ERR')
      for (const { filter } of refused) {
        const difference = acceptedOnPurpose[filter]
        if (difference === undefined) expect(run(filter), filter).toBeInstanceOf(SheafError)
        else expect(run(filter), filter).toBe(difference.rows)
      }
      const known = refused.map(({ filter }) => filter)
      expect(Object.keys(acceptedOnPurpose).filter(filter => !known.includes(filter))).toEqual([])
    })

    test('intentional refusals are filters that LanceDB runs', () => {
      const ran = entries.filter(({ lancedb }) => lancedb !== 'ERR')
      for (const filter of Object.keys(refusedOnPurpose)) {
        expect(
          ran.some(entry => entry.filter === filter),
          filter,
        ).toBe(true)
        const error = run(filter)
        expect(error, filter).toBeInstanceOf(SheafError)
        expect([13, 20], filter).toContain((error as SheafError).code)
      }
    })
  },
)
