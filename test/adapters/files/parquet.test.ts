import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readMetadata, readOffsetIndex } from '../../../adapters/files/parquet/metadata.js'
import { rowPieces } from '../../../adapters/files/pieces.js'
import {
  type ParquetCompression,
  type ParquetSource,
  type ReadParquetOptions,
  readParquet,
  type WriteParquetOptions,
  writeParquet,
} from '../../../adapters/files/public.js'
import type { Batch } from '../../../src/arrow/column.js'
import { decodeIpc } from '../../../src/arrow/decode-ipc.js'
import { fromForeignArrow } from '../../../src/arrow/foreign.js'
import { toArrowTable } from '../../../src/arrow/to-arrow.js'
import type { DataType, Field, Schema } from '../../../src/arrow/types.js'
import { writesZstd } from '../../../src/arrow/zstd.js'
import { SheafError } from '../../../src/errors.js'
import { connect, schema, sql } from '../../../src/index.js'
import { batches, contents } from '../../support/arrow-generators.js'
import { damagedFiles, ReadTimes } from '../../support/damaged-files.js'
import { failure } from '../../support/failure.js'
import { temporaryRoots } from '../../support/roots.js'

const newRoot = temporaryRoots()
const folder = newRoot()
mkdirSync(folder)
const path = `${folder}/a.parquet`

async function readAll(source: ParquetSource, options?: ReadParquetOptions): Promise<Batch[]> {
  const found: Batch[] = []
  for await (const batch of readParquet(source, options)) found.push(...fromForeignArrow(batch)!.batches)
  return found
}

/** The values of all batches together, by column. */
function joined(list: readonly Batch[]): unknown[][] {
  const columns = list.map(contents)
  return (columns[0] ?? []).map((_, i) => columns.flatMap(column => column[i]!))
}

async function bytesOf(rows: Parameters<typeof writeParquet>[1], options?: WriteParquetOptions) {
  const target = new PassThrough({ highWaterMark: 1 << 30 })
  await writeParquet(target, rows, options)
  return new Uint8Array(target.read() ?? Buffer.alloc(0))
}

/** A nested value has no dictionary in the answer. */
function asRead(type: DataType): DataType {
  switch (type.kind) {
    case 'dictionary': {
      const value = asRead(type.value)
      return ['list', 'fixed_size_list', 'struct', 'map'].includes(value.kind) ? value : { ...type, value }
    }
    case 'struct':
      return { ...type, children: type.children.map(fieldAsRead) }
    case 'list':
    case 'fixed_size_list':
    case 'map':
      return { ...type, child: fieldAsRead(type.child) }
    default:
      return type
  }
}

function fieldAsRead(field: Field): Field {
  return { ...field, type: asRead(field.type) }
}

/** Return whether apache-arrow and Parquet have all types of a schema. */
function isKept({ schema }: { schema: Schema }): boolean {
  const text = JSON.stringify(schema)
  return !/"kind":"struct","children":\[\]|"size":0|"width":0/.test(text)
}

async function foreign(given: { schema: Schema; batches: readonly Batch[] }) {
  return (await toArrowTable(given.schema, given.batches)).batches
}

describe('writeParquet and readParquet', () => {
  test('keep the schema and all values of any type', async () => {
    await fc.assert(
      fc.asyncProperty(
        batches.filter(isKept),
        fc.constantFrom<ParquetCompression[]>(
          'none',
          'snappy',
          'gzip',
          'brotli',
          ...(writesZstd ? ['zstd' as const] : []),
        ),
        fc.integer({ min: 1, max: 20 }),
        async (given, compression, rowGroupRows) => {
          let written: Uint8Array
          try {
            written = await bytesOf(await foreign(given), {
              compression,
              rowGroupRows,
              ...(given.batches.length === 0 && { schema: given.schema }),
            })
          } catch (error) {
            // A timestamp in seconds may be too large for milliseconds.
            if (error instanceof SheafError && /too large for Parquet/.test(error.message)) return
            throw error
          }
          const found = await readAll(written)
          const { metadata, fields } = given.schema
          expect(found[0]!.schema).toEqual({ ...(metadata && { metadata }), fields: fields.map(fieldAsRead) })
          const full = given.batches.filter(({ length }) => length > 0)
          if (full.length > 0) expect(joined(found)).toEqual(joined(full))
          expect(found.reduce((sum, { length }) => sum + length, 0)).toBe(
            full.reduce((sum, { length }) => sum + length, 0),
          )
        },
      ),
      { numRuns: 150 },
    )
  })
})

