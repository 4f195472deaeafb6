import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KnownTail } from '../../src/commit/known-tail.js'
import { encodeSlot, mayHaveTail, soundChecksum } from '../../src/commit/slot.js'
import {
  decodeMark,
  decodeTailEnd,
  decodeTailHead,
  emptyTail,
  encodeMark,
  encodeRecord,
  encodeTailEnd,
  endKey,
  tailHeadBytes,
  tailKey,
  validRecord,
} from '../../src/commit/tail.js'
import { crcHex } from '../../src/primitives/checksum.js'
import { InPlaceStore } from '../support/in-place-store.js'

/** Slots after the slot `base`, whose checksum is 7. */
function slotsAfter(
  base: number,
  sizes: readonly number[],
): { readonly bytes: Uint8Array; readonly crc: number }[] {
  let prev = 7
  return sizes.map((size, i) => {
    const entry = { txn: 'a', req: [], ops: [] }
    const header = { need: [], slot: base + 1 + i, prev: crcHex(prev), by: 'w', ts: 1, entries: [entry] }
    const { bytes, slot } = encodeSlot(header, [JSON.stringify(entry)], [new Uint8Array(size).fill(i)])
    prev = slot.crc
    return { bytes, crc: slot.crc }
  })
}

function tailOf(
  slots: readonly { readonly bytes: Uint8Array; readonly crc: number }[],
  mark: number,
): Uint8Array {
  const records: Uint8Array[] = []
  let prev = 7
  for (const { bytes, crc } of slots) {
    records.push(encodeRecord(bytes, prev))
    prev = crc
  }
  const all = Buffer.concat(records)
  const tail = emptyTail({ crc: 7, boot: 'boot' }, tailHeadBytes + all.length + 64)
  tail.set(all, tailHeadBytes)
  tail.set(encodeMark(mark), 0)
  return tail
}

async function opened(tail: Uint8Array) {
  const store = new InPlaceStore()
  await store.put(tailKey(3), tail)
  return { store, tail: (await KnownTail.open(store, 3))! }
}

const sizes = fc.array(fc.nat(200), { minLength: 1, maxLength: 8 })

