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
 * The most that each kind of work may read, of 16,000 rows with vectors of 64 float32 (6.3 MB), where no footer of a file fits into
 * memory: 64 KiB of a lookup are the end of a file.
 */
const bounds: Readonly<Record<string, Bound>> = {
  ingest: { bytes: 1_000, reads: 6 },
  'build IVF_PQ on the vector': { bytes: 13_000_000, reads: 12 },
  'build BTREE on the key': { bytes: 220_000, reads: 15 },
  'build FTS on the text': { bytes: 2_000_000, reads: 20 },
  'build BITMAP on the category': { bytes: 220_000, reads: 24 },
  'top 10': { bytes: 600_000, reads: 320, firstBytes: 620_000, firstReads: 230 },
  'top 10, refineFactor 10': { bytes: 480_000, reads: 190, firstBytes: 620_000, firstReads: 230 },
  'top 10, refineFactor 20': { bytes: 570_000, reads: 320, firstBytes: 620_000, firstReads: 270 },
  'top 10, filter keeps 10 %': { bytes: 4_500_000, reads: 15, firstBytes: 4_600_000, firstReads: 45 },
  'top 10, filter keeps 0.1 %': { bytes: 63_000, reads: 43, firstBytes: 180_000, firstReads: 70 },
  'text, any of 3 words': { bytes: 600_000, reads: 19, firstBytes: 650_000, firstReads: 43 },
  'text, all of 3 words': { bytes: 600_000, reads: 13, firstBytes: 650_000, firstReads: 36 },
  'row by key, all columns': { bytes: 180_000, reads: 22, firstBytes: 200_000, firstReads: 42 },
  // The reads depend on when checksums are loaded in the background: 289 to 343 were counted.
  '100 rows by key, all columns': { bytes: 1_700_000, reads: 360, firstBytes: 1_300_000, firstReads: 310 },
  // As above: 55 to 80.
  'take 10 by offset, all columns': { bytes: 280_000, reads: 90, firstBytes: 380_000, firstReads: 90 },
  'count 1 %, clustered column': { bytes: 43_000, reads: 4, firstBytes: 240_000, firstReads: 25 },
  'count 1 %, column without order': { bytes: 70_000, reads: 2, firstBytes: 170_000, firstReads: 25 },
  'append one row': { bytes: 400, reads: 1, firstBytes: 18_000, firstReads: 26 },
  'update one row by key': { bytes: 250_000, reads: 27, firstBytes: 200_000, firstReads: 43 },
}

let cases: readonly CaseResult[] = []
// The work takes 10 s, and ten times as long on a machine with much other work. The counts are the same.
beforeAll(async () => {
  ;({ cases } = await runBench(bench, 'small'))
}, 600_000)

test('growth: no operation reads more bytes, or more ranges of files, than its bound', () => {
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
  expect(found).toHaveLength(10)
  for (const { name, figures } of found) expect(figures!.recall, name).toBeGreaterThan(0.9)
  const top = cases[1]!.entries.find(({ name }) => name === 'top 10')!.figures!
  expect(top.candidates).toBeGreaterThan(0)
  expect(top.exact).toBe(0)
})

test('growth: work on both sizes is printed side by side', () => {
  const beside = cases[2]!
  expect(beside.title).toMatch(/^16000 rows beside 4000/)
  expect(beside.entries).toHaveLength(12)
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
