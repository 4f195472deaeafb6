/** What every codec promises. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fillFloats, seededRandom } from '../../../bench/random.js'
import { ErrorCode } from '../../../src/errors.js'
import type { Codec, CodecName, CodecSettings } from '../../../src/indexes/vector/codec.js'
import { codesResiduals, openCodec, trainCodec } from '../../../src/indexes/vector/codecs/all.js'
import { ScalarCodec } from '../../../src/indexes/vector/codecs/scalar.js'
import { type Arena, openArena, Places } from '../../../src/kernels/arena.js'
import type { Hits } from '../../../src/kernels/nearest.js'
import { closeNearest, nearestBytes, openNearest } from '../../../src/kernels/nearest-lists.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { gaussian } from '../../support/vectors.js'

const pacer = new Pacer()

/** `recall`: of the ten nearest of gaussian rows, how many are among the first thirty by what is guessed, at least. */
interface Case {
  readonly name: CodecName
  readonly title: string
  readonly settings?: Partial<CodecSettings>
  readonly recall: number
}

const cases: readonly Case[] = [
  { name: 'flat', title: 'flat', recall: 1 },
  { name: 'scalar', title: 'scalar', recall: 1 },
  { name: 'product', title: 'product, 8 bits', recall: 0.9 },
  { name: 'product', title: 'product, 4 bits', settings: { bits: 4, subVectors: 16 }, recall: 0.8 },
  { name: 'binary', title: 'binary', recall: 0.5 },
]

function settingsOf({ name, settings }: Case, dim: number): CodecSettings {
  return { name, dim, subVectors: Math.max(1, dim / 4), bits: 8, maxIterations: 8, ...settings }
}

/** A list in an arena, and everything to scan it with. */
interface List {
  readonly codec: Codec
  readonly arena: Arena
  readonly rows: number
  readonly list: number
  readonly vectors: number
  readonly query: number
  readonly scratch: number
  readonly ordinals: number
  readonly heap: number
}

/** Room for `rows` rows, of which none is written; ordinals descend to 0. */
function layOut(codec: Codec, rows: number, dim: number, plain: boolean): List {
  const places = new Places()
  const [vectors, list, query, scratch, ordinals, heap] = [
    rows * dim * 4,
    codec.listBytes(rows),
    codec.queryBytes,
    codec.scratchBytes,
    rows * 4,
    nearestBytes(rows),
  ].map(bytes => places.take(bytes)) as [number, number, number, number, number, number]
  const arena = openArena(places.end, plain)
  new Uint32Array(arena.buffer, ordinals, rows).set(Array.from({ length: rows }, (_, i) => rows - 1 - i))
  return { codec, arena, rows, list, vectors, query, scratch, ordinals, heap }
}

/** Writes rows `first ..` of the list. */
function write(
  { codec, arena, rows, list, vectors }: List,
  values: Float32Array,
  count: number,
  first: number,
) {
  new Float32Array(arena.buffer, vectors, values.length).set(values)
  codec.encode(arena, vectors, count, list, rows, first)
}

function bytesOf({ codec, arena, list, rows }: List): Uint8Array {
  return new Uint8Array(arena.buffer, list, codec.listBytes(rows))
}

/** All of the first `count` rows in the order of what is guessed; by their number in the list. */
function scan(of: List, query: Float32Array, count = of.rows, base = 0): Hits {
  const { codec, arena, rows, list, query: at, scratch, ordinals, heap } = of
  codec.place(arena, query, at)
  openNearest(arena, heap, Math.max(1, rows), 0)
  codec.scan(arena, list, count, at, scratch, ordinals, base)
  const { distances, ordinals: found } = closeNearest(arena)
  return { distances, ordinals: found.map(ordinal => rows - 1 - ordinal) }
}

function filled(codec: Codec, values: Float32Array, dim: number, plain = false): List {
  const rows = values.length / dim
  const list = layOut(codec, rows, dim, plain)
  write(list, values, rows, 0)
  return list
}

function distancesTo(query: Float32Array, values: Float32Array): number[] {
  const dim = query.length
  return Array.from({ length: values.length / dim }, (_, row) =>
    query.reduce((sum, element, i) => sum + (element - values[row * dim + i]!) ** 2, 0),
  )
}