/** Rows of several row groups and pages, in the order of `id`. */
const documents = Array.from({ length: 6000 }, (_, i) => ({
  id: i,
  few: i % 50 === 0 ? null : `group ${i >> 10}`,
  x: i % 97 === 0 ? Number.NaN : i % 13 === 0 ? null : i / 7,
  text: `${'ä'.repeat(i % 30)} ${i}`,
  day: new Date(i * 86_400_000),
  tags: i % 3 === 0 ? null : [i, i + 1].slice(0, i % 3),
  info: i % 5 === 0 ? null : { n: i, s: `s${i}` },
  vector: Float32Array.from({ length: 64 }, (_, j) => i + j / 64),
}))

const field = (name: string, type: DataType): Field => ({ name, type, nullable: true })
const float32 = { name: 'item', type: { kind: 'float', bits: 32 }, nullable: true } as const
const documentSchema: Schema = {
  fields: [
    field('id', { kind: 'int', bits: 64, signed: true }),
    field('few', { kind: 'utf8', large: false }),
    field('x', { kind: 'float', bits: 64 }),
    field('text', { kind: 'utf8', large: false }),
    field('day', { kind: 'timestamp', unit: 'us', timezone: null }),
    field('tags', {
      kind: 'list',
      large: false,
      child: field('item', { kind: 'int', bits: 32, signed: true }),
    }),
    field('info', {
      kind: 'struct',
      children: [
        field('n', { kind: 'int', bits: 32, signed: true }),
        field('s', { kind: 'utf8', large: false }),
      ],
    }),
    field('vector', { kind: 'fixed_size_list', size: 64, child: float32 }),
  ],
}

function file(options?: WriteParquetOptions) {
  return bytesOf(documents, { schema: documentSchema, rowGroupRows: 4000, ...options })
}