describe('a tail', () => {
  test('has its head and mark', () => {
    const bytes = emptyTail({ crc: 5, boot: '0b8cbbd2-4a0c-4c4e-b1b8-3ad1ecb0cf8f' }, 256)
    expect(decodeTailHead(bytes, 3)).toEqual({ crc: 5, boot: '0b8cbbd2-4a0c-4c4e-b1b8-3ad1ecb0cf8f' })
    expect(decodeMark(bytes)).toBe(0)
    expect(decodeMark(encodeMark(4_000_000_000))).toBe(4_000_000_000)
    const torn = encodeMark(1)
    torn[0] = 2
    expect(decodeMark(torn)).toBeNull()
  })

  test('is refused with a damaged head', async () => {
    const bytes = emptyTail({ crc: 5, boot: 'boot' }, 256)
    bytes[30]! ^= 1
    await expect(opened(bytes)).rejects.toMatchObject({ code: 18, message: expect.stringContaining('.tail') })
    await expect(opened(bytes.subarray(0, 20))).rejects.toMatchObject({ code: 18 })
  })

  test('yields the slots up to its mark, and after them the valid ones', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), async (sizes, marked) => {
        const slots = slotsAfter(3, sizes)
        const mark = marked % (slots.length + 1)
        const { tail } = await opened(tailOf(slots, mark))
        expect(await tail.learnMarked()).toBe(true)
        expect([tail.count, tail.last]).toEqual([mark, 3 + mark])
        for (let i = 0; i < mark; i++) expect(await tail.read(4 + i)).toEqual(slots[i]!.bytes)
        expect(tail.crc).toBe(slots[mark - 1]?.crc ?? 7)
        expect(await tail.beyond()).toEqual(slots.slice(mark).map(({ bytes }) => bytes))
        tail.close()
      }),
    )
  })

  test('with one changed byte yields no other slots than those before it', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), fc.integer({ min: 1, max: 255 }), async (sizes, at, change) => {
        const slots = slotsAfter(3, sizes)
        const bytes = tailOf(slots, 0)
        bytes[tailHeadBytes + (at % (bytes.length - tailHeadBytes))]! ^= change
        const { tail } = await opened(bytes)
        const found = await tail.beyond()
        expect(found).toEqual(slots.slice(0, found.length).map(({ bytes }) => bytes))
      }),
    )
  })

  test('of which a marked record was lost is reported', async () => {
    const slots = slotsAfter(3, [10, 20, 30])
    const bytes = tailOf(slots, 3)
    const second = validRecord(bytes, tailHeadBytes, 7)!.next
    bytes.fill(0, second, second + 8)
    const { tail } = await opened(bytes)
    await expect(tail.learnMarked()).rejects.toMatchObject({
      code: 18,
      message: expect.stringContaining('record 1'),
    })
  })

  test('that was deleted is told apart from a damaged one', async () => {
    const { store, tail } = await opened(tailOf(slotsAfter(3, [10, 20]), 2))
    tail.close()
    await store.delete(tailKey(3))
    expect(await tail.learnMarked()).toBe(false)
  })

  test('ends as its end says, with slots that the tail itself has lost', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), fc.nat(), async (sizes, ends, copied) => {
        const slots = slotsAfter(3, sizes)
        const records = ends % (slots.length + 1)
        const kept = records === 0 ? 0 : copied % (records + 1)
        const end = {
          records,
          crc: slots[records - 1]?.crc ?? 7,
          copies: slots.slice(kept, records).map(({ bytes }) => bytes),
        }
        const encoded = encodeTailEnd(end, slots[kept - 1]?.crc ?? 7)
        expect(decodeTailEnd(encoded, 3)).toEqual(end)
        const { tail } = await opened(tailOf(slots.slice(0, kept), kept))
        expect(await tail.finish(decodeTailEnd(encoded, 3))).toBe(true)
        expect([tail.count, tail.hasEnded]).toEqual([records, true])
        for (let i = 0; i < records; i++) {
          expect(await tail.read(4 + i)).toEqual(slots[i]!.bytes)
          expect(tail.crcOf(4 + i)).toBe(slots[i]!.crc)
        }
      }),
    )
  })

  test('that does not agree with its end is reported', async () => {
    const slots = slotsAfter(3, [10, 20])
    const { tail } = await opened(tailOf(slots, 2))
    await expect(tail.finish({ records: 2, crc: 1, copies: [] })).rejects.toMatchObject({ code: 18 })
  })

  test('has an end of which every changed byte is noticed', () => {
    const slots = slotsAfter(3, [10, 20])
    const end = encodeTailEnd({ records: 2, crc: slots[1]!.crc, copies: slots.map(({ bytes }) => bytes) }, 7)
    for (let i = 0; i < end.length - 4; i++) {
      const damaged = new Uint8Array(end)
      damaged[i]! ^= 1
      expect(() => decodeTailEnd(damaged, 3)).toThrow(endKey(3))
    }
    for (const length of [0, 10, end.length - 1])
      expect(() => decodeTailEnd(end.subarray(0, length), 3)).toThrow(endKey(3))
  })
})

test('a slot says whether it may have a tail', () => {
  const entry = { txn: 'a', req: [], ops: [] }
  const header = { need: [], slot: 4, prev: '00000000', by: 'w', ts: 1, entries: [entry] }
  const [plain, declared] = [false, true].map(
    may => encodeSlot(header, [JSON.stringify(entry)], [], may).bytes,
  )
  expect([mayHaveTail(plain!), mayHaveTail(declared!)]).toEqual([false, true])
  expect(soundChecksum(declared!)).not.toBeNull()
  declared![3]! ^= 1
  expect(soundChecksum(declared!)).toBeNull()
})
