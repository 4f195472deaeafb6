import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../../bench/random.js'
import { buildSegment, isExtendable, maxSegmentRows } from '../../../src/indexes/vector/build.js'
import type { VectorInput } from '../../../src/indexes/vector/input.js'
import { type VectorSpec, vectorKinds } from '../../../src/indexes/vector/kind.js'
import { openSegment } from '../../../src/indexes/vector/open.js'
import type { VectorIndexSegment } from '../../../src/indexes/vector/segment.js'
import { distancesPlain } from '../../../src/kernels/exact-plain.js'
import type { Metric } from '../../../src/kernels/metric.js'
import type { ElementKind } from '../../../src/kernels/vector-segment.js'
import { Bitset } from '../../../src/primitives/bitset.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { collected, opened } from '../../support/section-files.js'

const metrics = ['l2', 'cosine', 'dot'] as const

interface Rows {
  readonly dim: number
  readonly count: number
  readonly values: Float32Array | Uint8Array
  readonly present: Bitset | null
}

/** Rows around some centres, as embeddings lie. */
function clustered(count: number, dim: number, centres: number, seed = 2): Rows {
  const gauss = (random: () => number) => random() + random() + random() + random() - 2
  const ofCentres = seededRandom(1)
  const middle = Float32Array.from({ length: centres * dim }, () => 4 * gauss(ofCentres))
  const random = seededRandom(seed)
  const values = new Float32Array(count * dim)
  for (let row = 0; row < count; row++) {
    const centre = Math.floor(random() * centres) * dim
    for (let i = 0; i < dim; i++) values[row * dim + i] = middle[centre + i]! + gauss(random)
  }
  return { dim, count, values, present: null }
}

function kindOf(values: Rows['values']): ElementKind {
  return values instanceof Uint8Array ? 'u8' : 'f32'
}

/** Rows around centres far apart, one centre after the other. */
function turning(count: number, dim: number, centres: number, seed = 2): Rows {
  const random = seededRandom(seed)
  const middles = Array.from({ length: centres }, (_, centre) => seededRandom(centre)).map(ofCentre =>
    Array.from({ length: dim }, () => 4 * ofCentre()),
  )
  const values = Float32Array.from({ length: count * dim }, (_, i) => {
    const middle = middles[Math.floor(i / dim) % centres]!
    return middle[i % dim]! + random() - random()
  })
  return { dim, count, values, present: null }
}

function inputOf({ dim, count, values, present }: Rows, first = 0, step = 700): VectorInput {
  return {
    first,
    rows: count - first,
    dim,
    kind: kindOf(values),
    async *pieces() {
      for (let from = first; from < count; from += step) {
        const rows = Math.min(step, count - from)
        yield {
          first: from,
          rows,
          values: values.slice(from * dim, (from + rows) * dim),
          present: present?.slice(from, from + rows) ?? null,
        }
      }
    },
  }
}

async function built(spec: VectorSpec, rows: Rows, base: Buffer | null = null, baseRows = 0, baseCrc = 0) {
  const from = base === null ? null : { rows: baseRows, file: opened(base, baseCrc) }
  const file = await buildSegment(spec, inputOf(rows, baseRows), from, new Pacer(), () => {})
  return collected(file)
}

async function segmentOver(spec: VectorSpec, rows: Rows): Promise<VectorIndexSegment> {
  const { bytes, crc } = await built(spec, rows)
  return openSegment(opened(bytes, crc), rows.count, rows.dim)
}

/** The nearest rows, as the column says. */
function nearest(rows: Rows, query: Float32Array, metric: Metric, k: number, allowed: Bitset | null) {
  const all = { kind: kindOf(rows.values), dim: rows.dim, rows: rows.count, values: rows.values }
  const distances = distancesPlain(all, query, metric)
  return [...distances.keys()]
    .filter(row => (rows.present?.has(row) ?? true) && (allowed?.has(row) ?? true))
    .sort((a, b) => distances[a]! - distances[b]! || a - b)
    .slice(0, k)
}

