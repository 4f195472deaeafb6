/** Parquet files beside DuckDB and hyparquet: each reads what the other wrote. */
import { mkdirSync, readFileSync } from 'node:fs'
import type * as Duckdb from '@duckdb/node-api'
import fc from 'fast-check'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ReadParquetOptions, readParquet, writeParquet } from '../../adapters/files/public.js'
import { type Batch, type Column, isValid } from '../../src/arrow/column.js'
import { readDecimal } from '../../src/arrow/decimal.js'
import { fromFloat16 } from '../../src/arrow/float16.js'
import { fromForeignArrow } from '../../src/arrow/foreign.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { toArrowTable } from '../../src/arrow/to-arrow.js'
import type { DataType, Field } from '../../src/arrow/types.js'
import { writesZstd } from '../../src/arrow/zstd.js'
import { cellValue } from '../support/arrow-generators.js'
import { temporaryRoots } from '../support/roots.js'
import { duckdb } from './duckdb.js'

const newRoot = temporaryRoots()
const folder = newRoot()
mkdirSync(folder)
const path = `${folder}/a.parquet`

let connection: Duckdb.DuckDBConnection
let close = () => {}

beforeAll(async () => {
  const instance = await duckdb!.DuckDBInstance.create(':memory:')
  connection = await instance.connect()
  await connection.run("SET threads TO 1; SET TimeZone = 'UTC'")
  close = () => {
    connection.closeSync()
    instance.closeSync()
  }
})
afterAll(() => close())

async function readAll(options?: ReadParquetOptions): Promise<Batch[]> {
  const found: Batch[] = []
  for await (const batch of readParquet(path, options)) found.push(...fromForeignArrow(batch)!.batches)
  return found
}

/** Values in one form, whatever the classes of the engine are. Times are counts of nanoseconds. */
type Plain = null | boolean | string | readonly Plain[]

const perUnit = { s: 1_000_000_000n, ms: 1_000_000n, us: 1000n, ns: 1n }
const number = (value: number | bigint) => (Object.is(value, -0) ? '0' : String(value))
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

function plain(column: Column, row: number): Plain {
  if (!isValid(column, row)) return null
  const { type, values, offsets, children } = column
  const range = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => plain(children[0]!, from + i))
  const bytes = (width: number) => (values as Uint8Array).subarray(row * width, (row + 1) * width)
  switch (type.kind) {
    case 'bool':
      return ((values![row >>> 3] as number) >>> (row & 7)) % 2 === 1
    case 'float':
      return number(type.bits === 16 ? fromFloat16(values![row] as number) : (values![row] as number))
    case 'utf8':
      return Buffer.from((values as Uint8Array).subarray(offsets![row], offsets![row + 1])).toString()
    case 'binary':
      return hex((values as Uint8Array).subarray(offsets![row], offsets![row + 1]))
    case 'fixed_size_binary':
      return hex(bytes(type.width))
    case 'decimal':
      return `${readDecimal(values as Uint8Array, row, type.bits)}/${type.scale}`
    case 'date':
      return `${BigInt(values![row]!) / (type.unit === 'day' ? 1n : 86_400_000n)} days`
    case 'time':
    case 'timestamp':
      return `${BigInt(values![row]!) * perUnit[type.unit]} ns`
    case 'interval': {
      const view = new DataView(
        (values as Uint8Array).buffer,
        (values as Uint8Array).byteOffset + row * 16,
        16,
      )
      return `${view.getInt32(0, true)} ${view.getInt32(4, true)} ${view.getBigInt64(8, true)}`
    }
    case 'list':
    case 'map':
      return range(offsets![row]!, offsets![row + 1]!)
    case 'fixed_size_list':
      return range(row * type.size, (row + 1) * type.size)
    case 'struct':
      return children.map(child => plain(child, row))
    case 'dictionary':
      return plain(column.dictionary!, Number(values![row]))
    default:
      return number(values![row] as number)
  }
}

function plainDuck(value: Duckdb.DuckDBValue): Plain {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'bigint') return number(value)
  if ('items' in value) return value.items.map(plainDuck)
  if ('entries' in value && Array.isArray(value.entries))
    return value.entries.map(entry => [plainDuck(entry.key), plainDuck(entry.value)])
  if ('entries' in value)
    return Object.values(value.entries as Record<string, Duckdb.DuckDBValue>).map(plainDuck)
  if ('bytes' in value) return hex(value.bytes)
  if ('hugeint' in value) return value.toUint128().toString(16).padStart(32, '0')
  if ('months' in value) return `${value.months} ${value.days} ${value.micros * 1000n}`
  if ('days' in value) return `${value.days} days`
  if ('scale' in value) return `${value.value}/${value.scale}`
  if ('micros' in value) return `${value.micros * 1000n} ns`
  if ('millis' in value) return `${value.millis * 1_000_000n} ns`
  if ('seconds' in value) return `${value.seconds * 1_000_000_000n} ns`
  if ('nanos' in value) return `${value.nanos} ns`
  throw new Error(`unknown value ${String(value)}`)
}

