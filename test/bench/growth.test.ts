/** What a call may read from the store where nothing of the table fits into memory: counts, which no other work of the machine changes. */
import { beforeAll, expect, test } from 'vitest'
import { bench } from '../../bench/growth.js'
import { MeteredStore } from '../../bench/growth-store.js'
import { type CaseResult, runBench } from '../../bench/harness.js'
import { MemoryStore } from '../../src/storage/memory-store.js'

interface Bound {
  /** A call on average. */
  readonly bytes: number
  /** Ranges of files, and whole files. */
  readonly reads: number
  /** Opening the root and the first call. */
  readonly firstBytes?: number
  readonly firstReads?: number
}

/**
 * The most that each kind of work may read, of 16,000 rows with vectors of 64 float32 (6.3 MB). To be lowered as it reads less: of 10M rows
 * with vectors of 128 float32 the goals are 512 KB for a top 10, 16 KB for a row by its key, 160 KB for 10 rows by offset, and 64 KB
 * for an update of one row by its key.
 */
const bounds: Readonly<Record<string, Bound>> = {
  ingest: { bytes: 1_000, reads: 6 },
  'build IVF_PQ on the vector': { bytes: 13_000_000, reads: 12 },
  'build BTREE on the key': { bytes: 220_000, reads: 15 },
  'build FTS on the text': { bytes: 2_000_000, reads: 20 },
  'build BITMAP on the category': { bytes: 220_000, reads: 24 },
  'top 10': { bytes: 7_000_000, reads: 16, firstBytes: 5_300_000, firstReads: 38 },
  'top 10, filter keeps 10 %': { bytes: 4_500_000, reads: 4, firstBytes: 4_600_000, firstReads: 30 },
  'top 10, filter keeps 0.1 %': { bytes: 4_500_000, reads: 4, firstBytes: 4_600_000, firstReads: 30 },
  'text, any of 3 words': { bytes: 700_000, reads: 11, firstBytes: 720_000, firstReads: 32 },
  'text, all of 3 words': { bytes: 700_000, reads: 11, firstBytes: 720_000, firstReads: 32 },
  'row by key, all columns': { bytes: 6_600_000, reads: 10, firstBytes: 6_800_000, firstReads: 33 },
  '100 rows by key, all columns': { bytes: 6_900_000, reads: 20, firstBytes: 7_100_000, firstReads: 44 },
  'take 10 by offset, all columns': { bytes: 6_600_000, reads: 8, firstBytes: 6_700_000, firstReads: 29 },
  'count 1 %, clustered column': { bytes: 140_000, reads: 2, firstBytes: 220_000, firstReads: 24 },
  'count 1 %, column without order': { bytes: 70_000, reads: 2, firstBytes: 160_000, firstReads: 24 },
  'append one row': { bytes: 400, reads: 1, firstBytes: 18_000, firstReads: 25 },
  'update one row by key': { bytes: 6_800_000, reads: 21, firstBytes: 6_800_000, firstReads: 34 },
}

let cases: readonly CaseResult[] = []
beforeAll(async () => {
  ;({ cases } = await runBench(bench, 'small'))
})

test('growth: no work reads more bytes, or more ranges of files, than its bound', () => {
  const large = cases[1]!.entries
  expect(large.map(({ name }) => name)).toEqual(Object.keys(bounds))
  for (const { name, figures } of large) {
    for (const [figure, bound] of Object.entries(bounds[name]!)) {
      expect(figures![figure], `${name}: ${figure}`).toBeLessThanOrEqual(bound)
    }
  }
})

test('growth: a top 10 asks the index of the large table, and finds the nearest rows', () => {
  const found = cases
    .slice(0, 2)
    .flatMap(({ entries }) => entries.filter(({ figures }) => 'recall' in figures!))
  expect(found).toHaveLength(6)
  for (const { name, figures } of found) expect(figures!.recall, name).toBeGreaterThan(0.9)
  const top = cases[1]!.entries.find(({ name }) => name === 'top 10')!.figures!
  expect(top.candidates).toBeGreaterThan(0)
  expect(top.exact).toBe(0)
})

test('growth: indexed work of both sizes is told side by side', () => {
  const beside = cases[2]!
  expect(beside.title).toMatch(/^16000 rows beside 4000/)
  expect(beside.entries).toHaveLength(10)
  for (const { name, figures } of beside.entries) expect(figures!.msRatio, name).toBeGreaterThan(0)
  for (const { points } of beside.lines!.lines) expect(points.map(([rows]) => rows)).toEqual([4000, 16_000])
})

test('a metered store counts every read, and each of several ranges', async () => {
  const store = new MeteredStore(new MemoryStore())
  await store.put('a', new Uint8Array(10))
  expect(await store.get('a')).toHaveLength(10)
  expect(await store.get('b')).toBeNull()
  expect(await store.getRange('a', 2, 3)).toHaveLength(3)
  await store.readInto('a', 0, new Uint8Array(4))
  const several = [5, 6].map(length => ({ offset: 0, target: new Uint8Array(length) }))
  await store.readRanges('a', several)
  expect(store.counts()).toEqual({ reads: 6, bytesRead: 28, bytesWritten: 10 })
})
