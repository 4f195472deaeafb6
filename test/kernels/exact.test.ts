import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { SheafError } from '../../src/errors.js'
import { distancesOf, searchSegment, sumSegment } from '../../src/kernels/exact.js'
import { distancesPlain, searchPlain } from '../../src/kernels/exact-plain.js'
import type { Metric } from '../../src/kernels/metric.js'
import type { Hits } from '../../src/kernels/nearest.js'
import { type ElementKind, VectorSegment } from '../../src/kernels/vector-segment.js'
import { Bitset } from '../../src/primitives/bitset.js'

const metrics = ['l2', 'cosine', 'dot', 'hamming'] as const

/** How the elements of rows and query are drawn. */
const palettes = {
  uniform: (random: () => number) => 2 * random() - 1,
  /** Few distinct values, hence many equal distances. */
  coarse: (random: () => number) => Math.floor(3 * random()) - 1,
  /** Sums that overflow, vanish, or lose everything but the largest term. */
  extreme: (random: () => number) =>
    (random() < 0.5 ? -1 : 1) * 10 ** (random() < 0.3 ? 38 * random() : -45 * random()),
  bytes: (random: () => number) => Math.floor(256 * random()),
}

const shape = fc
  .record({
    kind: fc.constantFrom<ElementKind>('f32', 'u8'),
    metric: fc.constantFrom<Metric>(...metrics),
    palette: fc.constantFrom(...(Object.keys(palettes) as (keyof typeof palettes)[])),
    dim: fc.integer({ min: 1, max: 130 }),
    rows: fc.integer({ min: 0, max: 300 }),
    seed: fc.nat(),
  })
  .map(drawn => (drawn.metric === 'hamming' ? ({ ...drawn, kind: 'u8', palette: 'bytes' } as const) : drawn))

/** Shapes of which distances are sums of products. */
const floatShape = shape
  .filter(({ metric }) => metric !== 'hamming')
  .map(drawn => ({ ...drawn, palette: 'uniform' as const }))

interface Shape {
  readonly kind: ElementKind
  readonly palette: keyof typeof palettes
  readonly dim: number
  readonly rows: number
  readonly seed: number
}

/** A segment in the kernel's memory, and a query. */
function make({ kind, palette, dim, rows, seed }: Shape): { segment: VectorSegment; query: Float32Array } {
  const random = seededRandom(seed)
  const draw = palettes[palette]
  const segment = VectorSegment.allocate(kind, dim, rows, 0)
  expect(segment.scratch).not.toBeNull()
  for (let i = 0; i < segment.values.length; i++)
    segment.values[i] = kind === 'u8' ? Math.floor(256 * random()) : draw(random)
  for (let row = 1; row < rows; row += 7) segment.values.copyWithin(row * dim, 0, dim)
  return { segment, query: Float32Array.from({ length: dim }, () => draw(random)) }
}

/** Bit equality, where `toEqual` would take -0 for 0. */
function bitsOf({ distances, ordinals }: Hits): unknown {
  return { distances: [...new Uint32Array(distances.buffer)], ordinals: [...ordinals] }
}

