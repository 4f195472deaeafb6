import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredFile } from '../../src/manifest/layout.js'
import { TableReader } from '../../src/table/table-reader.js'
import { passingBy } from '../../src/table/table-source.js'
import { batchRows, id, later, openFragments } from '../support/fragments.js'

describe('parts', () => {
  test('of one fragment cost the footer of that fragment, once', async () => {
    const { reader, fragments, store } = await openFragments([300_000, 20_000])
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

  test('are read again after a failure', async () => {
    const { reader, fragments } = await openFragments([20_000])
    const [file] = fragments[0]!.files as [StoredFile]
    const lying = { ...fragments[0]!, rows: 20_001 }
    await expect(reader.partsOf(lying)).rejects.toMatchObject({ code: 18 })
    await expect(reader.partsOf(lying)).rejects.toMatchObject({ code: 18 })
    await expect(reader.partsOf({ ...lying, files: [{ ...file, crc: 1 }] })).rejects.toMatchObject({
      code: 18,
    })
  })

  test('an aborted caller does not end the load of others', async () => {
    const { reader, fragments } = await openFragments([20_000])
    const gone = new AbortController()
    const first = reader.partsOf(fragments[0]!, gone.signal)
    gone.abort(new Error('gone'))
    await expect(first).rejects.toThrow('gone')
    expect(await reader.partsOf(fragments[0]!)).toHaveLength(1)
  })
})

test('zone maps are known without a read', async () => {
  const { reader, fragments, store } = await openFragments([20_000])
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

describe('live rows', () => {
  const rows = 2 * batchRows + 1000
  const offset = fc.oneof(
    fc.nat(rows - 1),
    fc.constantFrom(0, batchRows - 1, batchRows, batchRows + 1, 2 * batchRows, rows - 1),
  )

  test('are those that no commit deleted, and each part knows how many precede it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(offset, { maxLength: 60 }),
        fc.integer({ min: 1, max: 4 }),
        async (killed, commits) => {
          const lists = Array.from({ length: commits }, (_, c) =>
            killed.filter((_, i) => i % commits === c).sort((a, b) => a - b),
          )
          const { reader, fragments } = await openFragments([rows], [lists.filter(list => list.length > 0)])
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

  test('of a later version are those of an earlier one without rows deleted since, in any order of requests', async () => {
    const asked = fc.shuffledSubarray([1, 2, 3, 4, 5], { minLength: 2 })
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(offset, { minLength: 5, maxLength: 40 }),
        asked,
        async (killed, versions) => {
          const lists = Array.from({ length: 5 }, (_, c) =>
            killed.filter((_, i) => i % 5 === c).sort((a, b) => a - b),
          )
          const { source, layout } = await openFragments([rows], [lists])
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
    const { reader, fragments } = await openFragments([200_000], [[[5, 200_000]]])
    const [, second] = await reader.partsOf(fragments[0]!)
    await expect(reader.live(second!)).rejects.toMatchObject({ code: 18 })
    await expect(reader.liveBefore(second!)).rejects.toMatchObject({ code: 18 })
  })
})

describe('reads', () => {
  const columnBytes = 4 * batchRows
  const readAll = async (reader: TableReader) => {
    for (const part of await reader.parts()) await reader.column(part, id)
  }

  test('in passing evict nothing that is used again, and use cached data', async () => {
    // Eight batches, of which six fit.
    const { source, layout, store } = await openFragments([8 * batchRows], [], 6.5 * columnBytes)
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

  test('ahead of time happen only if the data stays cached until it is used', async () => {
    for (const [cacheBytes, reads] of [
      [2.5 * columnBytes, 1],
      [1.5 * columnBytes, 0],
      [0, 0],
    ] as const) {
      const { reader, store } = await openFragments([2 * batchRows], [], cacheBytes)
      const parts = await reader.parts()
      store.reset()
      reader.prefetch(parts[1]!, [id, later])
      await reader.column(parts[0]!, id)
      expect(store.calls.get('readInto')).toBe(1 + (cacheBytes === 0 ? 0 : reads))
    }
  })
})
