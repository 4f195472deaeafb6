/** What product quantization promises beside what every codec does (`codecs.test.ts`). */
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../../bench/random.js'
import { ErrorCode } from '../../../src/errors.js'
import { openProduct, type ProductCodec, trainProduct } from '../../../src/indexes/vector/codecs/product.js'
import { openArena, Places } from '../../../src/kernels/arena.js'
import { closeNearest, nearestBytes, openNearest } from '../../../src/kernels/nearest-lists.js'
import { Pacer } from '../../../src/primitives/pacer.js'
import { gaussian } from '../../support/vectors.js'

function trained(values: Float32Array, dim: number, subVectors: number, bits: number): Promise<ProductCodec> {
  const settings = { name: 'product', dim, subVectors, bits, maxIterations: 5 } as const
  return trainProduct(settings, values, values.length / dim, new Pacer())
}

/** What a scan says of each row. */
function scanned(codec: ProductCodec, values: Float32Array, query: Float32Array): Float32Array {
  const rows = values.length / query.length
  const places = new Places()
  const [vectors, list, ordinals] = [
    places.take(values.byteLength),
    places.take(codec.listBytes(rows)),
    places.take(rows * 4),
  ]
  const [at, scratch, heap] = [
    places.take(codec.queryBytes),
    places.take(codec.scratchBytes),
    places.take(nearestBytes(rows)),
  ]
  const arena = openArena(places.end)
  new Float32Array(arena.buffer, vectors, values.length).set(values)
  new Uint32Array(arena.buffer, ordinals, rows).set([...Array(rows).keys()])
  codec.encode(arena, vectors, rows, list, rows, 0)
  codec.place(arena, query, at)
  openNearest(arena, heap, rows, 0)
  codec.scan(arena, list, rows, at, scratch, ordinals, 0)
  const hits = closeNearest(arena)
  const distances = new Float32Array(rows)
  hits.ordinals.forEach((row, i) => {
    distances[row] = hits.distances[i]!
  })
  return distances
}

describe.each([8, 4])('codes of %i bits', bits => {
  test('row by row and with a table give the estimate of a scan', async () => {
    const dim = 30
    const random = seededRandom(1)
    const values = gaussian(150 * dim, random)
    const query = gaussian(dim, random)
    const codec = await trained(values, dim, 9, bits)
    const codes = codec.encodeRows(values)
    const table = codec.tableOf(query)
    expect([codes.length, table.length]).toEqual([150 * codec.parts, codec.parts * 256])
    const largest = Math.max(...table)
    scanned(codec, values, query).forEach((distance, row) => {
      let sum = 0
      for (let p = 0; p < codec.parts; p++) sum += table[p * 256 + codes[row * codec.parts + p]!]!
      // Entries of short codes are rounded to 1/255 of the largest.
      expect(Math.abs(distance - sum)).toBeLessThan(bits === 8 ? 1e-4 : (codec.parts * largest) / 255)
    })
  })

  test('have as many centroids as there are distinct rows, and are exact for these', async () => {
    const dim = 7
    const distinct = gaussian(5 * dim, seededRandom(2))
    const values = Float32Array.from({ length: 60 * dim }, (_, i) => distinct[i % distinct.length]!)
    const codec = await trained(values, dim, 3, bits)
    const query = gaussian(dim, seededRandom(3))
    scanned(codec, values, query).forEach((distance, row) => {
      const exact = query.reduce((sum, element, i) => sum + (element - values[row * dim + i]!) ** 2, 0)
      expect(distance).toBeCloseTo(exact, bits === 8 ? 4 : 0)
    })
    expect(codec.parameters.length).toBe((3 + 3 + 5 * dim) * 4)
  })

  test('fit any dimension: as many parts as requested, but at most one per element', async () => {
    for (const [dim, subVectors, parts] of [
      [1, 1, 1],
      [3, 16, 3],
      [13, 4, 4],
      [100, 7, 7],
    ] as const) {
      const values = gaussian(40 * dim, seededRandom(dim))
      const codec = await trained(values, dim, subVectors, bits)
      expect(codec.parts).toBe(parts)
      const distances = scanned(codec, values, values.subarray(0, dim))
      expect(distances[0]).toBeLessThan(
        distances.reduce((sum, distance) => sum + distance) / distances.length,
      )
    }
  })

  test('with damaged parameters are refused', async () => {
    const dim = 6
    const { parameters } = await trained(gaussian(50 * dim, seededRandom(4)), dim, 2, bits)
    expect(openProduct(dim, parameters).parts).toBe(2)
    const damaged = [0, 1, 2, 3, 4].flatMap(word =>
      [0, 1, 7, 300, 0xffff_ffff].map(value => {
        const copy = parameters.slice()
        const words = new Uint32Array(copy.buffer)
        const changed = words[word] !== value
        words[word] = value
        return changed ? copy : copy.subarray(4)
      }),
    )
    for (const each of [...damaged, parameters.subarray(0, 10), new Uint8Array(0)])
      expect(() => openProduct(dim, each)).toThrow(expect.objectContaining({ code: ErrorCode.Internal }))
  })
})