/** Count the bytes that are read from a file by a server on this machine. */
async function served<T>(
  bytes: Uint8Array,
  use: (url: string, read: () => number) => Promise<T>,
): Promise<T> {
  let read = 0
  const server = createServer((request, response) => {
    const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '')!
    const from = range[1] === '' ? Math.max(0, bytes.length - Number(range[2])) : Number(range[1])
    const to = range[1] === '' ? bytes.length : Math.min(bytes.length, Number(range[2]) + 1)
    read += to - from
    response.writeHead(206, { 'content-range': `bytes ${from}-${to - 1}/${bytes.length}`, etag: '"1"' })
    response.end(bytes.subarray(from, to))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/a.parquet`, () => read)
  } finally {
    await new Promise(resolve => server.close(resolve))
  }
}

describe('the option where', () => {
  const conditions = [
    'id = 1777',
    'id < 10 OR id > 5990',
    'id IN (5, 600, 4200)',
    'x > 700',
    'x < 3',
    'x IS NULL AND id < 200',
    "few = 'group 3'",
    'few IS NULL',
    "text LIKE '% 12'",
    "day BETWEEN TIMESTAMP '1975-01-01' AND TIMESTAMP '1975-02-01'",
    'info.n = 4001',
    'info IS NULL AND id > 5900',
    'array_length(tags) = 2 AND id < 50',
    'vector[1] = 3000',
    'id < 0',
    'id >= 0',
  ]

  test('returns exactly the rows for which it is true, from pages and row groups', async () => {
    const ns = await connect('memory://')
    const table = await ns.createTable('documents', documents, { schema: documentSchema })
    const written = await file()
    for (const where of conditions) {
      const expected = (await table.query().where(where).select(['id']).toArray()).map(({ id }) => Number(id))
      const found = joined(await readAll(written, { where, columns: ['id', 'tags'] }))
      expect([where, found[0]!.map(Number)]).toEqual([where, expected])
      expect(found[1]).toEqual(expected.map(id => documents[id]!.tags))
    }
    await ns.close()
  })

  test('reads fewer bytes than a scan', async () => {
    const bytes = await file({ compression: 'none', rowGroupRows: 5000 })
    const cost = (options: ReadParquetOptions) =>
      served(bytes, async (url, read) => {
        await readAll(url, options)
        return read()
      })
    const all = await cost({})
    const group = await cost({ where: 'id > 5000' })
    const page = await cost({ where: 'id = 4500', columns: ['vector'] })
    const none = await cost({ where: 'id < 0' })
    const column = await cost({ columns: ['id'] })
    expect(all).toBeGreaterThan(bytes.length * 0.95)
    expect(group).toBeLessThan(all * 0.6)
    expect(page).toBeLessThan(all * 0.3)
    expect(column).toBeLessThan(all * 0.2)
    expect(none).toBeLessThan(70_000)
  })

  test('takes parameters and fragments of the tag sql', async () => {
    const bytes = await file()
    const ids = async (options: ReadParquetOptions) =>
      joined(await readAll(bytes, { columns: ['id'], ...options }))[0]
    expect(await ids({ where: 'id = ?', parameters: [7] })).toEqual([7n])
    expect(
      await ids({ where: 'few = :few AND id < :most', parameters: { few: 'group 0', most: 3 } }),
    ).toEqual([1n, 2n])
    expect(await ids({ where: sql`id BETWEEN ${7} AND ${8}` })).toEqual([7n, 8n])
    expect(await failure(ids({ parameters: [1] }))).toMatchObject({ name: 'InvalidInput' })
    expect(await failure(ids({ where: sql`id = ${1}`, parameters: [1] }))).toMatchObject({
      name: 'InvalidInput',
    })
    expect(await failure(ids({ where: 'nothing = 1' }))).toMatchObject({ name: 'ColumnNotFound' })
  })
})

describe('readParquet', () => {
  test('reads paths, URLs, bytes, streams and compressed files', async () => {
    const bytes = await file()
    const expected = joined(await readAll(bytes))
    expect(expected[0]!.length).toBe(documents.length)
    writeFileSync(path, bytes)
    writeFileSync(`${path}.gz`, gzipSync(bytes))
    const pieces = () => Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)])
    for (const source of [path, pathToFileURL(path), `${path}.gz`, pieces()]) {
      expect(joined(await readAll(source))).toEqual(expected)
    }
    await served(bytes, async url => {
      expect(joined(await readAll(url))).toEqual(expected)
      expect(joined(await readAll(new URL(url)))).toEqual(expected)
    })
  })

  test('refuses servers without ranges, missing files and other sources', async () => {
    const server = createServer((request, response) => {
      response.statusCode = request.url === '/a' ? 200 : Number(request.url!.slice(1))
      response.end('PAR1')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await failure(readAll(`${origin}/a`))).toMatchObject({
      name: 'InvalidInput',
      message: /ranges of bytes/,
    })
    expect(await failure(readAll(`${origin}/404`))).toMatchObject({ name: 'InvalidInput' })
    expect(await failure(readAll(`${origin}/403`))).toMatchObject({ name: 'PermissionDenied' })
    expect(await failure(readAll(`${origin}/503`))).toMatchObject({ name: 'ServiceUnavailable' })
    await new Promise(resolve => server.close(resolve))
    expect(await failure(readAll(`${origin}/a`))).toMatchObject({ name: 'ServiceUnavailable' })
    for (const source of [`${folder}/none.parquet`, 5, null, new URL('ftp://host/a'), new Uint8Array(20)]) {
      expect(await failure(readAll(source as ParquetSource))).toMatchObject({ name: 'InvalidInput' })
    }
  })

  test('reads columns in the given order, and refuses unknown ones', async () => {
    const bytes = await file()
    const [first] = await readAll(bytes, { columns: ['text', 'id'] })
    expect(first!.schema.fields.map(({ name }) => name)).toEqual(['text', 'id'])
    expect(await failure(readAll(bytes, { columns: ['ids'] }))).toMatchObject({ name: 'ColumnNotFound' })
    expect(await failure(readAll(bytes, { columns: [] }))).toMatchObject({ name: 'InvalidInput' })
  })

  test('reads the types of the option schema where the file has their storage', async () => {
    const list: DataType = { kind: 'list', large: false, child: float32 }
    const bytes = await bytesOf(
      [
        { v: [1, 2], t: 'a', n: 5 },
        { v: [3, 4], t: 'b', n: 6 },
      ],
      {
        schema: {
          fields: [
            field('v', list),
            field('t', { kind: 'utf8', large: false }),
            field('n', { kind: 'int', bits: 64, signed: true }),
          ],
        },
      },
    )
    const vector: DataType = { kind: 'fixed_size_list', size: 2, child: float32 }
    const index = { kind: 'int', bits: 8, signed: true } as const
    const names: DataType = {
      kind: 'dictionary',
      index,
      value: { kind: 'utf8', large: false },
      ordered: false,
    }
    const schema: Schema = {
      fields: [field('t', names), field('v', vector), field('n', { kind: 'duration', unit: 's' })],
    }
    const [batch] = await readAll(bytes, { schema })
    expect(batch!.schema).toEqual(schema)
    expect(contents(batch!).slice(0, 2)).toEqual([
      ['a', 'b'],
      [Float32Array.of(1, 2), Float32Array.of(3, 4)],
    ])
    const wrong = [
      field('v', { ...vector, child: { ...float32, type: { kind: 'float', bits: 64 } } }),
      field('v', { kind: 'utf8', large: false }),
      field('t', { kind: 'binary', large: false }),
      field('n', { kind: 'int', bits: 32, signed: true }),
    ]
    for (const given of wrong)
      expect(await failure(readAll(bytes, { schema: { fields: [given] } }))).toMatchObject({
        name: 'SchemaValidation',
      })
    expect(await failure(readAll(bytes, { schema: { fields: [field('z', list)] } }))).toMatchObject({
      name: 'ColumnNotFound',
    })
    expect(
      await failure(readAll(bytes, { schema: { fields: [field('v', { ...vector, size: 3 })] } })),
    ).toMatchObject({ name: 'InvalidInput', message: /lists of 3 elements/ })
  })

  test('stops at the abort signal', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const bytes = await file()
    const read = async () => {
      for await (const _ of readParquet(bytes, { signal: controller.signal })) controller.abort(reason)
    }
    expect(await failure(read())).toBe(reason)
  })
})

describe('writeParquet', () => {
  test('creates a complete file or none, and counts rows and bytes', async () => {
    const target = `${newRoot()}`
    mkdirSync(target)
    const written = await writeParquet(`${target}/a.parquet`, documents)
    expect(written).toEqual({ rows: 6000, bytes: readFileSync(`${target}/a.parquet`).length })
    const before = readFileSync(`${target}/a.parquet`)
    async function* failing() {
      yield* documents
      throw new Error('no more')
    }
    await failure(writeParquet(`${target}/a.parquet`, failing()))
    expect(readFileSync(`${target}/a.parquet`)).toEqual(before)
    expect(readdirSync(target)).toEqual(['a.parquet'])
  })

  test('writes files without rows and without columns', async () => {
    const [empty] = await readAll(await bytesOf([]))
    expect(empty).toMatchObject({ length: 0, schema: { fields: [] } })
    const [typed] = await readAll(await bytesOf([], { schema: documentSchema }), { where: 'id > 5' })
    expect(typed).toMatchObject({ length: 0, schema: documentSchema })
  })

  test('refuses what Parquet does not have', async () => {
    const empty: Schema = { fields: [field('s', { kind: 'struct', children: [] })] }
    expect(await failure(bytesOf([{ s: {} }], { schema: empty }))).toMatchObject({ name: 'Unsupported' })
    const seconds: Schema = { fields: [field('t', { kind: 'timestamp', unit: 's', timezone: null })] }
    expect(await failure(bytesOf([{ t: 2n ** 62n }], { schema: seconds }))).toMatchObject({
      name: 'InvalidInput',
      message: /too large for Parquet/,
    })
    for (const options of [{ rowGroupRows: 0 }, { compression: 'lzo' }, { rows: 1 }])
      expect(await failure(bytesOf([], options as WriteParquetOptions))).toMatchObject({
        name: 'InvalidInput',
      })
  })
})

/** Files that pyarrow 26 wrote, each with its rows as an Arrow file. */
const golden = 'test/golden/parquet'

test('large rows are written in pages of about 1 MiB, and few of them are in memory', async () => {
  const text = 'x'.repeat(1 << 19)
  function* rows() {
    for (let id = 0; id < 100; id++) yield { id, text }
  }
  // A piece ends at 32 MiB. A character of a text may take two bytes.
  for await (const piece of rowPieces(rows())) expect('rows' in piece && piece.rows.length).toBeLessThan(40)

  const bytes = await bytesOf(Array.from({ length: 20 }, (_, id) => ({ id, text: `${id} ${text}` })))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const start = bytes.length - 8 - view.getUint32(bytes.length - 8, true)
  const [group] = readMetadata(bytes.subarray(start, bytes.length - 8), start).groups
  const chunk = group!.chunks[1]!
  const { offset, length } = chunk.offsetIndex!
  const pages = readOffsetIndex(bytes.subarray(offset, offset + length), offset, chunk, group!.rows)
  expect(pages!.length).toBeGreaterThanOrEqual(7)
  expect(joined(await readAll(bytes))[1]!.map(value => (value as string).length)).toEqual(
    Array.from({ length: 20 }, (_, id) => `${id} ${text}`.length),
  )
})

describe('files of other writers', () => {
  test.each(['dictionary', 'pages-v2', 'lz4', 'empty'])(
    '%s.parquet has the values that its writer wrote',
    async name => {
      const expected = decodeIpc(new Uint8Array(readFileSync(`${golden}/${name}.arrow`)))
      const found = await readAll(`${golden}/${name}.parquet`)
      expect(found[0]!.schema.fields.map(({ name }) => name)).toEqual(
        expected.schema.fields.map(({ name }) => name),
      )
      const none = expected.schema.fields.map(() => [])
      expect(joined(found)).toEqual(name === 'empty' ? none : joined(expected.batches))
    },
  )

  test('timestamps of INT96 that nanoseconds cannot hold are read in microseconds', async () => {
    const error = await failure(readAll(`${golden}/int96.parquet`))
    expect(error).toMatchObject({ name: 'InvalidInput', hint: expect.stringContaining('timestamp(us)') })
    const found = await readAll(`${golden}/int96.parquet`, { schema: schema({ at: 'timestamp(us)' }) })
    const expected = decodeIpc(new Uint8Array(readFileSync(`${golden}/int96.arrow`)))
    expect(joined(found)).toEqual(joined(expected.batches))
    const tooCoarse = await failure(
      readAll(`${golden}/int96.parquet`, { schema: schema({ at: 'timestamp(ms)' }) }),
    )
    expect(tooCoarse).toMatchObject({ name: 'InvalidInput', hint: expect.stringContaining('timestamp(ns)') })
  })

  /** Change bytes of a file. `find`: the bytes before the change, which occur once from the end. */
  function patched(bytes: Uint8Array, find: Buffer, to: Buffer): Uint8Array {
    const copy = Buffer.from(bytes)
    const at = copy.lastIndexOf(find)
    expect(at).toBeGreaterThan(0)
    to.copy(copy, at)
    return copy
  }

  test('a file that records 0 rows has the rows of its row groups, as parquet-rs 0.3 wrote files', async () => {
    const bytes = await bytesOf([{ id: 1 }, { id: 2 }])
    // The number of rows (2, in zigzag 4) and the list of one row group.
    const found = await readAll(patched(bytes, Buffer.of(0x16, 4, 0x19, 0x1c), Buffer.of(0x16, 0)))
    expect(joined(found)).toEqual([[1, 2]])
    const wrong = patched(bytes, Buffer.of(0x16, 4, 0x19, 0x1c), Buffer.of(0x16, 6))
    expect(await failure(readAll(wrong))).toMatchObject({ name: 'InvalidInput' })
  })

  test('columns of parquet-mr before 1.2.9 may be longer than the recorded length', async () => {
    const bytes = await bytesOf([{ id: 1 }, { id: 2 }], { compression: 'none' })
    // The length of the column, uncompressed and compressed, and the position of its first page (4, in zigzag 8).
    const at = bytes.findIndex(
      (byte, i) =>
        byte === 0x16 && bytes[i + 2] === 0x16 && bytes[i + 1] === bytes[i + 3] && bytes[i + 5] === 8,
    )
    const sizes = Buffer.from(bytes.subarray(at, at + 6))
    const short = patched(bytes, sizes, Buffer.of(0x16, sizes[1]!, 0x16, sizes[1]! - 20))
    expect(await failure(readAll(short))).toMatchObject({ name: 'InvalidInput' })
    // Replace the name of the writer, and correct the length of the metadata.
    const name = Buffer.from(short).lastIndexOf('\x05Sheaf')
    const [before, after] = [short.subarray(0, name), short.subarray(name + 6)]
    const old = Buffer.concat([before, Buffer.from('\x0aparquet-mr'), after])
    old.writeUInt32LE(old.readUInt32LE(old.length - 8) + 5, old.length - 8)
    expect(joined(await readAll(old))).toEqual([[1, 2]])
  })
})

describe('a damaged file', () => {
  const timeout = 60_000 + 30 * damagedFiles
  test('is refused with a typed error, or read, within a second', { timeout }, async () => {
    const written = await Promise.all(
      (['none', 'snappy', 'gzip', 'brotli'] as const).map(compression =>
        bytesOf(documents.slice(0, 60), { schema: documentSchema, rowGroupRows: 25, compression }),
      ),
    )
    // Pages of other writers have more encodings, and no checksums.
    const corpus = [
      ...written,
      ...['dictionary', 'pages-v2', 'lz4', 'int96'].map(
        name => new Uint8Array(readFileSync(`${golden}/${name}.parquet`)),
      ),
    ]
    const times = new ReadTimes()
    const edit = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      byte: fc.nat(255),
      fromEnd: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...corpus),
        fc.array(edit, { minLength: 1, maxLength: 4 }),
        fc.option(fc.nat()),
        fc.boolean(),
        async (whole, edits, cut, hasFilter) => {
          const bytes = whole.slice(0, cut === null ? whole.length : cut % whole.length)
          // Half of the edits are in the metadata, because pages have checksums.
          for (const { at, byte, fromEnd } of edits) {
            const place = fromEnd ? bytes.length - 1 - Math.floor(at * 3500) : Math.floor(at * bytes.length)
            if (place >= 0) bytes[place] = byte
          }
          const options = hasFilter ? { where: 'id > 30' } : {}
          const error = await times.measure('a damaged Parquet file', () =>
            readAll(bytes, options).then(
              () => null,
              (thrown: unknown) => thrown,
            ),
          )
          if (error !== null) expect(error).toBeInstanceOf(SheafError)
        },
      ),
      { numRuns: damagedFiles },
    )
    times.print('Parquet')
  })
})