function rowsOf(list: readonly Batch[]): Plain[][] {
  return list.flatMap(({ columns, length }) =>
    Array.from({ length }, (_, row) => columns.map(column => plain(column, row))),
  )
}

async function duckRows(sql: string): Promise<Plain[][]> {
  const reader = await connection.runAndReadAll(sql)
  return reader.getRows().map(row => row.map(plainDuck))
}

/** Every type of DuckDB that Parquet has, with nulls, repeated values and different values. */
const everyType = `
  SELECT i AS id,
    CASE WHEN i % 7 = 0 THEN NULL ELSE i % 2 = 0 END AS flag,
    CASE WHEN i % 5 = 0 THEN NULL ELSE (i % 100 - 50)::TINYINT END AS i8,
    (i % 1000 - 500)::SMALLINT AS i16, (i * 7919 - 50000000)::INTEGER AS i32, (i * 1234567891 - 99999999999)::BIGINT AS i64,
    (i % 256)::UTINYINT AS u8, (i % 65536)::USMALLINT AS u16, (i * 104729 % 4294967296)::UINTEGER AS u32,
    (18446744073709551615 - i)::UBIGINT AS u64,
    CASE WHEN i % 11 = 0 THEN 'nan'::FLOAT ELSE (i / 3.0)::FLOAT END AS f32, (i * 1.1)::DOUBLE AS f64,
    CASE WHEN i % 3 = 0 THEN NULL ELSE 'name ' || (i % 17) END AS few, 'text ' || i || repeat('x', i % 40) AS many,
    repeat('prefix', 5) || i AS prefixed,
    encode('b' || i) AS bytes, (i / 100.0)::DECIMAL(4, 1) AS d4, (i / 100.0)::DECIMAL(9, 2) AS d9, (i / 100.0)::DECIMAL(18, 3) AS d18,
    (i * -7.5)::DECIMAL(38, 10) AS d38,
    DATE '1969-06-01' + i::INTEGER AS day, TIME '00:00:00' + to_microseconds(i * 12345) AS clock,
    TIMESTAMP '1960-01-01' + to_microseconds(i * 987654321) AS moment, (TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_seconds(i)) AS zoned,
    (TIMESTAMP '2020-01-01' + to_milliseconds(i))::TIMESTAMP_MS AS at_ms, (TIMESTAMP '2020-01-01' + to_seconds(i))::TIMESTAMP_S AS at_s,
    make_timestamp_ns(i * 1000000007) AS at_ns,
    to_months(i::INTEGER % 50) + to_days(i::INTEGER % 9) + to_milliseconds(i % 1000) AS span,
    ('00000000-0000-4000-8000-' || lpad(i::VARCHAR, 12, '0'))::UUID AS uuid,
    CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN [] WHEN 2 THEN [i, NULL] ELSE [i, i + 1, i + 2] END AS list,
    CASE i % 3 WHEN 0 THEN NULL ELSE [[i], NULL, [], [NULL, i]] END AS nested,
    CASE i % 3 WHEN 0 THEN NULL ELSE {a: i, b: CASE i % 2 WHEN 0 THEN NULL ELSE 't' || i END, c: [i]} END AS struct,
    CASE i % 5 WHEN 0 THEN NULL ELSE MAP {i: 'v' || i, i + 1: NULL} END AS map,
    [{k: i, m: MAP {'a': [i, NULL]}}, NULL] AS deep,
    array_value(i::FLOAT, (i + 1)::FLOAT, 0.5::FLOAT) AS vector, 5 AS same, NULL::INTEGER AS nothing,
    ('e' || i % 3)::ENUM ('e0', 'e1', 'e2') AS enum, ('{"a":' || i || '}')::JSON AS json
  FROM range(__ROWS__) t(i)`

const table = (rows: number) => everyType.replace('__ROWS__', String(rows))

