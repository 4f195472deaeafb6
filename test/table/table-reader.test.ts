import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Column } from '../../src/arrow/column.js'
import type { DataType } from '../../src/arrow/types.js'
import type { Slots } from '../../src/commit/slots.js'
import type { AddedFile } from '../../src/manifest/change.js'
import type { Fragment, Layout, StoredFile } from '../../src/manifest/layout.js'
import { systemClock } from '../../src/primitives/clock.js'
import { Memory } from '../../src/primitives/memory.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { TableReader } from '../../src/table/table-reader.js'
import { createTableSource, passingBy } from '../../src/table/table-source.js'
import { type Draft, stageRows } from '../../src/write/stage.js'
import { CountingStore } from '../support/stores.js'

const int32: DataType = { kind: 'int', bits: 32, signed: true }
const id = { id: 1, name: 'id', type: int32, nullable: true }
const later = { id: 2, name: 'later', type: int32, nullable: true }
const batchRows = 128 * 1024

async function stage(store: MemoryStore, rows: number): Promise<Draft> {
  const values = Int32Array.from({ length: rows }, (_, i) => i)
  const column: Column = {
    type: int32,
    length: rows,
    nullCount: 0,
    validity: null,
    values,
    offsets: null,
    children: [],
    dictionary: null,
  }
  const schema = { fields: [{ name: 'id', type: int32, nullable: true }] }
  const target = { store, clock: systemClock, location: 'tables/t', birth: 1 }
  const staged = await stageRows([{ schema, length: rows, columns: [column] }], schema, target)
  return staged.drafts[0]!
}

/** A table of fragments with that many rows; `dead`: offsets of rows by the commit that killed them, per fragment. */
async function open(
  sizes: readonly number[],
  dead: readonly (readonly (readonly number[])[])[] = [],
  cacheBytes = 1 << 26,
) {
  const memory = new MemoryStore()
  const blobs = new Map<string, Uint8Array>()
  const fragments: Fragment[] = []
  for (const [f, rows] of sizes.entries()) {
    const draft = await stage(memory, rows)
    const file = {
      ...(draft.content as Exclude<Draft['content'], { blob: unknown }>),
      fields: [1],
    } satisfies AddedFile & StoredFile
    const killed = dead[f] ?? []
    const parts = killed.map((offsets, i) => {
      blobs.set(`${f}/${i}`, new Uint8Array(Uint32Array.from(offsets).buffer))
      return { slot: f, blob: i }
    })
    const count = killed.reduce((sum, offsets) => sum + offsets.length, 0)
    const zones = { 1: draft.zones.get(0)! }
    fragments.push({ id: f, rows, ids: { row0: 0 }, files: [file], dead: { parts, count }, zones })
  }
  const slots = { get: async (slot: number) => ({ blob: (i: number) => blobs.get(`${slot}/${i}`)! }) }
  const store = new CountingStore(memory)
  const source = createTableSource(store, slots as unknown as Slots, new Memory(cacheBytes))
  const layout: Layout = {
    table: 't',
    version: 1,
    schema: { id: 1, fields: [id, later] },
    earlier: [],
    indexes: [],
    fragments,
    next: { row: 0, frag: 9, field: 3 },
  }
  return { reader: new TableReader(source, 'tables/t', layout), fragments, store, source, layout }
}

describe('parts', () => {
  test('of one fragment cost the footer of that fragment, once', async () => {
    const { reader, fragments, store } = await open([300_000, 20_000])
    const parts = await reader.partsOf(fragments[0]!)
    expect(parts.map(({ batch, first, rows }) => [batch, first, rows])).toEqual([
      [0, 0, batchRows],
      [1, batchRows, batchRows],
      [2, 2 * batchRows, 300_000 - 2 * batchRows],
    ])
    expect(store.calls).toEqual(new Map([['getRange', 1]]))
    expect(await reader.partsOf(fragments[0]!)).toBe(parts)
    expect(await reader.parts()).toEqual([
      ...parts,
      { fragment: fragments[1], batch: 0, first: 0, rows: 20_000 },
    ])
    expect(store.calls).toEqual(new Map([['getRange', 2]]))
  })

  test('are asked for again after a failure', async () => {
    const { reader, fragments } = await open([20_000])
    const [file] = fragments[0]!.files as [StoredFile]
    const lying = { ...fragments[0]!, rows: 20_001 }
    await expect(reader.partsOf(lying)).rejects.toMatchObject({ code: 18 })
    await expect(reader.partsOf(lying)).rejects.toMatchObject({ code: 18 })
    await expect(reader.partsOf({ ...lying, files: [{ ...file, crc: 1 }] })).rejects.toMatchObject({
      code: 18,
    })
  })

  test('a caller that gives up does not end the load of others', async () => {
    const { reader, fragments } = await open([20_000])
    const gone = new AbortController()
    const first = reader.partsOf(fragments[0]!, gone.signal)
    gone.abort(new Error('gone'))
    await expect(first).rejects.toThrow('gone')
    expect(await reader.partsOf(fragments[0]!)).toHaveLength(1)
  })
})

