import { afterEach, describe, expect, test, vi } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import { SheafError } from '../../src/errors.js'
import { distancesOf, searchSegment } from '../../src/kernels/exact.js'
import { kernelsMax } from '../../src/kernels/kernel.js'
import { openShared, segmentBytes, VectorSegment } from '../../src/kernels/vector-segment.js'
import { Bitset } from '../../src/primitives/bitset.js'

describe('a segment', () => {
  test('shows the same memory as bytes and as elements, zeros at first', () => {
    for (const kernelFrom of [0, Infinity]) {
      const segment = VectorSegment.allocate('f32', 3, 2, kernelFrom)
      expect([...segment.bytes]).toEqual(new Array(24).fill(0))
      segment.bytes.set(new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer))
      expect([...segment.values]).toEqual([1, 2, 3, 4, 5, 6])
      const bytes = VectorSegment.allocate('u8', 3, 2, kernelFrom)
      bytes.values.set([1, 2, 3, 4, 5, 255])
      expect([...bytes.bytes]).toEqual([1, 2, 3, 4, 5, 255])
    }
  })

  test('counts all memory it holds, scratch included', () => {
    const heap = VectorSegment.allocate('f32', 4, 10)
    expect(heap.byteLength).toBe(160)
    const kernel = VectorSegment.allocate('f32', 128, 1000)
    expect(kernel.scratch).not.toBeNull()
    expect(kernel.byteLength).toBe(kernel.bytes.buffer.byteLength)
    expect(kernel.byteLength).toBeGreaterThan(128 * 4 * 1000)
    expect(kernel.byteLength).toBeLessThan(128 * 4 * 1000 + 2 * 65_536)
  })

  test('goes to the kernel when it is large, fits 64 MiB, and its rows are not too wide', () => {
    expect(VectorSegment.allocate('u8', 64, 255).scratch).toBeNull()
    expect(VectorSegment.allocate('u8', 64, 256).scratch).not.toBeNull()
    expect(VectorSegment.allocate('f32', 128, segmentBytes / 512).scratch).not.toBeNull()
    expect(VectorSegment.allocate('f32', 128, segmentBytes / 512 + 1).scratch).toBeNull()
    expect(VectorSegment.allocate('u8', 65_537, 2).scratch).toBeNull()
  })

  test('may have no rows, or rows of no elements', () => {
    for (const kernelFrom of [0, Infinity]) {
      const none = VectorSegment.allocate('f32', 5, 0, kernelFrom)
      expect(searchSegment(none, new Float32Array(5), { metric: 'l2', k: 3 }).ordinals.length).toBe(0)
    }
    const flat = VectorSegment.allocate('f32', 0, 2, 0)
    const hits = searchSegment(flat, new Float32Array(0), { metric: 'l2', k: 3 })
    expect([...hits.ordinals]).toEqual([0, 1])
    expect([...hits.distances]).toEqual([0, 0])
  })

  test('larger than the memory of any machine is refused with code 17', () => {
    try {
      VectorSegment.allocate('f32', 2 ** 20, 2 ** 30)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(SheafError)
      expect((error as SheafError).code).toBe(17)
    }
  })
})

describe('segments of several threads over the same rows', () => {
  test.each([
    ['f32', 48, 1500],
    ['u8', 33, 3000],
    ['f32', 4, 10],
  ] as const)('find what one alone finds, in turn, each with a query of its own: %s', (kind, dim, rows) => {
    const random = seededRandom(5)
    const draw = () => Math.floor(random() * 200)
    const alone = VectorSegment.allocate(kind, dim, rows)
    const memory = openShared(alone, 3, 100)
    const segments = [0, 1, 2].map(workerIndex => VectorSegment.attach(memory, alone, workerIndex))
    const values = Array.from({ length: rows * dim }, draw)
    alone.values.set(values)
    segments[1]!.values.set(values)
    const end = new Uint8Array(segments[0]!.bytes.buffer).subarray(-100)
    expect(end.length === 100 && end.every(byte => byte === 0)).toBe(true)
    const allowed = new Bitset(rows)
    for (let row = 3; row < rows; row += 7) allowed.add(row)
    for (const segment of [...segments, ...segments]) {
      const query = Float32Array.from({ length: dim }, draw)
      for (const metric of ['l2', 'cosine', 'dot'] as const) {
        for (const options of [{ k: 5 }, { k: 40, allowed }, { k: rows }]) {
          const asked = { metric, ...options }
          expect(searchSegment(segment, query, asked)).toEqual(searchSegment(alone, query, asked))
        }
        expect(distancesOf(segment, query, metric)).toEqual(distancesOf(alone, query, metric))
      }
    }
    expect(end.every(byte => byte === 0)).toBe(true)
    expect(segments[2]!.bytes).toEqual(alone.bytes)
  })
})

describe('on a host', () => {
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.resetModules()
  })

  async function searchAfresh(): Promise<{ inKernel: boolean; ordinals: number[] }> {
    vi.resetModules()
    const { VectorSegment: Segment } = await import('../../src/kernels/vector-segment.js')
    const { searchSegment: search } = await import('../../src/kernels/exact.js')
    const segment = Segment.allocate('f32', 2, 4, 0)
    segment.values.set([3, 3, 1, 1, 2, 2, 0, 0])
    const { ordinals } = search(segment, new Float32Array(2), { metric: 'l2', k: 3 })
    return { inKernel: segment.scratch !== null, ordinals: [...ordinals] }
  }

  test('with WebAssembly SIMD the kernel answers', async () => {
    expect(await searchAfresh()).toEqual({ inKernel: true, ordinals: [3, 1, 2] })
  })

  test('without WebAssembly the plain loops answer alike', async () => {
    vi.stubGlobal('WebAssembly', undefined)
    expect(await searchAfresh()).toEqual({ inKernel: false, ordinals: [3, 1, 2] })
  })

  test('without SIMD the plain loops answer alike', async () => {
    class Module {
      constructor() {
        throw Object.assign(new Error('this host has no SIMD'), { name: 'CompileError' })
      }
    }
    vi.stubGlobal('WebAssembly', { ...WebAssemblyOfHost, Module })
    expect(await searchAfresh()).toEqual({ inKernel: false, ordinals: [3, 1, 2] })
  })

  test('without address space the plain loops answer alike', async () => {
    class Memory {
      constructor() {
        throw new RangeError('could not allocate memory')
      }
    }
    vi.stubGlobal('WebAssembly', { ...WebAssemblyOfHost, Memory })
    expect(await searchAfresh()).toEqual({ inKernel: false, ordinals: [3, 1, 2] })
  })
})

const host = (globalThis as unknown as { WebAssembly: Record<string, unknown> }).WebAssembly
const WebAssemblyOfHost = Object.fromEntries(Object.getOwnPropertyNames(host).map(name => [name, host[name]]))

test('beyond the maximum number of memories segments use the ordinary heap, and are still searched', () => {
  const made = Array.from({ length: kernelsMax + 1 }, () => VectorSegment.allocate('f32', 2, 1, 0))
  expect(made[0]!.scratch).not.toBeNull()
  expect(made.at(-1)!.scratch).toBeNull()
  const { ordinals } = searchSegment(made.at(-1)!, Float32Array.of(1, 2), { metric: 'l2', k: 1 })
  expect(ordinals).toEqual(Uint32Array.of(0))
})