describe.skipIf(duckdb === null)('files of DuckDB', () => {
  const codecs = ['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4', 'lz4_raw']
  const settings = [
    'PARQUET_VERSION V1',
    'PARQUET_VERSION V2',
    'PARQUET_VERSION V2, DICTIONARY_SIZE_LIMIT 1, STRING_DICTIONARY_PAGE_SIZE_LIMIT 1',
    'PARQUET_VERSION V1, DICTIONARY_SIZE_LIMIT 1',
    'PARQUET_VERSION V2, ROW_GROUP_SIZE 2048',
  ]
  const encodings = new Set<string>()

  test.each(settings.flatMap(setting => codecs.map(codec => [codec, setting])))(
    'with the codec %s and the settings %s are read equal',
    async (codec, setting) => {
      await connection.run(`COPY (${table(2500)}) TO '${path}' (FORMAT parquet, CODEC ${codec}, ${setting})`)
      for (const [found] of await duckRows(`SELECT DISTINCT encodings FROM parquet_metadata('${path}')`))
        for (const name of String(found).split(', ')) if (name !== '') encodings.add(name)
      const found = await readAll()
      const expected = await duckRows(`SELECT * FROM '${path}'`)
      const names = found[0]!.schema.fields.map(({ name }) => name)
      const [ours, theirs] = [rowsOf(found), expected]
      expect(ours.length).toBe(2500)
      for (let i = 0; i < names.length; i++)
        expect([names[i], ours.map(row => row[i])]).toEqual([names[i], theirs.map(row => row[i])])
    },
  )

  test('have every encoding that DuckDB writes', () => {
    expect([...encodings].sort()).toEqual([
      'BYTE_STREAM_SPLIT',
      'DELTA_BINARY_PACKED',
      'DELTA_LENGTH_BYTE_ARRAY',
      'PLAIN',
      'PLAIN_DICTIONARY',
      'RLE_DICTIONARY',
    ])
  })
})

const leafTypes: readonly DataType[] = [
  { kind: 'bool' },
  ...([8, 16, 32, 64] as const).flatMap(bits => [
    { kind: 'int' as const, bits, signed: true },
    { kind: 'int' as const, bits, signed: false },
  ]),
  ...([16, 32, 64] as const).map(bits => ({ kind: 'float' as const, bits })),
  { kind: 'utf8', large: false },
  { kind: 'binary', large: false },
  { kind: 'fixed_size_binary', width: 7 },
  { kind: 'decimal', bits: 128, precision: 9, scale: 2 },
  { kind: 'decimal', bits: 128, precision: 38, scale: 0 },
  { kind: 'decimal', bits: 256, precision: 20, scale: 5 },
  { kind: 'date', unit: 'day' },
  ...(['s', 'ms', 'us'] as const).map(unit => ({ kind: 'time' as const, unit })),
  ...(['s', 'ms', 'us', 'ns'] as const).map(unit => ({ kind: 'timestamp' as const, unit, timezone: null })),
  ...(['s', 'ms', 'us'] as const).map(unit => ({ kind: 'timestamp' as const, unit, timezone: 'UTC' })),
]

/** Types that DuckDB has too. */
const knownType = fc.letrec<{ type: DataType; field: Field }>(tie => ({
  field: fc.record({ name: fc.constant('x'), type: tie('type'), nullable: fc.boolean() }),
  type: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: fc.constantFrom(...leafTypes) },
    fc.record({ kind: fc.constant('list' as const), large: fc.boolean(), child: tie('field') }),
    fc.record({
      kind: fc.constant('fixed_size_list' as const),
      size: fc.integer({ min: 1, max: 3 }),
      child: tie('field'),
    }),
    fc.array(tie('field'), { minLength: 1, maxLength: 3 }).map(fields => ({
      kind: 'struct' as const,
      children: fields.map((field, i) => ({ ...field, name: `s${i}` })),
    })),
    fc.record({
      kind: fc.constant('dictionary' as const),
      index: fc.constant({ kind: 'int' as const, bits: 16 as const, signed: true }),
      value: fc.constantFrom(...leafTypes),
      ordered: fc.constant(false),
    }),
    tie('field').map(value => ({
      kind: 'map' as const,
      keysSorted: false,
      child: {
        name: 'entries',
        nullable: false,
        type: {
          kind: 'struct' as const,
          children: [
            { name: 'key', type: { kind: 'int' as const, bits: 32 as const, signed: true }, nullable: false },
            { ...value, name: 'value' },
          ],
        },
      },
    })),
  ),
}))

function cell({ type, nullable }: Field): fc.Arbitrary<unknown> {
  return nullable ? fc.oneof(fc.constant(null), { weight: 3, arbitrary: known(type) }) : known(type)
}

function known(type: DataType): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case 'timestamp':
      return fc.integer({ min: -(2 ** 31), max: 2 ** 31 }).map(BigInt)
    case 'date':
      return fc.integer({ min: -100_000, max: 100_000 }).map(days => new Date(days * 86_400_000))
    case 'list':
      return fc.array(cell(type.child), { maxLength: 3 })
    case 'fixed_size_list':
      return fc.array(cell(type.child), { minLength: type.size, maxLength: type.size })
    case 'struct':
      return fc
        .tuple(...type.children.map(cell))
        .map(cells => Object.fromEntries(type.children.map(({ name }, i) => [name, cells[i]])))
    case 'map': {
      const [, value] = type.child.type.kind === 'struct' ? type.child.type.children : []
      return fc.uniqueArray(fc.tuple(fc.integer(), cell(value!)), { maxLength: 3, selector: ([key]) => key })
    }
    case 'dictionary':
      return known(type.value)
    default:
      return cellValue(type)
  }
}

