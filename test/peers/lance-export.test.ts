/** Tables that `writeLance` writes, as LanceDB opens, reads and changes them. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { writeLance } from '../../adapters/files/public.js'
import type { Batch } from '../../src/arrow/column.js'
import { fromForeignArrow } from '../../src/arrow/foreign.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { toArrowTable } from '../../src/arrow/to-arrow.js'
import type { DataType, Field, Schema } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'
import { schema } from '../../src/index.js'
import { cellValue, contents, dataType } from '../support/arrow-generators.js'
import { temporaryRoots } from '../support/roots.js'
import { type Lancedb, releases } from './peers.js'

const newRoot = temporaryRoots()
const versions = ['2.1', '2.2'] as const

async function open(lancedb: Lancedb, root: string) {
  const db = await lancedb.connect(root)
  return db.openTable('t')
}

/** The values of all columns, as LanceDB reads them. */
async function read(lancedb: Lancedb, root: string): Promise<unknown[][]> {
  const table = await open(lancedb, root)
  const answer = fromForeignArrow(await table.query().toArrow())!
  return answer.schema.fields.map((_, i) =>
    answer.batches.flatMap(batch => columnValues(batch.columns[i]!, { int64: 'bigint' })),
  )
}

async function expectSame(lancedb: Lancedb, batches: readonly Batch[], version?: '2.1' | '2.2') {
  const root = newRoot()
  mkdirSync(root)
  await writeLance(join(root, 't.lance'), await toArrowTable(batches[0]!.schema, batches), { version })
  const columns = contents(batches[0]!).map((_, i) => batches.flatMap(batch => contents(batch)[i]!))
  const found = await read(lancedb, root)
  for (const [i, field] of batches[0]!.schema.fields.entries()) {
    expect(found[i] ?? [], JSON.stringify(field.type)).toEqual(columns[i])
  }
}

function column(type: DataType, values: readonly unknown[]): Batch {
  const schema: Schema = { fields: [{ name: 'c', type, nullable: true }] }
  return rowsToBatch(
    values.map(c => ({ c })),
    schema,
  )
}

const item = (type: DataType, nullable = true): Field => ({ name: 'item', type, nullable })
const list = (type: DataType): DataType => ({ kind: 'list', large: false, child: item(type) })
const int32: DataType = { kind: 'int', bits: 32, signed: true }
const utf8: DataType = { kind: 'utf8', large: false }
const bool: DataType = { kind: 'bool' }
const float32: DataType = { kind: 'float', bits: 32 }

/** Return whether Lance has a type. */
function hasLance(type: DataType): boolean {
  switch (type.kind) {
    case 'interval':
      return false
    case 'timestamp':
      return type.timezone?.includes(':') !== true
    case 'fixed_size_binary':
      return type.width > 0
    case 'list':
      // apache-arrow, with which LanceDB's client reads, has no large lists.
      return !type.large && hasLance(type.child.type)
    case 'map':
      return (
        type.child.type.kind === 'struct' &&
        !type.child.type.children[0]!.nullable &&
        hasLance(type.child.type)
      )
    case 'struct':
      return (
        type.children.length > 0 && type.children.every(child => child.name !== '' && hasLance(child.type))
      )
    case 'dictionary':
      return hasLance(type.value)
    case 'fixed_size_list':
      return (
        type.size > 0 &&
        hasLance(type.child.type) &&
        (['bool', 'int', 'float', 'decimal', 'date', 'time', 'timestamp', 'duration'].includes(
          type.child.type.kind,
        ) ||
          type.child.type.kind === 'fixed_size_list')
      )
    default:
      return true
  }
}