/** Of the ten nearest rows of some queries, how many are among what is proposed without tuning. */
async function recallOf(
  segment: VectorIndexSegment,
  rows: Rows,
  queries: Rows,
  metric: Metric,
  allowed: Bitset | null = null,
): Promise<number> {
  let found = 0
  let wanted = 0
  for (let q = 0; q < queries.count; q++) {
    const query = Float32Array.from(queries.values.subarray(q * queries.dim, (q + 1) * queries.dim))
    const truth = nearest(rows, query, metric, 10, allowed)
    const count = segment.candidatesFor(10)
    const passing = allowed?.count() ?? segment.facts.vectors
    const probe = { query, k: 10, count, allowed, passing, effort: {} }
    const { ordinals, ended } = await segment.candidates(probe, new Pacer())
    expect(new Set(ordinals).size).toBe(ordinals.length)
    const proposed = new Set(ordinals)
    wanted += truth.length
    // All rows are measured where a search does not settle.
    found += ended === 'unsettled' ? truth.length : truth.filter(row => proposed.has(row)).length
  }
  return found / wanted
}

function firstOf({ values, dim }: Rows): Float32Array {
  return Float32Array.from(values.subarray(0, dim))
}

describe.each(vectorKinds)('%s', kind => {
  const spec = (metric: Metric, parameters = {}): VectorSpec => ({ kind, metric, parameters })
  const rows = clustered(1500, 20, 30)
  const queries = clustered(40, 20, 30, 3)

  test.each(metrics)('finds the nearest rows by %s', async metric => {
    const segment = await segmentOver(spec(metric), rows)
    expect(await recallOf(segment, rows, queries, metric)).toBeGreaterThan(0.93)
    expect(segment.facts.vectors).toBe(1500)
    expect(segment.facts.recall).toBeGreaterThan(0.9)
  })

  test('returns allowed rows only, and finds the nearest of them', async () => {
    const segment = await segmentOver(spec('l2'), rows)
    for (const share of [0.5, 0.1, 0.02]) {
      const random = seededRandom(5)
      const allowed = new Bitset(1500)
      for (let row = 0; row < 1500; row++) if (random() < share) allowed.add(row)
      expect(await recallOf(segment, rows, queries, 'l2', allowed), `${share}`).toBeGreaterThan(0.9)
      const passing = allowed.count()
      const probe = { query: firstOf(queries), k: 10, count: 30, allowed, passing, effort: {} }
      const { ordinals } = await segment.candidates(probe, new Pacer())
      expect(ordinals.every(row => allowed.has(row))).toBe(true)
    }
  })

  test('is the same in every build, for any batches of rows', async () => {
    const some = clustered(900, 9, 5)
    const file = await built(spec('l2'), some)
    const again = await collected(
      await buildSegment(spec('l2'), inputOf(some, 0, 123), null, new Pacer(), () => {}),
    )
    expect(again.crc).toBe(file.crc)
  })

  test('never fails for few rows, equal rows, rows without vectors or without direction', async () => {
    const few = fc.record({
      count: fc.integer({ min: 0, max: 40 }),
      dim: fc.integer({ min: 1, max: 20 }),
      metric: fc.constantFrom(...metrics),
      palette: fc.constantFrom([0], [0, 1], [1, 2, 3, 4, 5], [0, 1e-30, 1e30, -3e38]),
      missing: fc.integer({ min: 0, max: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(few, async ({ count, dim, metric, palette, missing }) => {
        const random = seededRandom(count * 7 + dim)
        const present = Bitset.full(count)
        for (let row = 0; row < count; row++) if (row % 4 < missing) present.remove(row)
        const values = Float32Array.from(
          { length: count * dim },
          () => palette[Math.floor(random() * palette.length)]!,
        )
        const some: Rows = { dim, count, values, present: missing === 0 ? null : present }
        const segment = await segmentOver(spec(metric), some)
        expect(segment.facts.vectors).toBe(present.count())
        const query = Float32Array.from({ length: dim }, () => random())
        const passing = present.count()
        const probe = { query, k: 1000, count: 1000, allowed: null, passing, effort: {} }
        const { ordinals, ended } = await segment.candidates(probe, new Pacer())
        // A segment may leave a query that its codes cannot tell to the caller, who then measures all rows.
        if (ended === 'unsettled') return
        expect([...ordinals].sort((a, b) => a - b)).toEqual([...present.toIndices()])
      }),
      { numRuns: 15 },
    )
  })

  test.runIf(isExtendable(spec('l2')))('rows are added to a segment, which keeps its rows', async () => {
    const all = clustered(1500, 16, 20)
    const base: Rows = { ...all, count: 1200 }
    const first = await built(spec('cosine'), base)
    const extended = await built(spec('cosine'), all, first.bytes, 1200, first.crc)
    const segment = await openSegment(opened(extended.bytes, extended.crc), 1500, 16)
    expect(segment.facts.vectors).toBe(1500)
    expect(await recallOf(segment, all, clustered(40, 16, 20, 3), 'cosine')).toBeGreaterThan(0.9)
    const added = Bitset.range(1500, 1200, 1500)
    expect(await recallOf(segment, all, clustered(40, 16, 20, 3), 'cosine', added)).toBeGreaterThan(0.9)
  })

  test('visits the number of partitions it is told to', async () => {
    const segment = await segmentOver(spec('l2', { partitions: 8 }), rows)
    expect(segment.facts.partitions).toBe(8)
    const query = firstOf(queries)
    const probe = { query, k: 5, count: 5, allowed: null, passing: 1500 }
    const one = { leastPartitions: 1, mostPartitions: 1 }
    const found = await segment.candidates({ ...probe, effort: one }, new Pacer())
    expect([found.partitions, found.ended]).toEqual([1, 'limited'])
    const all = await segment.candidates({ ...probe, effort: { leastPartitions: 8 } }, new Pacer())
    expect(all.partitions).toBe(8)
    expect(all.measured).toBeGreaterThan(found.measured)
  })

  test('takes no more memory than it reports', () => {
    expect(maxSegmentRows(spec('l2'), 128)).toBeGreaterThan(1_000_000)
    expect(maxSegmentRows(spec('l2'), 100_000)).toBeGreaterThan(0)
  })
})

// How hard to look was found out with rows as queries, which lie elsewhere: of ten neighbours six were found.
test.each(['IVF_FLAT', 'IVF_HNSW_SQ'] as const)(
  'finds the nearest by dot of vectors that all lie to one side: %s',
  async kind => {
    const toOneSide = (rows: Rows): Rows => ({ ...rows, values: rows.values.map(value => value + 20) })
    const rows = toOneSide(clustered(800, 10, 15))
    const segment = await segmentOver({ kind, metric: 'dot', parameters: {} }, rows)
    expect(await recallOf(segment, rows, toOneSide(clustered(15, 10, 15, 3)), 'dot')).toBeGreaterThan(0.93)
  },
)

/** Rows of bits around some centres: of each bit every eighth time the other one. */
function bitsAround(count: number, dim: number, centres: number, seed = 2): Rows {
  const ofCentres = seededRandom(1)
  const middle = Uint8Array.from({ length: centres * dim }, () => 256 * ofCentres())
  const random = seededRandom(seed)
  const byte = () => Math.floor(256 * random())
  const values = new Uint8Array(count * dim)
  for (let row = 0; row < count; row++) {
    const centre = Math.floor(random() * centres) * dim
    for (let i = 0; i < dim; i++) values[row * dim + i] = middle[centre + i]! ^ (byte() & byte() & byte())
  }
  return { dim, count, values, present: null }
}

describe('bits', () => {
  const spec: VectorSpec = { kind: 'IVF_FLAT', metric: 'hamming', parameters: {} }
  const queries = bitsAround(40, 13, 20, 3)

  test('the nearest rows by hamming are found, and each is kept in its bytes', async () => {
    const rows = bitsAround(2500, 13, 20)
    const segment = await segmentOver(spec, rows)
    expect(segment.facts.partitions).toBeGreaterThan(10)
    expect(segment.facts.measured).toBeLessThan(1250)
    expect(segment.facts.rowBytes).toBe(16)
    expect(await recallOf(segment, rows, queries, 'hamming')).toBeGreaterThan(0.95)
    const allowed = new Bitset(2500)
    for (let row = 0; row < 2500; row += 7) allowed.add(row)
    expect(await recallOf(segment, rows, queries, 'hamming', allowed)).toBeGreaterThan(0.95)
  })

  test('random rows are searched far enough', async () => {
    const random = seededRandom(9)
    const values = Uint8Array.from({ length: 1000 * 8 }, () => 256 * random())
    const rows: Rows = { dim: 8, count: 1000, values, present: null }
    const segment = await segmentOver(spec, rows)
    expect(await recallOf(segment, rows, bitsAround(30, 8, 5), 'hamming')).toBeGreaterThan(0.95)
  })

  test('rows are added to a segment, which keeps its rows', async () => {
    const all = bitsAround(1500, 13, 20)
    const first = await built(spec, { ...all, count: 1200 })
    const extended = await built(spec, all, first.bytes, 1200, first.crc)
    const segment = await openSegment(opened(extended.bytes, extended.crc), 1500, 13)
    expect(await recallOf(segment, all, queries, 'hamming')).toBeGreaterThan(0.95)
  })
})

test('rows in a periodic order are all used for training and queries', async () => {
  const inTurns = turning(5000, 32, 25)
  const segment = await segmentOver({ kind: 'IVF_SQ', metric: 'l2', parameters: {} }, inTurns)
  const recall = await recallOf(segment, inTurns, turning(50, 32, 25, 4), 'l2')
  expect(recall).toBeGreaterThanOrEqual(0.95)
  expect(Math.abs(segment.facts.recall! - recall)).toBeLessThan(0.03)
})

describe('a segment over copies of rows treats equal rows as equally near', () => {
  /** Twenty copies of each of 300 points, and many zeros. */
  function copied(): Rows {
    const points = turning(300, 32, 300)
    const values = new Float32Array(7000 * points.dim)
    for (let row = 0; row < 6000; row++) {
      const point = ((row * 7) % 300) * points.dim
      values.set(points.values.subarray(point, point + points.dim), row * points.dim)
    }
    return { ...points, count: 7000, values }
  }

  test.each(['IVF_SQ', 'IVF_PQ', 'IVF_RQ', 'IVF_HNSW_PQ'] as const)('%s', async kind => {
    const segment = await segmentOver({ kind, metric: 'l2', parameters: {} }, copied())
    const { rows, between, excluded } = segment.facts.recalls!
    expect(Math.min(rows!, between!, excluded!)).toBeGreaterThanOrEqual(0.95)
  })
})

test('an extended list segment keeps its recall for each kind of query', async () => {
  const spec: VectorSpec = { kind: 'IVF_SQ', metric: 'l2', parameters: {} }
  const all = clustered(1500, 20, 30)
  const first = await built(spec, { ...all, count: 1200 })
  const { facts } = await openSegment(opened(first.bytes, first.crc), 1200, 20)
  const extended = await built(spec, all, first.bytes, 1200, first.crc)
  const { facts: after } = await openSegment(opened(extended.bytes, extended.crc), 1500, 20)
  expect(after.recalls).toEqual(facts.recalls)
  expect(after.vectors).toBe(1500)
})

test('a segment by l2 records the radius of most rows, however many are equal', async () => {
  const random = seededRandom(8)
  const dim = 8
  const values = Float32Array.from({ length: 3000 * dim }, (_, i) => {
    const row = Math.floor(i / dim)
    return row % 3 === 0 ? 0 : (random() - 0.5) * (row % 50 === 1 ? 1000 : 1)
  })
  const rows: Rows = { dim, count: 3000, values, present: null }
  const radiusBy = async (kind: VectorSpec['kind'], metric: Metric) =>
    (await segmentOver({ kind, metric, parameters: {} }, rows)).facts.radius
  for (const kind of ['IVF_SQ', 'IVF_HNSW_SQ'] as const) {
    const radius = await radiusBy(kind, 'l2')
    expect(radius).toBeGreaterThan(0.8)
    expect(radius).toBeLessThan(20)
    expect(await radiusBy(kind, 'dot')).toBeUndefined()
  }
})
