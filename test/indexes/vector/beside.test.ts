/** The vectors that a segment has beside its lists are those of its rows, in files built in chunks and extended. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkPage, pageBytes, sumAt, sumsPerPage } from '../../../src/arrow/block-sums.js'
import { buildSegment } from '../../../src/indexes/vector/build.js'
import type { VectorInput } from '../../../src/indexes/vector/input.js'
import { openSegment } from '../../../src/indexes/vector/open.js'
import type { VectorIndexSegment } from '../../../src/indexes/vector/segment.js'
import { Bitset } from '../../../src/primitives/bitset.js'
import { crc32 } from '../../../src/primitives/checksum.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { collected, opened } from '../../support/section-files.js'

interface Made {
  readonly kind: 'f32' | 'u8'
  readonly index: 'IVF_PQ' | 'IVF_SQ' | 'IVF_RQ'
  readonly metric: 'l2' | 'cosine' | 'dot'
  readonly dim: number
  /** Numbers of rows of the first build and of each extension. */
  readonly parts: readonly number[]
  /** Rows in memory at the same time. */
  readonly chunkRows: number
  readonly seed: number
}

const made: fc.Arbitrary<Made> = fc.record({
  kind: fc.constantFrom('f32', 'u8'),
  index: fc.constantFrom('IVF_PQ', 'IVF_SQ', 'IVF_RQ'),
  metric: fc.constantFrom('l2', 'cosine', 'dot'),
  dim: fc.constantFrom(3, 8, 150),
  parts: fc.array(fc.integer({ min: 0, max: 150 }), { minLength: 1, maxLength: 3 }),
  chunkRows: fc.constantFrom(1, 7, 64, 1000),
  seed: fc.nat(1000),
})

/** Rows of few points. Some have no vector, and some are too long or too short for the space of the index. */
function valuesOf({ kind, dim, parts, seed }: Made) {
  const rows = parts.reduce((sum, part) => sum + part, 0)
  const present = Bitset.full(rows)
  const element = (row: number, i: number) => {
    const value = ((row * 7 + seed) % 11) * ((i * 3 + row + seed) % 5)
    if (kind === 'u8' || row % 19 !== 3) return value
    return row % 2 === 0 ? value * 1e19 : value * 1e-40
  }
  const values = kind === 'f32' ? new Float32Array(rows * dim) : new Uint8Array(rows * dim)
  for (let row = 0; row < rows; row++) {
    if (row % 13 === 5) present.remove(row)
    for (let i = 0; i < dim; i++) values[row * dim + i] = element(row, i)
  }
  return { rows, present, values }
}

async function built(what: Made) {
  const { kind, index, metric, dim, parts, chunkRows } = what
  const all = valuesOf(what)
  const spec = { kind: index, metric, parameters: { partitions: 4, subVectors: 1 } } as const
  let file: { bytes: Buffer; crc: number } | null = null
  let first = 0
  for (const rows of parts) {
    const from = first
    const input: VectorInput = {
      first: from,
      rows,
      dim,
      kind,
      chunkBytes: chunkRows * dim * (kind === 'f32' ? 4 : 1),
      async *pieces() {
        for (let at = from; at < from + rows; at += 40) {
          const count = Math.min(40, from + rows - at)
          const values = all.values.slice(at * dim, (at + count) * dim)
          yield { first: at, rows: count, values, present: all.present.slice(at, at + count) }
        }
      },
    }
    const base = file && { rows: from, file: opened(file.bytes, file.crc) }
    file = await collected(await buildSegment(spec, input, base, new Pacer(), () => {}))
    first += rows
  }
  return { ...all, file: file! }
}

async function allCandidates(segment: VectorIndexSegment, dim: number, rows: number) {
  const effort = { leastPartitions: segment.facts.partitions }
  const query = Float32Array.from({ length: dim }, (_, i) => 1 + (i % 3))
  const count = Math.max(1, rows)
  const probe = { query, k: count, count, allowed: null, passing: segment.facts.vectors, effort }
  return segment.candidates(probe, new Pacer())
}