describe.each(releases)('LanceDB $release', ({ lancedb }) => {
  for (const version of versions) {
    test(`reads values, nulls and lists of many rows from version ${version}`, async () => {
      const rows = Array.from({ length: 5000 }, (_, i) => i)
      const some = <T>(make: (i: number) => T) => rows.map(i => (i % 7 === 3 ? null : make(i)))
      const batches = [
        column(
          int32,
          some(i => i),
        ),
        column(int32, rows),
        column(
          bool,
          some(i => i % 3 === 0),
        ),
        column(
          utf8,
          some(i => 'x'.repeat(i % 50)),
        ),
        column(
          { kind: 'utf8', large: true },
          some(i => `${i}`),
        ),
        column(
          { kind: 'binary', large: false },
          some(i => new Uint8Array(i % 300).fill(i)),
        ),
        column(
          list(int32),
          some(i => (i % 5 === 0 ? [] : [i, null, i + 1])),
        ),
        column(
          list(bool),
          some(i => Array.from({ length: i % 9 }, (_, j) => j % 2 === 0)),
        ),
        column(
          list(list(utf8)),
          some(i => (i % 4 === 0 ? [[], null] : [['a', null], [`${i}`]])),
        ),
        column(
          list(utf8),
          some(i => ['y'.repeat(i % 400), '']),
        ),
        column(
          { kind: 'fixed_size_list', size: 4, child: item(float32) },
          some(i => [i, null, 1, 2]),
        ),
        column(
          { kind: 'fixed_size_list', size: 100, child: item(float32) },
          some(i => new Array(100).fill(i)),
        ),
        column(
          { kind: 'fixed_size_list', size: 100, child: item(float32) },
          rows.map(i => new Array(100).fill(i)),
        ),
        column(
          { kind: 'fixed_size_list', size: 3, child: item(bool) },
          some(i => [true, i % 2 === 0, null]),
        ),
        column(
          { kind: 'struct', children: [item(int32), { name: 'l', type: list(int32), nullable: true }] },
          some(i => ({ item: i % 11 === 0 ? null : i, l: i % 13 === 0 ? null : [i] })),
        ),
        column(
          list({ kind: 'struct', children: [item(utf8)] }),
          some(i => [{ item: `${i}` }, null, { item: null }]),
        ),
        column(
          { kind: 'null' },
          rows.map(() => null),
        ),
        column(
          list({ kind: 'null' }),
          some(() => [null]),
        ),
        column(
          int32,
          rows.map(() => null),
        ),
        column(
          list(int32),
          rows.map(i => (i % 2 === 0 ? [] : null)),
        ),
      ]
      for (const batch of batches) await expectSame(lancedb, [batch], version)
    })
  }

  test('reads lists in null structs, with and without null items and empty lists', async () => {
    const entries: DataType = {
      kind: 'struct',
      children: [{ ...item(int32, false), name: 'key' }, item(int32)],
    }
    const map: DataType = {
      kind: 'map',
      keysSorted: false,
      child: { ...item(entries, false), name: 'entries' },
    }
    const lists: readonly [DataType, nulls: unknown, values: unknown, empty: unknown][] = [
      [list(int32), [null], [1], []],
      [list({ kind: 'struct', children: [item(int32)] }), [{ item: null }], [{ item: 1 }], []],
      [list(list(int32)), [null], [[null], [1]], [[]]],
      [map, new Map([[1, null]]), new Map([[1, 2]]), new Map()],
    ]
    for (const [type, ...values] of lists) {
      const nested: DataType = { kind: 'struct', children: [{ name: 'l', type, nullable: true }] }
      for (let chosen = 1; chosen < 8; chosen++) {
        const rows = values.filter((_, i) => (chosen >> i) & 1).map(l => ({ l }))
        await expectSame(lancedb, [column(nested, [null, ...rows, ...rows])])
      }
    }
  })

  test('adds rows, deletes rows, and builds an index', async () => {
    const root = newRoot()
    mkdirSync(root)
    const rows = Array.from({ length: 600 }, (_, i) => ({ id: i, vector: [i, 1], text: `t${i}` }))
    await writeLance(join(root, 't.lance'), rows)
    const table = await open(lancedb, root)
    await table.add([{ id: 600, vector: [600, 1], text: 'new' }])
    await table.delete('id < 100')
    expect(await table.countRows()).toBe(501)
    await table.createIndex('id')
    expect((await table.query().where('id = 300').toArray()).map(row => row.text)).toEqual(['t300'])
    const [nearest] = await table.vectorSearch([420, 1]).limit(1).toArray()
    expect(nearest.text).toBe('t420')
    await table.optimize()
    expect(await table.countRows()).toBe(501)
  })

  test('opens a table without rows', async () => {
    const root = newRoot()
    mkdirSync(root)
    await writeLance(join(root, 't.lance'), [], { schema: schema({ id: 'int64', text: 'string' }) })
    const table = await open(lancedb, root)
    expect(await table.countRows()).toBe(0)
    await table.add([{ id: 1n, text: 'one' }])
    expect(await table.countRows()).toBe(1)
  })

  test('reads random schemas and rows', async () => {
    const row = (type: DataType) => fc.array(fc.option(cellValue(type)), { minLength: 1, maxLength: 40 })
    const columns = dataType.filter(hasLance).chain(type => row(type).map(values => column(type, values)))
    await fc.assert(
      fc.asyncProperty(columns, batch => expectSame(lancedb, [batch])),
      { numRuns: 200 },
    )
  })
})
