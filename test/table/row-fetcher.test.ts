/** Rows fetched block by block are the rows of the whole column, whatever its type; and no more is read than their blocks. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pageBytes } from '../../src/arrow/block-sums.js'
import type { Batch, Column } from '../../src/arrow/column.js'
import { concatChunks } from '../../src/arrow/encode-ipc.js'
import { IpcFileWriter } from '../../src/arrow/file-writer.js'
import { rowsToBatch } from '../../src/arrow/rows.js'
import { sliceColumn } from '../../src/arrow/slice.js'
import { takeBatch, takeColumn } from '../../src/arrow/take.js'
import type { Schema } from '../../src/arrow/types.js'
import { columnValues } from '../../src/arrow/values.js'
import type { Slots } from '../../src/commit/slots.js'
import { Memory } from '../../src/primitives/memory.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { runTask } from '../../src/primitives/task.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { readFooter } from '../../src/table/data-file.js'
import { RowFetcher } from '../../src/table/row-fetcher.js'
import { readRun } from '../../src/table/run-reader.js'
import { createTableSource } from '../../src/table/table-source.js'
import { verifyFile } from '../../src/table/verify-file.js'
import { cellValue, schema as someSchema } from '../support/arrow-generators.js'
import { CountingStore } from '../support/stores.js'
import { shortTraces } from '../support/traces.js'

shortTraces()

async function written(schema: Schema, batches: readonly Batch[], cacheBytes = 1 << 26) {
  const writer = new IpcFileWriter(schema)
  const chunks = batches.flatMap(batch => writer.write(batch))
  const { chunks: last, bytes, footerCrc: crc } = writer.finish()
  const memory = new MemoryStore()
  const file = concatChunks([...chunks, ...last])
  await memory.put('f', file)
  const store = new CountingStore(memory)
  const layout = await readFooter(store, 'f', { bytes, crc })
  store.reset()
  const source = createTableSource(store, {} as Slots, new Memory(cacheBytes))
  const fetched = async (batch: number, column: number, rows: Uint32Array): Promise<Column> => {
    const fetcher = new RowFetcher(source, new Pacer())
    const range = layout.batches[batch]!.columns[column]!
    let found: Column | undefined
    const stored = { path: 'f', layout, range, field: schema.fields[column]! }
    await runTask(fetcher.fetch(stored, rows, own => (found = own)))
    await runTask(fetcher.finish())
    return found!
  }
  /** The rows one after the other; null for a column that is too short to be cut into blocks. */
  const run = async (batch: number, column: number, from: number, to: number): Promise<Column | null> => {
    const range = layout.batches[batch]!.columns[column]!
    if (range.firstSum === null) return null
    return readRun(source, { path: 'f', layout, range, field: schema.fields[column]! }, from, to)
  }
  return { memory, store, file, layout, said: { file: 'f', bytes, crc }, fetched, run }
}

/** A batch of many rows, which are copies of a few, and some of their numbers. */
const manyRows = someSchema.chain(schema =>
  fc
    .record({
      few: fc.array(
        fc
          .tuple(
            ...schema.fields.map(({ type, nullable }) =>
              nullable ? fc.option(cellValue(type)) : cellValue(type),
            ),
          )
          .map(cells => Object.fromEntries(schema.fields.map(({ name }, i) => [name, cells[i]]))),
        { minLength: 1, maxLength: 12 },
      ),
      rows: fc.integer({ min: 1, max: 3000 }),
      wanted: fc.array(
        fc.tuple(
          fc.nat(),
          fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, fc.integer({ min: 2, max: 2500 })),
        ),
        { maxLength: 40 },
      ),
      step: fc.integer({ min: 1, max: 7 }),
      cacheBytes: fc.constantFrom(0, 5000, 100_000, 1 << 26),
    })
    .map(({ few, rows, wanted, step, cacheBytes }) => {
      const small = rowsToBatch(few, schema)
      const copies = Uint32Array.from({ length: rows }, (_, i) => (i * step + (i >>> 3)) % few.length)
      const numbers = wanted.flatMap(([first, count]) =>
        Array.from({ length: Math.min(count, rows - (first % rows)) }, (_, i) => (first % rows) + i),
      )
      return { schema, batch: takeBatch(small, copies), wanted: numbers, cacheBytes }
    }),
)

