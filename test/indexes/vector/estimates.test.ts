/** How good guesses by residuals are: on clusters in 128 dimensions, where every row of a cluster is about as far from a query as the next. */
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../../bench/random.js'
import type { CodecSettings } from '../../../src/indexes/vector/codec.js'
import { trainCodec } from '../../../src/indexes/vector/codecs/all.js'
import { openArena, Places } from '../../../src/kernels/arena.js'
import { closeNearest, nearestBytes, openNearest } from '../../../src/kernels/nearest-lists.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { gaussian } from '../../support/vectors.js'

const dim = 128
const clusters = 16
const clusterRows = 300
const rows = clusters * clusterRows
const queries = 16

const random = seededRandom(42)
const centers = gaussian(clusters * dim, random)
const residuals = gaussian(rows * dim, random).map(value => value * 0.6)
const elementOf = (row: number, i: number) =>
  centers[Math.floor(row / clusterRows) * dim + i]! + residuals[row * dim + i]!

/** Near a cluster, and the ten rows that are nearest to it. */
const probes = Array.from({ length: queries }, (_, n) => {
  const query = gaussian(dim, random).map((value, i) => centers[(n % clusters) * dim + i]! + value * 0.6)
  const distances = Float64Array.from({ length: rows }, (_, row) =>
    query.reduce((sum, value, i) => sum + (value - elementOf(row, i)) ** 2, 0),
  )
  const nearest = [...distances.keys()].sort((a, b) => distances[a]! - distances[b]!).slice(0, 10)
  return { query, distances, nearest }
})

interface Case {
  readonly title: string
  readonly settings: Pick<CodecSettings, 'name' | 'subVectors' | 'bits'>
  /** Guesses among which the nearest ten are to be. */
  readonly first: number
  /** By how much guesses are too large or small on average, as a share of the distance: centroids lie further inside than rows, signs err both ways. */
  readonly bias: number
}

const cases: readonly Case[] = [
  {
    title: '16 codes of 8 bits',
    settings: { name: 'product', subVectors: 16, bits: 8 },
    first: 100,
    bias: 0.1,
  },
  {
    title: '32 codes of 4 bits',
    settings: { name: 'product', subVectors: 32, bits: 4 },
    first: 200,
    bias: 0.1,
  },
  { title: '128 signs', settings: { name: 'binary', subVectors: 0, bits: 0 }, first: 100, bias: 0.002 },
]

describe.each(cases)('$title', ({ settings, first, bias }) => {
  test(`rank nearly all of the ten nearest of ${rows} rows among the first ${first}`, async () => {
    const codec = await trainCodec({ ...settings, dim, maxIterations: 6 }, residuals, rows / 2, new Pacer())
    const places = new Places()
    const vectors = places.take(clusterRows * dim * 4)
    const lists = Array.from({ length: clusters }, () => places.take(codec.listBytes(clusterRows)))
    const ordinals = places.take(rows * 4)
    const [at, scratch] = [places.take(codec.queryBytes), places.take(codec.scratchBytes)]
    const heap = places.take(nearestBytes(rows))
    const arena = openArena(places.end)
    new Uint32Array(arena.buffer, ordinals, rows).set(Array.from({ length: rows }, (_, row) => row))
    const width = clusterRows * dim
    lists.forEach((list, cluster) => {
      new Float32Array(arena.buffer, vectors, width).set(
        residuals.subarray(cluster * width, (cluster + 1) * width),
      )
      codec.encode(arena, vectors, clusterRows, list, clusterRows, 0)
    })

    let found = 0
    let excess = 0
    for (const { query, distances, nearest } of probes) {
      openNearest(arena, heap, rows, 0)
      lists.forEach((list, cluster) => {
        codec.place(
          arena,
          query.map((value, i) => value - centers[cluster * dim + i]!),
          at,
        )
        codec.scan(arena, list, clusterRows, at, scratch, ordinals + cluster * clusterRows * 4, 0)
      })
      const guessed = closeNearest(arena)
      const among = new Set(guessed.ordinals.subarray(0, first))
      found += nearest.filter(row => among.has(row)).length
      guessed.ordinals.forEach((row, i) => {
        excess += guessed.distances[i]! / distances[row]! - 1
      })
    }
    expect(found / (10 * queries)).toBeGreaterThanOrEqual(0.95)
    expect(Math.abs(excess / (rows * queries))).toBeLessThan(bias)
  })
})