const knownBatch = fc
  .array(knownType.field, { minLength: 1, maxLength: 4 })
  .map(fields => fields.map((field, i) => ({ ...field, name: `c${i}` })))
  .chain(fields =>
    fc.array(fc.tuple(...fields.map(cell)), { maxLength: 20 }).map(rows =>
      rowsToBatch(
        rows.map(cells => Object.fromEntries(fields.map(({ name }, i) => [name, cells[i]]))),
        { fields },
      ),
    ),
  )

describe.skipIf(duckdb === null)('files of writeParquet', () => {
  const compressions = [
    'none',
    'snappy',
    'gzip',
    'brotli',
    ...(writesZstd ? (['zstd'] as const) : []),
  ] as const

  test('are read equal by DuckDB', async () => {
    await fc.assert(
      fc.asyncProperty(
        knownBatch,
        fc.constantFrom(...compressions),
        fc.integer({ min: 1, max: 25 }),
        async (batch, compression, rowGroupRows) => {
          const { batches: list } = await toArrowTable(batch.schema, [batch])
          await writeParquet(path, list, { compression, rowGroupRows })
          expect(await duckRows(`SELECT * FROM '${path}'`)).toEqual(rowsOf([batch]))
        },
      ),
      { numRuns: 300 },
    )
  })

  test('have statistics with which DuckDB returns the right rows', async () => {
    const rows = Array.from({ length: 3000 }, (_, i) => ({
      id: i,
      x: i % 10 === 0 ? null : Math.sin(i) * 100,
      text: i % 7 === 0 ? null : `${'long '.repeat(i % 12)}${i}`,
      moment: new Date(i * 86_400_000),
    }))
    await writeParquet(path, rows, { rowGroupRows: 100 })
    const conditions = [
      'id = 1234',
      'x > 99',
      'x < -99.5 OR x IS NULL',
      "text = 'long long 1202'",
      "text > 'long long long long long long 9'",
    ]
    for (const where of [...conditions, "moment BETWEEN TIMESTAMP '1971-01-01' AND TIMESTAMP '1971-01-05'"]) {
      const ids = await duckRows(`SELECT id FROM '${path}' WHERE ${where}`)
      const plainIds = await duckRows(`SELECT id FROM (SELECT * FROM '${path}' ORDER BY id) WHERE ${where}`)
      expect(ids.length).toBeGreaterThan(0)
      expect(ids).toEqual(plainIds)
      expect(rowsOf(await readAll({ columns: ['id'], where }))).toEqual(ids)
    }
  })

  test('have vectors that hyparquet reads as lists', async () => {
    const rows = Array.from({ length: 500 }, (_, i) => ({ id: i, vector: Float32Array.of(i, i / 2, -i) }))
    for (const compression of ['none', 'snappy', 'gzip', 'brotli'] as const) {
      await writeParquet(path, rows, { compression, rowGroupRows: 150 })
      const { buffer, byteOffset, byteLength } = readFileSync(path)
      const file = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer
      const found = await parquetReadObjects({ file, compressors })
      expect(found.map(({ id, vector }) => [Number(id), [...vector]])).toEqual(
        rows.map(({ id, vector }) => [id, [...vector]]),
      )
    }
  })
})

describe.skipIf(duckdb === null)('the option where', () => {
  const conditions = [
    'id = 1777',
    'id < 10 OR id > 2490',
    'id IN (5, 600, 2499)',
    'f64 >= 2740.5',
    "few = 'name 3' AND i8 IS NULL",
    'few IS NULL AND id < 100',
    "many LIKE 'text 12%'",
    "day < DATE '1969-07-01'",
    "moment > TIMESTAMP '1960-01-29'",
    'd18 BETWEEN 3 AND 3.5',
    'd38 > -20',
    'u64 < 18446744073709551000',
    'struct.a = 1000',
    'flag',
    'NOT flag AND id > 2400',
    'f32 IS NOT NULL AND f32 > 800',
    'nothing IS NOT NULL',
    'same = 6',
  ]

  test.each(['PARQUET_VERSION V1', 'PARQUET_VERSION V2'])(
    'returns the rows of DuckDB from its files (%s)',
    async version => {
      await connection.run(
        `COPY (${table(2500)}) TO '${path}' (FORMAT parquet, ${version}, ROW_GROUP_SIZE 2048)`,
      )
      for (const where of conditions) {
        const found = rowsOf(await readAll({ columns: ['id'], where }))
        // DuckDB compares NaN as Sheaf does.
        expect([where, found]).toEqual([where, await duckRows(`SELECT id FROM '${path}' WHERE ${where}`)])
      }
    },
  )
})