test('rows of any type, in any order and several times, are those of the whole column, under any budget', () =>
  fc.assert(
    fc.asyncProperty(manyRows, async ({ schema, batch, wanted, cacheBytes }) => {
      const { fetched } = await written(schema, [batch, batch], cacheBytes)
      const rows = Uint32Array.from(wanted)
      for (const [i, column] of batch.columns.entries()) {
        const expected = columnValues(takeColumn(column, rows), { int64: 'bigint' })
        for (const number of [1, 0, 1]) {
          expect(columnValues(await fetched(number, i, rows), { int64: 'bigint' })).toEqual(expected)
        }
      }
    }),
    { numRuns: 150 },
  ))

test('consecutive rows of any type are those of the whole column', async () => {
  let runs = 0
  await fc.assert(
    fc.asyncProperty(manyRows, fc.nat(), fc.nat(), async ({ schema, batch, cacheBytes }, begin, length) => {
      const { run } = await written(schema, [batch, batch], cacheBytes)
      const from = (begin % batch.length) & ~7
      const to = from + (length % (batch.length - from + 1))
      for (const [i, column] of batch.columns.entries()) {
        const expected = columnValues(sliceColumn(column, from, to - from), { int64: 'bigint' })
        for (const number of [1, 0]) {
          const found = await run(number, i, from, to)
          if (found === null) continue
          expect(columnValues(found, { int64: 'bigint' })).toEqual(expected)
          runs++
        }
      }
    }),
    { numRuns: 300 },
  )
  expect(runs).toBeGreaterThan(300)
})

const wide: Schema = {
  fields: [
    { name: 'id', nullable: false, type: { kind: 'int', bits: 64, signed: true } },
    { name: 'text', nullable: true, type: { kind: 'utf8', large: false } },
    {
      name: 'vector',
      nullable: false,
      type: {
        kind: 'fixed_size_list',
        size: 128,
        child: { name: 'item', nullable: true, type: { kind: 'float', bits: 32 } },
      },
    },
    {
      name: 'tags',
      nullable: true,
      type: {
        kind: 'list',
        large: false,
        child: { name: 'item', nullable: true, type: { kind: 'utf8', large: false } },
      },
    },
  ],
}
const wideRows = (count: number) =>
  rowsToBatch(
    Array.from({ length: count }, (_, i) => ({
      id: BigInt(i),
      text: i % 50 === 7 ? null : `row ${i} `.repeat(i % 5),
      vector: Array.from({ length: 128 }, (_, k) => i + k / 128),
      tags: i % 3 === 0 ? null : Array.from({ length: i % 4 }, (_, k) => `tag ${k} of ${i}`),
    })),
    wide,
  )

describe('a file of 4000 rows', async () => {
  const batch = wideRows(4000)
  const { store, fetched, layout } = await written(wide, [batch])
  const reads = async (column: number, rows: readonly number[]) => {
    store.reset()
    await fetched(0, column, Uint32Array.from(rows))
    return { depth: store.calls.get('readRanges') ?? 0, reads: store.reads, bytes: store.bytesRead }
  }

  test('a number is one block of 1 KiB and the page with its checksum, read at once and cached', async () => {
    expect(await reads(0, [1500])).toEqual({ depth: 1, reads: 2, bytes: 1024 + pageBytes })
    expect(await reads(0, [1501])).toEqual({ depth: 0, reads: 0, bytes: 0 })
    expect(await reads(0, [3000])).toEqual({ depth: 1, reads: 1, bytes: 1024 })
  })

  test('a vector is a block of its own; neighbours are one read', async () => {
    expect(await reads(2, [1700])).toEqual({ depth: 1, reads: 2, bytes: 512 + pageBytes })
    expect(await reads(2, [1700, 1701, 1703, 1702])).toEqual({ depth: 1, reads: 1, bytes: 3 * 512 })
  })

  test('a text takes two reads that depend on each other, a list of texts three', async () => {
    expect((await reads(1, [2001])).depth).toBe(2)
    expect((await reads(3, [2002])).depth).toBe(3)
  })

  test('no more is read than the needed blocks and their pages', () =>
    fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(3999), { minLength: 1, maxLength: 30 }), async rows => {
        const cold = await written(wide, [batch], 0)
        await cold.fetched(0, 2, Uint32Array.from(rows))
        const { firstSum } = layout.batches[0]!.columns[2]!
        const pages = new Set(rows.map(row => Math.floor((firstSum! + row) / 255)))
        expect(cold.store.bytesRead).toBe(rows.length * 512 + pages.size * pageBytes)
      }),
      { numRuns: 40 },
    ))
})