describe.each(cases)('the codec $title', each => {
  const trained = (values: Float32Array, dim: number) =>
    trainCodec(settingsOf(each, dim), values, values.length / dim, pacer)

  test('finds most of the nearest among its first results', async () => {
    const dim = 32
    const random = seededRandom(1)
    const values = gaussian(1500 * dim, random)
    const list = filled(await trained(values, dim), values, dim)
    let found = 0
    for (let i = 0; i < 20; i++) {
      const query = gaussian(dim, random)
      const exact = distancesTo(query, values)
      const nearest = [...exact.keys()].sort((a, b) => exact[a]! - exact[b]!).slice(0, 10)
      const first = new Set(scan(list, query).ordinals.subarray(0, 30))
      found += nearest.filter(row => first.has(row)).length
    }
    expect(found / 200).toBeGreaterThanOrEqual(each.recall)
  })

  test('estimates distances close to the true ones, and adds the base', async () => {
    const dim = 48
    const random = seededRandom(2)
    const values = gaussian(400 * dim, random)
    const query = gaussian(dim, random)
    const list = filled(await trained(values, dim), values, dim)
    const exact = distancesTo(query, values)
    const { distances, ordinals } = scan(list, query)
    const ratios = [...ordinals].map((row, i) => distances[i]! / exact[row]!)
    expect(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length).toBeCloseTo(1, 0)
    const raised = scan(list, query, list.rows, 1000)
    expect(raised.distances[0]! - distances[0]!).toBeCloseTo(1000, 1)
  })

  test('gives the same codes and estimates with and without the kernel', async () => {
    const shape = fc.record({
      seed: fc.nat(),
      parts: fc.integer({ min: 1, max: 9 }),
      rows: fc.integer({ min: 1, max: 90 }),
    })
    await fc.assert(
      fc.asyncProperty(shape, async ({ seed, parts, rows }) => {
        const dim = parts * 4
        const random = seededRandom(seed)
        const values = gaussian(rows * dim, random)
        const query = gaussian(dim, random)
        const codec = await trained(values, dim)
        const [kernel, plain] = [false, true].map(isPlain => {
          const list = filled(codec, values, dim, isPlain)
          const { distances, ordinals } = scan(list, query, rows, 0.5)
          return { bytes: [...bytesOf(list)], distances: [...distances], ordinals: [...ordinals] }
        })
        expect(kernel).toEqual(plain)
        expect(kernel!.ordinals.length).toBe(rows)
      }),
      { numRuns: 15 },
    )
  })

  test('is the same when it is opened again', async () => {
    const dim = 20
    const random = seededRandom(3)
    const values = gaussian(200 * dim, random)
    const query = gaussian(dim, random)
    const codec = await trained(values, dim)
    const again = openCodec(each.name, dim, codec.parameters.slice())
    expect([...again.parameters]).toEqual([...codec.parameters])
    expect(again.ofResiduals).toBe(codesResiduals(each.name))
    expect(codec.ofResiduals).toBe(again.ofResiduals)
    expect([...bytesOf(filled(again, values, dim))]).toEqual([...bytesOf(filled(codec, values, dim))])
    expect(scan(filled(again, values, dim), query)).toEqual(scan(filled(codec, values, dim), query))
  })

  test('refuses parameters that are not its own', async () => {
    const dim = 8
    const codec = await trained(gaussian(100 * dim, seededRandom(4)), dim)
    expect(() => openCodec(each.name, dim, new Uint8Array(codec.parameters.length + 1))).toThrow(
      expect.objectContaining({ code: ErrorCode.Internal }),
    )
  })

  test('writes and copies rows in any pieces and any order', async () => {
    const shape = fc.record({
      seed: fc.nat(),
      rows: fc.integer({ min: 1, max: 150 }),
      cuts: fc.array(fc.nat(150)),
    })
    const dim = 12
    const sample = gaussian(200 * dim, seededRandom(5))
    const codec = await trained(sample, dim)
    fc.assert(
      fc.property(shape, ({ seed, rows, cuts }) => {
        const values = gaussian(rows * dim, seededRandom(seed))
        const whole = filled(codec, values, dim)
        const ends = [...new Set([0, rows, ...cuts.filter(cut => cut < rows)])].sort((a, b) => a - b)
        const pieces = ends.slice(1).map((end, i) => ({ first: ends[i]!, count: end - ends[i]! }))

        const parts = layOut(codec, rows, dim, false)
        for (const { first, count } of pieces.reverse())
          write(parts, values.subarray(first * dim, (first + count) * dim), count, first)
        expect([...bytesOf(parts)]).toEqual([...bytesOf(whole)])

        // Behind a row of another list, in which they keep their order.
        const more = layOut(codec, rows + 1, dim, false)
        write(more, values.subarray(0, dim), 1, 0)
        for (const { first, count } of pieces)
          codec.copy(bytesOf(whole), first, bytesOf(more), first + 1, count)
        const query = values.subarray((rows - 1) * dim)
        const seen = scan(whole, query)
        const distances = new Map([...seen.ordinals].map((row, i) => [row, seen.distances[i]!]))
        const moved = scan(more, query)
        moved.ordinals.forEach((row, i) => {
          expect(moved.distances[i]).toBe(distances.get(Math.max(0, row - 1)))
        })
        expect(moved.ordinals.length).toBe(rows + 1)
      }),
      { numRuns: 15 },
    )
  })

  test('scans exactly the given rows', async () => {
    const dim = 16
    const random = seededRandom(6)
    const values = gaussian(1100 * dim, random)
    const query = gaussian(dim, random)
    const codec = await trained(values, dim)
    for (const plain of [false, true]) {
      const list = filled(codec, values, dim, plain)
      for (const count of [0, 1, 5, 31, 33, 1023, 1024, 1025, 1100])
        expect([...scan(list, query, count).ordinals].sort((a, b) => a - b)).toEqual([...Array(count).keys()])
    }
  })

  test('trains on one row, on many equal rows, and on zeros', async () => {
    const dim = 8
    for (const values of [
      gaussian(dim, seededRandom(7)),
      Float32Array.from({ length: 300 * dim }, (_, i) => (i % dim) / 7),
      new Float32Array(300 * dim),
    ]) {
      const list = filled(await trained(values, dim), values, dim)
      const { distances, ordinals } = scan(list, values.subarray(0, dim))
      expect(ordinals.length).toBe(values.length / dim)
      expect(new Set(distances).size).toBe(1)
    }
  })
})

