import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fillBytes, fillFloats, seededRandom } from '../../bench/random.js'
import { type Arena, openArena, Places } from '../../src/kernels/arena.js'
import type { Hits } from '../../src/kernels/nearest.js'
import { closeNearest, nearestBytes, offerNearest, openNearest } from '../../src/kernels/nearest-lists.js'
import { scanBits, scanBlockBytes, scanBytes, scanFloats } from '../../src/kernels/scan-lists.js'

/** Rows of several lists with as many ordinals, which come in no order. */
interface List {
  readonly distances: readonly number[]
  readonly ordinals: readonly number[]
  readonly base: number
}

const most = 400

/** Bytes that every test has room in. */
function layOut() {
  const places = new Places()
  places.take(64)
  return {
    heap: places.take(nearestBytes(most)),
    allowed: places.take(most / 8),
    distances: places.take(most * 4),
    ordinals: places.take(most * 4),
    bytes: places.end,
  }
}

function nearestOf(
  arena: Arena,
  lists: readonly List[],
  k: number,
  allowed: ReadonlySet<number> | null,
): Hits {
  const places = layOut()
  if (allowed !== null) {
    const words = new Uint32Array(arena.buffer, places.allowed, Math.ceil(most / 32))
    for (const ordinal of allowed) words[ordinal >>> 5]! |= 1 << (ordinal & 31)
  }
  openNearest(arena, places.heap, k, allowed === null ? 0 : places.allowed)
  for (const { distances, ordinals, base } of lists) {
    new Float32Array(arena.buffer, places.distances).set(distances)
    new Uint32Array(arena.buffer, places.ordinals, most).set(ordinals)
    offerNearest(arena, places.distances, places.ordinals, distances.length, base)
  }
  return closeNearest(arena)
}

function bitsOf({ distances, ordinals }: Hits): unknown {
  return { distances: [...new Uint32Array(distances.buffer)], ordinals: [...ordinals] }
}

test('of several lists the k smallest by (distance, ordinal) are kept, in any order of arrival', () => {
  const shape = fc.record({
    seed: fc.nat(),
    k: fc.integer({ min: 1, max: most }),
    lengths: fc.array(fc.nat(90), { maxLength: 4 }),
    share: fc.constantFrom(null, 0, 0.1, 0.9),
  })
  fc.assert(
    fc.property(shape, ({ seed, k, lengths, share }) => {
      const random = seededRandom(seed)
      const numbers = Array.from({ length: most }, (_, i) => i).sort(() => random() - 0.5)
      const lists = lengths.map((length, i) => ({
        distances: Array.from(
          { length },
          () => [Number.NaN, Infinity, 0, 1, 2, 2.5][Math.floor(6 * random())]!,
        ),
        ordinals: numbers.slice(i * 90, i * 90 + length),
        base: [0, 0.5, 1e-3][Math.floor(3 * random())]!,
      }))
      const allowed = share === null ? null : new Set(numbers.filter(() => random() < share))
      const kernel = nearestOf(openArena(layOut().bytes), lists, k, allowed)
      expect(bitsOf(kernel)).toEqual(bitsOf(nearestOf(openArena(layOut().bytes, true), lists, k, allowed)))

      const wanted = lists
        .flatMap(({ distances, ordinals, base }) =>
          ordinals.map((ordinal, i) => {
            const distance = Math.fround(distances[i]! + Math.fround(base))
            return { ordinal, distance: Number.isNaN(distance) ? Infinity : distance }
          }),
        )
        .filter(({ ordinal }) => allowed === null || allowed.has(ordinal))
        .sort((a, b) => (a.distance === b.distance ? a.ordinal - b.ordinal : a.distance - b.distance))
        .slice(0, k)
      expect([...kernel.ordinals]).toEqual(wanted.map(({ ordinal }) => ordinal))
      expect([...kernel.distances]).toEqual(wanted.map(({ distance }) => distance))
    }),
    { numRuns: 40 },
  )
})

test('a row as far as the worst, but with a lower ordinal, replaces it', () => {
  for (const plain of [false, true]) {
    const lists = [
      { distances: [1, 2], ordinals: [7, 9], base: 0 },
      { distances: [2, 2, 2, 2, 2], ordinals: [11, 8, 10, 3, 4], base: 0 },
    ]
    expect([...nearestOf(openArena(layOut().bytes, plain), lists, 2, null).ordinals]).toEqual([7, 3])
  }
})

test('arenas have independent states, which end with the answer', () => {
  for (const plain of [false, true]) {
    const [one, other] = [openArena(layOut().bytes, plain), openArena(layOut().bytes, plain)]
    const { heap, distances, ordinals } = layOut()
    openNearest(one, heap, 2, 0)
    openNearest(other, heap, 2, 0)
    new Uint32Array(one.buffer, ordinals, 1)[0] = 5
    offerNearest(one, distances, ordinals, 1, 0)
    expect([...closeNearest(one).ordinals]).toEqual([5])
    expect([...closeNearest(other).ordinals]).toEqual([])
    expect(() => closeNearest(one)).toThrow('no nearest rows are open')
  }
})

const scans = ['floats', 'bytes', 'bits'] as const

describe('a scan', () => {
  test.each(scans)('of %s measures to the same bits with and without the kernel', kind => {
    const shape = fc.record({ seed: fc.nat(), steps: fc.integer({ min: 1, max: 9 }), count: fc.nat(70) })
    fc.assert(
      fc.property(shape, ({ seed, steps, count }) => {
        const stride = steps * (kind === 'floats' ? 64 : 16)
        const hits = [false, true].map(plain => scanned(kind, plain, seed, stride, count))
        expect(bitsOf(hits[0]!)).toEqual(bitsOf(hits[1]!))
        expect(hits[0]!.ordinals.length).toBe(count)
      }),
      { numRuns: 40 },
    )
  })

  test('continues over more rows than are measured at once', () => {
    for (const kind of scans) {
      const hits = [false, true].map(plain => scanned(kind, plain, 3, 64, 2500))
      expect(bitsOf(hits[0]!)).toEqual(bitsOf(hits[1]!))
      expect(new Set(hits[0]!.ordinals).size).toBe(2500)
    }
  })
})

/** All rows of a list, whose last byte is the last of the arena. */
function scanned(
  kind: (typeof scans)[number],
  plain: boolean,
  seed: number,
  stride: number,
  count: number,
): Hits {
  const random = seededRandom(seed)
  const places = new Places()
  const heap = places.take(nearestBytes(count + 1))
  const [query, distances, ordinals] = [stride, scanBlockBytes, count * 4].map(bytes => places.take(bytes))
  const end = Math.ceil((places.end + count * stride) / 65_536) * 65_536
  const arena = openArena(end, plain)
  const list = end - count * stride
  for (const [at, bytes] of [
    [query!, stride],
    [list, count * stride],
  ] as const) {
    if (kind === 'floats') fillFloats(new Float32Array(arena.buffer, at, bytes / 4), random)
    else fillBytes(new Uint8Array(arena.buffer, at, bytes), random)
  }
  new Uint32Array(arena.buffer, ordinals, count).set(Array.from({ length: count }, (_, i) => count - i))
  const scan = { list, count, stride, query: query!, distances: distances!, ordinals: ordinals!, base: 0.25 }
  openNearest(arena, heap, count + 1, 0)
  if (kind === 'floats') scanFloats(arena, scan)
  else if (kind === 'bits') scanBits(arena, scan)
  else scanBytes(arena, scan, Math.fround(0.01))
  return closeNearest(arena)
}