test('once single pages of checksums have cost more than all of a column, later rows read none', async () => {
  const { store, fetched, layout, memory, file } = await written(wide, [wideRows(4000)])
  const { sums } = layout
  const rows = Array.from({ length: 12 }, (_, i) => 300 * i)
  for (const row of rows) await fetched(0, 2, Uint32Array.of(row))
  await new Promise(setImmediate)
  store.reset()
  await fetched(0, 2, Uint32Array.of(3999))
  expect(store.bytesRead).toBe(512)
  // A block that is damaged is found by them too.
  const { start, buffers } = layout.batches[0]!.columns[2]!
  const damaged = file.slice()
  const at = start + buffers[buffers.length - 2]! + 512 * 3998
  expect(at).toBeLessThan(sums.start)
  damaged[at]! ^= 1
  await memory.delete('f')
  await memory.put('f', damaged)
  await expect(fetched(0, 2, Uint32Array.of(3998))).rejects.toMatchObject({
    code: 18,
    message: expect.stringMatching(/\bf\b have checksum/),
  })
})

test('a damaged page of checksums is reported by the reader of its blocks, not by a load of all pages', async () => {
  const { fetched, layout, memory, file } = await written(wide, [wideRows(4000)], 1 << 24)
  const first = layout.batches[0]!.columns[2]!.firstSum!
  const damaged = file.slice()
  damaged[layout.sums.start + pageBytes * Math.floor((first + 3900) / 255)]! ^= 1
  await memory.delete('f')
  await memory.put('f', damaged)
  for (let row = 0; row < 3000; row += 300) await fetched(0, 2, Uint32Array.of(row))
  await new Promise(setImmediate)
  expect(await fetched(0, 2, Uint32Array.of(100))).toBeDefined()
  await expect(fetched(0, 2, Uint32Array.of(3900))).rejects.toMatchObject({ code: 18 })
})

test('a run of vectors is two reads: their bytes, and the pages with their checksums', async () => {
  const { store, run } = await written(wide, [wideRows(4000)])
  await run(0, 2, 1000, 3000)
  expect(store.reads).toBe(2)
  expect(store.bytesRead).toBe(2000 * 512 + 9 * pageBytes)
})

test('a flip of any byte is found when it is read, and by a check of the file', async () => {
  const batch = wideRows(90)
  const { memory, file, said, fetched, run } = await written(wide, [batch], 0)
  const all = Uint32Array.from({ length: 90 }, (_, i) => i)
  const expected = wide.fields.map((_, i) => columnValues(batch.columns[i]!))
  const check = () => verifyFile(memory, 'f', { ...said, fields: [1, 2, 3, 4] }, new Pacer())
  await check()
  let found = 0
  for (let at = 0; at < file.length; at += 13) {
    const damaged = file.slice()
    damaged[at]! ^= 1 << (at % 8)
    await memory.delete('f')
    await memory.put('f', damaged)
    await expect(check(), `byte ${at}`).rejects.toMatchObject({ code: 18 })
    for (const [i, values] of expected.entries()) {
      for (const read of [() => fetched(0, i, all), () => run(0, i, 0, 90)]) {
        try {
          const column = await read()
          // Thousands of comparisons: `expect` alone takes longer than the reads.
          const own = column === null ? values : columnValues(column)
          if (!isDeepStrictEqual(own, values)) expect(own, `byte ${at}`).toEqual(values)
        } catch (error) {
          expect(error).toMatchObject({ code: 18, message: expect.stringMatching(/\bf\b.*checksum/) })
          found++
        }
      }
    }
  }
  // But for the frame and the footer, which this reader does not look at again, and the zeros between buffers.
  expect(found).toBeGreaterThan((1.8 * file.length) / 13)
})
