/** Rows of lists, proposed by a segment of their vectors that measures every one of them. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ListedSegment } from '../../../src/indexes/vector/listed-segment.js'
import type { Ending, Probe, VectorIndexSegment } from '../../../src/indexes/vector/segment.js'
import { Bitset } from '../../../src/primitives/bitset.js'
import { Pacer } from '../../../src/primitives/pacer.js'

/** Vectors on a line. `endings`: of the searches, in turn. */
function segmentOf(values: readonly number[], endings: Ending[] = []) {
  const asked: Probe[] = []
  const vectors: VectorIndexSegment = {
    rows: values.length,
    bytes: 8,
    facts: { vectors: values.length, partitions: 1, recall: null, measured: values.length, rowBytes: 4 },
    candidatesFor: k => 2 * k,
    blurFor: () => ({ factor: 1, more: 0 }),
    candidates(probe) {
      asked.push(probe)
      const { query, count, allowed } = probe
      const passing = values.flatMap((_, i) => (allowed === null || allowed.has(i) ? [i] : []))
      const far = (i: number) => Math.abs(values[i]! - query[0]!)
      const nearest = passing.sort((a, b) => far(a) - far(b)).slice(0, count)
      const ended = endings[asked.length - 1] ?? 'saturated'
      return { ordinals: Uint32Array.from(nearest), partitions: 1, measured: passing.length, ended }
    },
  }
  return { vectors, asked }
}

const endsOf = (lists: readonly (readonly number[])[]) => {
  let end = 0
  return Uint32Array.from(lists, list => (end += list.length))
}

const point = (value: number) => Float32Array.of(value)
const probeOf = (more: Partial<Probe>): Probe => ({
  query: point(0),
  k: 1,
  count: 1,
  allowed: null,
  passing: 1,
  effort: {},
  ...more,
})

test('a search returns each row with a near vector once, and as many rows as requested', async () => {
  const lists = fc.array(fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 5 }), { maxLength: 12 })
  const queries = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(
      lists,
      queries,
      fc.nat({ max: 11 }),
      fc.infiniteStream(fc.boolean()),
      async (lists, queries, more, coin) => {
        const allowed = coin.next().value ? new Bitset(lists.length) : null
        if (allowed !== null) for (const row of lists.keys()) if (coin.next().value) allowed.add(row)
        const filled = lists.flatMap((list, row) =>
          list.length > 0 && allowed?.has(row) !== false ? [row] : [],
        )
        if (filled.length === 0) return
        const { vectors } = segmentOf(lists.flat())
        const segment = new ListedSegment(vectors, endsOf(lists))
        expect([segment.rows, segment.facts.vectors]).toEqual([
          lists.length,
          lists.filter(list => list.length > 0).length,
        ])
        const count = Math.min(filled.length, 1 + more)
        const points = queries.map(point)
        const probe = probeOf({ query: points[0]!, queries: points, count, allowed, passing: filled.length })
        const { ordinals, ended } = await segment.candidates(probe, new Pacer())
        expect(ended).toBe('saturated')
        expect(new Set(ordinals).size).toBe(ordinals.length)
        expect(ordinals.length).toBeGreaterThanOrEqual(count)
        expect(filled).toEqual(expect.arrayContaining([...ordinals]))
        // The row with the vector that is nearest to any of the query comes before all rows without such a one.
        const far = (row: number, query: number) =>
          Math.min(...lists[row]!.map(each => Math.abs(each - query)))
        const least = Math.min(...filled.map(row => far(row, queries[0]!)))
        expect(far(ordinals[0]!, queries[0]!)).toBe(least)
      },
    ),
    { numRuns: 300 },
  )
})

test('a search does not settle if most searches for the query’s vectors do not', async () => {
  const points = [1, 2, 3, 4].map(point)
  const endingOf = async (...endings: Ending[]) => {
    const { vectors } = segmentOf([1, 2, 3, 4], endings)
    const segment = new ListedSegment(vectors, Uint32Array.of(2, 4))
    return (await segment.candidates(probeOf({ queries: points }), new Pacer())).ended
  }
  expect(await endingOf('unsettled', 'unsettled', 'saturated', 'saturated')).toBe('saturated')
  expect(await endingOf('unsettled', 'limited', 'saturated', 'saturated')).toBe('limited')
  expect(await endingOf('unsettled', 'unsettled', 'unsettled', 'saturated')).toBe('unsettled')
})

test('the vectors of allowed rows are computed once', async () => {
  const { vectors, asked } = segmentOf([1, 2, 3, 4, 5])
  const segment = new ListedSegment(vectors, Uint32Array.of(2, 2, 5))
  const allowed = new Bitset(3)
  allowed.add(2)
  for (let i = 0; i < 2; i++) await segment.candidates(probeOf({ allowed }), new Pacer())
  expect(asked[0]!.allowed!.toIndices()).toEqual(Uint32Array.of(2, 3, 4))
  expect(asked[1]!.allowed).toBe(asked[0]!.allowed)
  expect(asked[0]!.passing).toBe(3)
})

test('a search does not settle if it gets fewer vectors than exist, and too few rows', async () => {
  const lists = [...Array.from({ length: 3 }, () => [1, 1, 1, 1]), [50], [60]]
  const { vectors, asked } = segmentOf(lists.flat())
  // As a segment does that keeps no more than a few candidates.
  const few: VectorIndexSegment = {
    ...vectors,
    candidates: (probe, pacer) => vectors.candidates({ ...probe, count: Math.min(6, probe.count) }, pacer),
  }
  const segment = new ListedSegment(few, endsOf(lists))
  const probe = probeOf({ query: point(1), count: 4, passing: 5 })
  expect((await segment.candidates(probe, new Pacer())).ended).toBe('unsettled')
  const limited = { ...probe, effort: { mostPartitions: 3 } }
  expect((await segment.candidates(limited, new Pacer())).ended).toBe('saturated')
  expect(asked.length).toBeGreaterThan(2)
})
