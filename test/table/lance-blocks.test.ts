import { expect, test } from 'vitest'
import { seededRandom } from '../../bench/random.js'
import type { Slots } from '../../src/commit/slots.js'
import { Memory } from '../../src/primitives/memory.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { FarFile } from '../../src/table/lance-blocks.js'
import { createTableSource } from '../../src/table/table-source.js'

/** A store whose reads fail while `isBroken`. */
class BreakingStore extends MemoryStore {
  isBroken = false
  reads = 0

  override async getRange(key: string, offset: number, length: number): Promise<Uint8Array> {
    this.reads++
    if (this.isBroken) throw new Error('no answer')
    return super.getRange(key, offset, length)
  }

  override async readInto(key: string, offset: number, target: Uint8Array): Promise<void> {
    target.set(await this.getRange(key, offset, target.length))
  }
}

const size = 11_000_001
const random = seededRandom(5)
const file = Uint8Array.from({ length: size }, (_, i) => i * 31 + (i >> 8) * 7)

async function fileWith(cacheBytes: number): Promise<{ store: BreakingStore; far: FarFile }> {
  const store = new BreakingStore()
  await store.put('f', file)
  const source = createTableSource(store, {} as Slots, new Memory(cacheBytes))
  return { store, far: new FarFile(source, 'f', size) }
}

test.each([0, 1_000_000, 1e9])(
  'ranges have the bytes of the file, with a cache of %i bytes',
  async cacheBytes => {
    const { far } = await fileWith(cacheBytes)
    for (let round = 0; round < 20; round++) {
      const ranges = Array.from({ length: 6 }, () => {
        const start = Math.floor(random() * size)
        const most = random() < 0.2 ? size : 600_000
        return [start, Math.min(size, start + Math.floor(random() * most))] as const
      })
      const found = await Promise.all(ranges.map(([start, end]) => far.read(start, end)))
      for (const [i, [start, end]] of ranges.entries())
        expect(Buffer.compare(found[i]!, file.subarray(start, end)), `${start} to ${end}`).toBe(0)
    }
  },
)

test('small ranges, one after the other, are read in few requests', async () => {
  const { store, far } = await fileWith(1e9)
  for (let at = 0; at < 10_000_000; at += 50_000) await far.read(at, at + 50_000)
  expect(store.reads).toBeLessThanOrEqual(8)
  await far.read(0, 1_000_000)
  expect(store.reads).toBeLessThanOrEqual(8)
})

test('a failed request fails its readers, and the next reader requests the bytes again', async () => {
  const { store, far } = await fileWith(1e9)
  store.isBroken = true
  const failed = await Promise.allSettled([
    far.read(10, 20),
    far.read(300_000, 900_000),
    far.read(0, 5_000_000),
  ])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  store.isBroken = false
  expect(await far.read(10, 20)).toEqual(file.subarray(10, 20))
})