test('each candidate has its vector in the file, under the checksum of its block', async () => {
  await fc.assert(
    fc.asyncProperty(made, async what => {
      const { rows, present, values, file } = await built(what)
      const { dim, kind } = what
      const segment = await openSegment(opened(file.bytes, file.crc), rows, dim)
      const { ordinals, partitionOf } = await allCandidates(segment, dim, rows)
      const { beside } = segment
      expect(beside).toBeDefined()
      expect(ordinals.length).toBe(present.count())
      if (rows === 0) return
      // Every row is in one stretch of one partition.
      const { chunks, block, sumsStart } = beside!
      expect(chunks.reduce((sum, chunk) => sum + chunk.rows, 0)).toBe(ordinals.length)
      expect(partitionOf).toHaveLength(ordinals.length)
      const places = await beside!.placesOf(ordinals, partitionOf!)
      const bytes = dim * (kind === 'f32' ? 4 : 1)
      const used = new Set<string>()
      for (const [i, ordinal] of ordinals.entries()) {
        const chunk = chunks[places.chunks[i]!]!
        const row = places.rows[i]!
        used.add(`${places.chunks[i]} ${row}`)
        const within = beside!.stretchesOf(partitionOf![i]!).find(each => each.chunk === places.chunks[i])
        expect(row).toBeGreaterThanOrEqual(within!.first)
        expect(row).toBeLessThan(within!.first + within!.count)
        const at = chunk.start + row * bytes
        const own = values.subarray(ordinal * dim, (ordinal + 1) * dim)
        expect(file.bytes.subarray(at, at + bytes)).toEqual(
          Buffer.from(own.buffer, own.byteOffset, own.byteLength),
        )
        const number = chunk.firstSum + Math.floor((row * bytes) / block)
        const page = Math.floor(number / sumsPerPage)
        const sums = file.bytes.subarray(sumsStart + page * pageBytes, sumsStart + (page + 1) * pageBytes)
        checkPage(sums, page, 'f')
        const begin = chunk.start + Math.floor((row * bytes) / block) * block
        const end = Math.min(begin + block, chunk.start + chunk.rows * bytes)
        expect(crc32(file.bytes.subarray(begin, end))).toBe(sumAt(sums, number % sumsPerPage))
      }
      expect(used.size).toBe(ordinals.length)
    }),
    { numRuns: 60 },
  )
})

test('a segment whose base has no vectors beside its lists has none either', async () => {
  const dim = 4
  const inputFrom = (first: number, chunkBytes?: number): VectorInput => ({
    first,
    rows: 50,
    dim,
    kind: 'f32',
    chunkBytes,
    async *pieces() {
      const values = Float32Array.from({ length: 50 * dim }, (_, i) => ((first + i) * 7) % 31)
      yield { first, rows: 50, values, present: null }
    },
  })
  const spec = { kind: 'IVF_PQ', metric: 'l2', parameters: { partitions: 2, subVectors: 1 } } as const
  const build = async (input: VectorInput, base: { bytes: Buffer; crc: number } | null) => {
    const before = base && { rows: 50, file: opened(base.bytes, base.crc) }
    return collected(await buildSegment(spec, input, before, new Pacer(), () => {}))
  }
  const open = async (file: { bytes: Buffer; crc: number }, rows: number) =>
    openSegment(opened(file.bytes, file.crc), rows, dim)
  const plain = await build(inputFrom(0), null)
  expect((await open(plain, 50)).beside).toBeUndefined()
  expect((await open(await build(inputFrom(50, 1000), plain), 100)).beside).toBeUndefined()
  const beside = await build(inputFrom(0, 1000), null)
  expect((await open(await build(inputFrom(50), beside), 100)).beside).toBeUndefined()
  expect((await open(await build(inputFrom(50, 1000), beside), 100)).beside).toBeDefined()
})
