/** Slots in packs: what went in comes out, in whatever company, and no byte may change unnoticed. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Packs, packKey } from '../../src/commit/packs.js'
import { crc32 } from '../../src/primitives/checksum.js'
import { Pacer } from '../../src/primitives/pacer.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { longestGap } from './longest-gap.js'

const slot = fc.record({
  crc: fc.nat(0xffff_ffff),
  bytes: fc.option(fc.uint8Array({ maxLength: 300 }), { nil: null }),
})

test('every slot is found, or known to be discarded', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(slot, { minLength: 1 }), { maxLength: 4 }), async packed => {
      const store = new MemoryStore()
      const writer = new Packs(store)
      const infos = []
      let from = 1
      for (const slots of packed) {
        infos.push(await writer.write(from, slots, 100))
        from += slots.length
      }
      const packs = new Packs(store, infos)
      expect(packs.covered).toBe(from - 1)
      for (const [i, { crc, bytes }] of packed.flat().entries()) {
        expect(await packs.crcOf(i + 1)).toBe(crc)
        expect(await packs.read(i + 1)).toEqual(bytes)
      }
      expect(await packs.crcOf(from)).toBeNull()
      expect(await packs.read(from)).toBeNull()
    }),
    { numRuns: 50 },
  )
})

test('a pack in which a byte of index or chain changed is refused', async () => {
  const store = new MemoryStore()
  const bytes = new Uint8Array([1, 2, 3])
  const info = await new Packs(store).write(
    5,
    [
      { crc: crc32(bytes), bytes },
      { crc: 7, bytes: null },
    ],
    9,
  )
  const file = (await store.get(packKey(info)))!
  for (let at = bytes.length; at < file.length; at++) {
    const damaged = new MemoryStore()
    const changed = file.slice()
    changed[at]! ^= 1
    await damaged.put(packKey(info), changed)
    await expect(new Packs(damaged, [info]).crcOf(6)).rejects.toMatchObject({
      code: 18,
      message: expect.stringMatching(/is damaged/),
    })
  }
})

test('a full pack is written, read and looked through without holding the event loop for long', async () => {
  const store = new MemoryStore()
  const packs = new Packs(store)
  const count = 128 * 1024
  const slots = Array.from({ length: count }, (_, i) => ({ crc: i, bytes: new Uint8Array(16) }))
  const gap = longestGap()
  const info = await packs.write(1, slots, count)
  const written = gap()
  const again = longestGap()
  expect(await packs.crcOf(1)).toBeNull()
  const isOdd = (slot: number) => slot % 2 === 1
  const inVain = await new Packs(store).bytesInVain(info, isOdd, new Pacer())
  const read = again()
  expect(inVain).toBe((16 * count) / 2)
  expect(Math.max(written, read)).toBeLessThan(120)
})
