/** The guarantees of an ExternalLog beyond those of a CommitLog. `open` returns an empty log. Each test calls it once. */
import { describe, expect, test } from 'vitest'
import type { ExternalLog } from '../../src/commit/external-log.js'
import { encodeGenesis, encodeSlot, statedChecksum } from '../../src/commit/slot.js'
import { crcHex } from '../../src/primitives/checksum.js'

/** Return slot `slot` after a slot with the checksum `prev`. */
export function slotAfter(prev: number, slot: number, text = ''): Uint8Array {
  const header = { need: [], slot, prev: crcHex(prev), by: 'test', ts: slot, entries: [] }
  return encodeSlot(header, [JSON.stringify({ txn: text, req: [], ops: [] })], []).bytes
}

/** Append slots 0 to `last`. Returns their bytes. */
export async function filled(log: ExternalLog, last: number): Promise<Uint8Array[]> {
  const slots = [encodeGenesis({ root: 'r', format: 1 }, 0)]
  for (let slot = 1; slot <= last; slot++) slots.push(slotAfter(statedChecksum(slots[slot - 1]!)!, slot))
  for (const [slot, bytes] of slots.entries()) expect(await log.append(slot, bytes)).toBe('won')
  return slots
}

export function externalLogSuite(name: string, open: () => Promise<ExternalLog>): void {
  describe(`${name} keeps the guarantees of an external log`, () => {
    test('a slot needs the slot before it', async () => {
      const log = await open()
      expect(await log.append(1, slotAfter(7, 1))).toBe('taken')
      await filled(log, 2)
      expect(await log.append(4, slotAfter(7, 4))).toBe('taken')
      expect(await log.last()).toBe(2)
      expect(await log.read(4)).toBeNull()
    })

    test('a slot needs the checksum of the slot before it', async () => {
      const log = await open()
      const slots = await filled(log, 2)
      const crc = statedChecksum(slots[2]!)!
      expect(await log.append(3, slotAfter((crc ^ 1) >>> 0, 3))).toBe('taken')
      expect(await log.read(3)).toBeNull()
      expect(await log.append(3, slotAfter(crc, 3))).toBe('won')
    })

    test('several slots are read together, with the checksum of the slot before them', async () => {
      const log = await open()
      const slots = await filled(log, 5)
      const { found, before } = (await log.readTogether!(3, 5))!
      expect(found.map(bytes => bytes && statedChecksum(bytes))).toEqual([
        ...slots.slice(3).map(bytes => statedChecksum(bytes)),
        null,
        null,
      ])
      expect(before).toBe(statedChecksum(slots[2]!))
      expect((await log.readTogether!(7, 1))!.before).toBeNull()
    })

    test('a slot has its checksum', async () => {
      const log = await open()
      const slots = await filled(log, 1)
      expect(await log.has(1)).toBe(true)
      expect(await log.has(1, statedChecksum(slots[1]!)!)).toBe(true)
      expect(await log.has(1, 1)).toBe(false)
      expect(await log.has(2)).toBe(false)
    })

    test('trimmed slots are gone, and slot 0 and the last one stay', async () => {
      const log = await open()
      await filled(log, 6)
      expect(await log.first()).toBe(1)
      expect(await log.trim(3)).toBe(3)
      expect(await log.first()).toBe(4)
      expect(await log.trim(3)).toBe(0)
      expect(await log.trim(100)).toBe(2)
      expect(await log.last()).toBe(6)
      expect(await log.first()).toBe(6)
      expect(await Promise.all([0, 1, 2, 3, 4, 5, 6].map(slot => log.has(slot)))).toEqual([
        true,
        ...Array(5).fill(false),
        true,
      ])
    })

    test('a late append of a trimmed slot is refused', async () => {
      const log = await open()
      const slots = await filled(log, 6)
      await log.trim(4)
      for (const [slot, bytes] of slots.entries()) {
        expect(await log.append(slot, bytes)).toBe('taken')
        if (slot > 0 && slot < 5) expect(await log.read(slot)).toBeNull()
      }
      expect(await log.append(7, slotAfter(statedChecksum(slots[6]!)!, 7))).toBe('won')
    })

    test('a removed slot cannot be written again', async () => {
      const log = await open()
      const slots = await filled(log, 3)
      await log.remove(3)
      expect(await log.read(3)).toBeNull()
      expect(await log.last()).toBe(2)
      expect(await log.append(3, slots[3]!)).toBe('taken')
      expect(await log.read(3)).toBeNull()
    })

    test('begins with any slot of another log, once', async () => {
      const log = await open()
      const first = slotAfter(7, 5)
      expect(await log.begin(5, first)).toBe('won')
      expect(await log.begin(5, first)).toBe('taken')
      expect(await log.begin(4, slotAfter(7, 4))).toBe('taken')
      expect(await Promise.all([0, 1, 4].map(slot => log.read(slot)))).toEqual([null, null, null])
      expect([await log.first(), await log.last()]).toEqual([5, 5])
      expect(await log.append(1, slotAfter(7, 1))).toBe('taken')
      const next = slotAfter(statedChecksum(first)!, 6)
      expect(await log.append(6, next)).toBe('won')
      expect(await log.append(0, encodeGenesis({ root: 'r', format: 1 }, 0))).toBe('won')
      expect(await log.trim(5)).toBe(1)
      expect(await log.append(5, first)).toBe('taken')
      expect(statedChecksum((await log.read(6))!)).toBe(statedChecksum(next))
    })

    test('begins with slot 1', async () => {
      const log = await open()
      const first = slotAfter(7, 1)
      expect(await log.begin(1, first)).toBe('won')
      expect(await log.begin(1, slotAfter(8, 1))).toBe('taken')
      expect(await log.append(2, slotAfter(statedChecksum(first)!, 2))).toBe('won')
      expect(await log.append(0, encodeGenesis({ root: 'r', format: 1 }, 0))).toBe('won')
      expect(await log.trim(1)).toBe(1)
      expect(await log.begin(1, first)).toBe('taken')
      expect(await log.read(1)).toBeNull()
    })

    test('tells when a slot was written', async () => {
      const log = await open()
      await filled(log, 1)
      const written = (await log.modified(1))!
      expect(Math.abs(written - Date.now())).toBeLessThan(60_000)
      expect(await log.modified(9)).toBeNull()
    })
  })
}