function thrownBy(run: () => unknown): SheafError {
  try {
    run()
  } catch (error) {
    if (error instanceof SheafError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('the kernel and its reference implementation', () => {
  test('measure every row alike, to the bit', () => {
    fc.assert(
      fc.property(shape, ({ metric, ...rest }) => {
        const { segment, query } = make(rest)
        const plain = distancesPlain(segment, query, metric)
        expect([...new Uint32Array(distancesOf(segment, query, metric).buffer)]).toEqual([
          ...new Uint32Array(plain.buffer),
        ])
        const ordinals = Uint32Array.from({ length: rest.rows }, (_, i) => (i * 17) % rest.rows)
        expect([...distancesOf(segment, query, metric, ordinals)]).toEqual(
          [...ordinals].map(ordinal => plain[ordinal]),
        )
      }),
      { numRuns: 300 },
    )
  })

  test('A-046 find the same rows in the same order, ties by ordinal, whatever k, bounds and rows allowed', () => {
    const options = fc.record({
      extra: fc.integer({ min: -300, max: 5 }),
      density: fc.constantFrom(null, 0, 0.01, 0.2, 0.34, 0.7, 1),
      lower: fc.option(fc.double({ min: 0, max: 1 }), { nil: undefined }),
      upper: fc.option(fc.double({ min: 0, max: 1 }), { nil: undefined }),
    })
    fc.assert(
      fc.property(shape, options, ({ metric, ...rest }, { extra, density, lower, upper }) => {
        const { segment, query } = make(rest)
        const random = seededRandom(rest.seed + 1)
        const allowed = density === null ? undefined : new Bitset(rest.rows)
        for (let row = 0; row < rest.rows; row++) if (random() < (density ?? 0)) allowed?.add(row)
        const sorted = distancesPlain(segment, query, metric).sort()
        const bound = (share: number | undefined) =>
          share === undefined ? undefined : sorted[Math.floor(share * (rest.rows - 1))]
        const request = {
          metric,
          k: Math.max(0, rest.rows + extra),
          lower: bound(lower),
          upper: bound(upper),
          allowed,
        }
        const hits = searchSegment(segment, query, request)
        expect(bitsOf(hits)).toEqual(bitsOf(searchPlain(segment, query, request)))
        for (let i = 1; i < hits.ordinals.length; i++) {
          const [before, after] = [hits.distances[i - 1]!, hits.distances[i]!]
          expect(before < after || (before === after && hits.ordinals[i - 1]! < hits.ordinals[i]!)).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('sum a segment alike', () => {
    fc.assert(
      fc.property(shape, rest => {
        const { segment } = make(rest)
        const heap = VectorSegment.allocate(rest.kind, rest.dim, rest.rows, Infinity)
        heap.bytes.set(segment.bytes)
        expect(heap.scratch).toBeNull()
        expect(sumSegment(segment)).toBe(sumSegment(heap))
      }),
    )
  })

  test('agree over several blocks of rows', () => {
    const rows = 9000
    for (const kind of ['f32', 'u8'] as const)
      for (const metric of metrics) {
        if (metric === 'hamming' && kind !== 'u8') continue
        const { segment, query } = make({ kind, palette: 'bytes', dim: 33, rows, seed: 7 })
        const sparse = new Bitset(rows)
        for (let row = 0; row < rows; row += 3 + (row % 2)) sparse.add(row)
        expect(sparse.count() * 3).toBeLessThan(rows)
        for (const request of [
          { metric, k: 100 },
          { metric, k: rows },
          { metric, k: rows, allowed: sparse },
        ])
          expect(bitsOf(searchSegment(segment, query, request))).toEqual(
            bitsOf(searchPlain(segment, query, request)),
          )
      }
  })

  test('agree on more results than the kernel keeps', () => {
    const { segment, query } = make({ kind: 'u8', palette: 'bytes', dim: 1, rows: 70_000, seed: 3 })
    const allowed = Bitset.full(70_000)
    allowed.remove(1)
    for (const request of [
      { metric: 'l2', k: 70_000 },
      { metric: 'l2', k: 69_000, lower: 4, upper: 10_000, allowed },
    ] as const)
      expect(bitsOf(searchSegment(segment, query, request))).toEqual(
        bitsOf(searchPlain(segment, query, request)),
      )
  })

  test('sum the squares of the widest and most distant bytes exactly', () => {
    const dim = 65_536
    const segment = VectorSegment.allocate('u8', dim, 1)
    segment.bytes.fill(255)
    const query = new Float32Array(dim)
    expect(distancesOf(segment, query, 'l2')[0]).toBe(Math.fround(dim * 255 * 255))
    expect(distancesOf(segment, query.fill(255), 'dot')[0]).toBe(Math.fround(1 - dim * 255 * 255))
    expect(distancesOf(segment, query, 'cosine')[0]).toBe(0)
    expect(distancesOf(segment, query.fill(0), 'hamming')[0]).toBe(dim * 8)
  })
})

describe('distances', () => {
  test('A-045 l2 is squared, cosine is 1 - cos, dot is 1 - dot', () => {
    const segment = VectorSegment.allocate('f32', 2, 4, 0)
    segment.values.set([3, 4, 0, 2, 19, 0, -1, 0])
    const query = Float32Array.of(1, 0)
    expect([...distancesOf(segment, query, 'l2')]).toEqual([20, 5, 324, 4])
    expect([...distancesOf(segment, query, 'cosine')]).toEqual([Math.fround(0.4), 1, 0, 2])
    expect([...distancesOf(segment, query, 'dot')]).toEqual([-2, 1, -18, 2])
  })

  test('A-045 hamming is the number of bits that differ', () => {
    const segment = VectorSegment.allocate('u8', 3, 3, 0)
    segment.values.set([0, 0, 0, 0b1010_0000, 1, 255, 7, 0, 0b1000_0001])
    expect([...distancesOf(segment, Float32Array.of(0, 1, 255), 'hamming')]).toEqual([9, 2, 10])
    for (const query of [Float32Array.of(0, 1, 256), Float32Array.of(0, 0.5, 0)])
      expect(() => distancesOf(segment, query, 'hamming')).toThrow('hamming needs rows and a query of bytes')
  })

  test('are close to those in float64', () => {
    fc.assert(
      fc.property(floatShape, ({ metric, ...rest }) => {
        const { segment, query } = make(rest)
        const found = distancesOf(segment, query, metric)
        for (let row = 0; row < rest.rows; row++) {
          let [squares, product, rowNorm, norm] = [0, 0, 0, 0]
          for (let i = 0; i < rest.dim; i++) {
            const [x, q] = [segment.values[row * rest.dim + i]!, query[i]!]
            squares += (x - q) ** 2
            product += x * q
            rowNorm += x * x
            norm += q * q
          }
          const scale = Math.sqrt(rowNorm * norm)
          const cosine = scale === 0 ? 1 : 1 - product / scale
          const expected = metric === 'l2' ? squares : metric === 'dot' ? 1 - product : cosine
          const slack = 1e-5 * (metric === 'l2' ? squares + 1e-3 : metric === 'dot' ? scale + 1 : 1)
          expect(Math.abs(found[row]! - expected)).toBeLessThanOrEqual(slack)
        }
      }),
    )
  })

  test('a vector without direction has cosine distance 1 from everything, a vector from itself 0', () => {
    const segment = VectorSegment.allocate('f32', 3, 3, 0)
    segment.values.set([0, 0, 0, 0.1, 0.2, 0.3, 3e38, 3e38, 3e38])
    expect([...distancesOf(segment, Float32Array.of(0.1, 0.2, 0.3), 'cosine')]).toEqual([1, 0, 1])
    expect([...distancesOf(segment, new Float32Array(3), 'cosine')]).toEqual([1, 1, 1])
  })

  test('a sum that overflows both ways ranks last, as Infinity', () => {
    const segment = VectorSegment.allocate('f32', 2, 3, 0)
    segment.values.set([3e38, 3e38, 0, 0, 1, 1])
    const query = Float32Array.of(3e38, -3e38)
    const hits = searchSegment(segment, query, { metric: 'dot', k: 3 })
    expect([...hits.ordinals]).toEqual([1, 2, 0])
    expect(hits.distances[2]).toBe(Infinity)
  })

  test('a row of NaN never ranks before a number', () => {
    const segment = VectorSegment.allocate('f32', 1, 4, 0)
    segment.values.set([NaN, 5, -NaN, 7])
    const { ordinals, distances } = searchSegment(segment, Float32Array.of(0), { metric: 'l2', k: 4 })
    expect([...ordinals]).toEqual([1, 3, 0, 2])
    expect([...distances]).toEqual([25, 49, Infinity, Infinity])
    expect([...searchSegment(segment, Float32Array.of(0), { metric: 'l2', k: 2 }).ordinals]).toEqual([1, 3])
  })
})

test('A-047 bounds are lower <= distance < upper, and equal bounds give nothing', () => {
  const segment = VectorSegment.allocate('f32', 1, 5, 0)
  segment.values.set([0, 1, 2, 3, 4])
  const within = (lower?: number, upper?: number) => [
    ...searchSegment(segment, Float32Array.of(0), { metric: 'l2', k: 9, lower, upper }).distances,
  ]
  expect(within(1, 9)).toEqual([1, 4])
  expect(within(0, 0)).toEqual([])
  expect(within(4)).toEqual([4, 9, 16])
  expect(within(undefined, 4)).toEqual([0, 1])
  expect(within(-Infinity, Infinity)).toEqual([0, 1, 4, 9, 16])
})

test('A-046 equal rows come by ordinal, also at the cut', () => {
  const segment = VectorSegment.allocate('f32', 3, 3000, 0)
  segment.values.fill(0.5)
  const { ordinals } = searchSegment(segment, new Float32Array(3), { metric: 'l2', k: 5 })
  expect([...ordinals]).toEqual([0, 1, 2, 3, 4])
  const allowed = new Bitset(3000)
  for (const row of [2999, 40, 7, 1024]) allowed.add(row)
  const some = searchSegment(segment, new Float32Array(3), { metric: 'l2', k: 3, allowed })
  expect([...some.ordinals]).toEqual([7, 40, 1024])
})

test('interleaved searches of two segments do not disturb each other', () => {
  const shapes = [1, 2].map(seed => make({ kind: 'f32', palette: 'uniform', dim: 33, rows: 200, seed }))
  const alone = shapes.map(({ segment, query }) =>
    bitsOf(searchPlain(segment, query, { metric: 'l2', k: 20 })),
  )
  for (let round = 0; round < 3; round++)
    for (const [i, { segment, query }] of shapes.entries()) {
      expect(bitsOf(searchSegment(segment, query, { metric: 'l2', k: 20 }))).toEqual(alone[i])
      searchSegment(segment, new Float32Array(33), { metric: 'cosine', k: 200, allowed: Bitset.full(200) })
    }
})

test('a search leaves the rows unchanged', () => {
  const { segment, query } = make({ kind: 'u8', palette: 'bytes', dim: 31, rows: 290, seed: 5 })
  const before = segment.bytes.slice()
  const allowed = Bitset.full(290)
  allowed.remove(0)
  for (const metric of metrics) searchSegment(segment, query, { metric, k: 290, allowed })
  distancesOf(segment, query, 'l2', Uint32Array.of(289, 0))
  expect(segment.bytes).toEqual(before)
})

describe('refuses with code 13', () => {
  const segment = VectorSegment.allocate('f32', 2, 3, 0)
  const query = Float32Array.of(1, 2)
  const cases: [string, () => unknown, RegExp][] = [
    [
      'a query of another dimension',
      () => searchSegment(segment, Float32Array.of(1), { metric: 'l2', k: 1 }),
      /2 dimensions .*, got 1$/,
    ],
    [
      'A-041 a query with NaN',
      () => searchSegment(segment, Float32Array.of(1, NaN), { metric: 'l2', k: 1 }),
      /element 1 .*, got NaN$/,
    ],
    [
      'A-041 a query with Infinity',
      () => distancesOf(segment, Float32Array.of(-Infinity, 0), 'dot'),
      /element 0 .*, got -Infinity$/,
    ],
    ['a negative k', () => searchSegment(segment, query, { metric: 'l2', k: -1 }), /k must be .*, got -1$/],
    ['a broken k', () => searchSegment(segment, query, { metric: 'l2', k: 1.5 }), /k must be .*, got 1.5$/],
    [
      'a lower bound of NaN',
      () => searchSegment(segment, query, { metric: 'l2', k: 1, lower: NaN }),
      /lower bound must be .*, got NaN$/,
    ],
    [
      'an upper bound of NaN',
      () => searchSegment(segment, query, { metric: 'l2', k: 1, upper: NaN }),
      /upper bound must be .*, got NaN$/,
    ],
  ]
  test.each(cases)('%s', (_, run, message) => {
    const error = thrownBy(run)
    expect(error.code).toBe(13)
    expect(error.message).toMatch(message)
  })
})

test('a caller that names rows a segment does not have breaks an invariant', () => {
  const segment = VectorSegment.allocate('f32', 2, 3, 0)
  const query = Float32Array.of(1, 2)
  expect(thrownBy(() => distancesOf(segment, query, 'l2', Uint32Array.of(0, 3))).code).toBe(18)
  expect(
    thrownBy(() => searchSegment(segment, query, { metric: 'l2', k: 1, allowed: new Bitset(4) })).code,
  ).toBe(18)
})