describe('scalar codes', () => {
  const settings = (dim: number): CodecSettings => ({
    name: 'scalar',
    dim,
    subVectors: 1,
    bits: 8,
    maxIterations: 1,
  })

  test('keep byte integers, and distances between them, exact', async () => {
    for (const low of [0, -128]) {
      const dim = 19
      const random = seededRandom(8)
      const values = new Float32Array(300 * dim).map(() => low + Math.floor(256 * random()))
      // Training has not seen all of them.
      const codec = await trainCodec(settings(dim), values.subarray(0, 9 * dim), 9, pacer)
      const query = values.subarray(dim, 2 * dim)
      const { distances, ordinals } = scan(filled(codec, values, dim), query)
      const exact = distancesTo(query, values)
      expect([...distances]).toEqual([...ordinals].map(row => exact[row]))
    }
  })

  test('ignore rare outliers of one dimension: the other dimensions keep their precision', async () => {
    const dim = 8
    const random = seededRandom(9)
    const values = gaussian(2000 * dim, random)
    values[5] = 1e30
    values[77 * dim + 2] = -1e30
    const codec = await trainCodec(settings(dim), values, 2000, pacer)
    const query = gaussian(dim, random)
    const { ordinals } = scan(filled(codec, values, dim), query)
    const exact = distancesTo(query, values)
    const nearest = [...exact.keys()].sort((a, b) => exact[a]! - exact[b]!)[0]!
    expect([...ordinals.subarray(0, 5)]).toContain(nearest)
  })

  test('a narrow dimension keeps its offset among wide ones, with margin on both sides', async () => {
    const random = seededRandom(10)
    const values = new Float32Array(3000).map((_, i) => (i % 3 === 0 ? 100 * random() : 50 + random()))
    const codec = await trainCodec(settings(3), values, 1000, pacer)
    const row = Float32Array.of(50, 20, 80)
    const { distances } = scan(filled(codec, row, 3), Float32Array.of(50, 50.5, 50.5))
    expect(distances[0]! / (30.5 ** 2 + 29.5 ** 2)).toBeCloseTo(1, 1)
  })

  test('are trained on values at the ends of float32', async () => {
    for (const far of [1e-44, 3e38]) {
      const values = Float32Array.from({ length: 400 }, (_, i) => (i % 2 === 0 ? far : -far) * ((i % 7) / 7))
      const codec = await trainCodec(settings(4), values, 100, pacer)
      expect([...openCodec('scalar', 4, codec.parameters).parameters]).toEqual([...codec.parameters])
    }
  })

  test('are written for graphs with their own stride, and alike for queries', async () => {
    const dim = 20
    const values = gaussian(50 * dim, seededRandom(11))
    const codec = await trainCodec(settings(dim), values, 50, pacer)
    if (!(codec instanceof ScalarCodec)) throw new Error('a scalar codec was asked for')
    const arena = openArena(65_536)
    fillFloats(new Float32Array(arena.buffer, 0, 50 * dim), () => 0).set(values)
    codec.encodeRows(arena, 0, 50, dim, 8192, 48)
    for (let row = 0; row < 50; row++) {
      const codes = codec.encodeQuery(values.subarray(row * dim, (row + 1) * dim))
      expect(codes.length).toBe(32)
      expect([...new Uint8Array(arena.buffer, 8192 + row * 48, 48)]).toEqual([
        ...codes,
        ...new Uint8Array(16),
      ])
    }
  })

  test('give the added element of dot enough bytes, so that the step of the others does not grow', async () => {
    const dim = 25
    const random = seededRandom(12)
    const values = gaussian(2000 * dim, random)
    for (let row = 0; row < 2000; row++) values[row * dim + dim - 1] = 20 * random()
    const one = await trainCodec(settings(dim), values, 2000, pacer)
    const several = await trainCodec({ ...settings(dim), lastIsRest: true }, values, 2000, pacer)
    const query = gaussian(dim, random)
    query[dim - 1] = 0
    const exact = distancesTo(query, values)
    const worst = (codec: Codec) => {
      const { distances, ordinals } = scan(filled(codec, values, dim), query)
      return Math.max(...Array.from(ordinals, (row, i) => Math.abs(distances[i]! - exact[row]!)))
    }
    expect(worst(several)).toBeLessThan(worst(one) / 2)
    const again = openCodec('scalar', dim, several.parameters)
    expect(worst(again)).toBe(worst(several))
    const wrong = several.parameters.slice()
    new DataView(wrong.buffer).setFloat32(wrong.length - 4, 1, true)
    expect(() => openCodec('scalar', dim, wrong)).toThrow('several offsets')
  })
})