test('zones are known without a read', async () => {
  const { reader, fragments, store } = await open([20_000])
  expect(reader.zone(fragments[0]!, id)).toEqual({ least: 0n, greatest: 19_999n, nulls: 0 })
  expect(reader.zone(fragments[0]!, later)).toEqual({ least: null, greatest: null, nulls: 20_000 })
  const { zones, ...old } = fragments[0]!
  expect(zones).toBeDefined()
  expect(reader.zone(old, id)).toBeNull()
  expect(reader.zone({ ...old, zones: {} }, id)).toBeNull()
  expect(() => reader.zone({ ...old, zones: { 1: ['x', 'y', 0] } }, id)).toThrow(
    expect.objectContaining({ code: 18 }),
  )
  expect(store.calls).toEqual(new Map())
})

describe('living rows', () => {
  const rows = 2 * batchRows + 1000
  const offset = fc.oneof(
    fc.nat(rows - 1),
    fc.constantFrom(0, batchRows - 1, batchRows, batchRows + 1, 2 * batchRows, rows - 1),
  )

  test('are those that no commit killed, and each part knows how many come before it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(offset, { maxLength: 60 }),
        fc.integer({ min: 1, max: 4 }),
        async (killed, commits) => {
          const lists = Array.from({ length: commits }, (_, c) =>
            killed.filter((_, i) => i % commits === c).sort((a, b) => a - b),
          )
          const { reader, fragments } = await open([rows], [lists.filter(list => list.length > 0)])
          for (const part of await reader.partsOf(fragments[0]!)) {
            const before = killed.filter(row => row < part.first).length
            expect(await reader.liveBefore(part)).toBe(part.first - before)
            const live = await reader.live(part)
            const dead = killed.filter(row => row >= part.first && row < part.first + part.rows)
            expect(live?.count() ?? part.rows).toBe(part.rows - dead.length)
            for (const row of dead) expect(live!.has(row - part.first)).toBe(false)
          }
        },
      ),
      { numRuns: 15 },
    )
  })

  test('of a later version are those of an earlier one without what died since, whichever were asked for before', async () => {
    const asked = fc.shuffledSubarray([1, 2, 3, 4, 5], { minLength: 2 })
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(offset, { minLength: 5, maxLength: 40 }),
        asked,
        async (killed, versions) => {
          const lists = Array.from({ length: 5 }, (_, c) =>
            killed.filter((_, i) => i % 5 === c).sort((a, b) => a - b),
          )
          const { source, layout } = await open([rows], [lists])
          const [fragment] = layout.fragments
          // The first one is asked for again at last: what it had must be as it was.
          for (const commits of [...versions, versions[0]!]) {
            const gone = lists.slice(0, commits).flat()
            const dead = { parts: fragment!.dead.parts.slice(0, commits), count: gone.length }
            const reader = new TableReader(source, 'tables/t', {
              ...layout,
              fragments: [{ ...fragment!, dead }],
            })
            for (const part of await reader.parts()) {
              const own = gone.filter(row => row >= part.first && row < part.first + part.rows)
              const live = (await reader.live(part))!
              expect(live.count()).toBe(part.rows - own.length)
              expect(own.some(row => live.has(row - part.first))).toBe(false)
            }
          }
        },
      ),
      { numRuns: 15 },
    )
  })

  test('a row past the fragment is damage', async () => {
    const { reader, fragments } = await open([200_000], [[[5, 200_000]]])
    const [, second] = await reader.partsOf(fragments[0]!)
    await expect(reader.live(second!)).rejects.toMatchObject({ code: 18 })
    await expect(reader.liveBefore(second!)).rejects.toMatchObject({ code: 18 })
  })
})

describe('what is read', () => {
  const columnBytes = 4 * batchRows
  const readAll = async (reader: TableReader) => {
    for (const part of await reader.parts()) await reader.column(part, id)
  }

  test('in passing takes nothing away that is asked for again, and finds what is kept', async () => {
    // Eight batches, of which six fit.
    const { source, layout, store } = await open([8 * batchRows], [], 6.5 * columnBytes)
    const reader = new TableReader(source, 'tables/t', layout)
    const passing = new TableReader(passingBy(source), 'tables/t', layout)
    const parts = await reader.parts()
    for (const part of [0, 1, 2, 3, 4, 5, 0, 1, 2]) await reader.column(parts[part]!, id)
    store.reset()
    for (const part of parts.slice(0, 6)) await passing.column(part, id)
    expect(store.calls.get('readInto')).toBeUndefined()
    for (let i = 0; i < 3; i++) await readAll(passing)
    const reads = store.calls.get('readInto')
    for (const part of parts.slice(0, 3)) await reader.column(part, id)
    expect(reads).toBeGreaterThan(2 * 3)
    expect(store.calls.get('readInto')).toBe(reads)
  })

  test('ahead of time is read where it will still be there when it is asked for', async () => {
    for (const [cacheBytes, reads] of [
      [2.5 * columnBytes, 1],
      [1.5 * columnBytes, 0],
      [0, 0],
    ] as const) {
      const { reader, store } = await open([2 * batchRows], [], cacheBytes)
      const parts = await reader.parts()
      store.reset()
      reader.prefetch(parts[1]!, [id, later])
      await reader.column(parts[0]!, id)
      expect(store.calls.get('readInto')).toBe(1 + (cacheBytes === 0 ? 0 : reads))
    }
  })
})
