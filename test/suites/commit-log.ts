/**
 * The guarantees of a CommitLog. `open` returns an empty log. Each test calls it once. `checksPrevious`: whether the log
 * refuses a slot without the slot before it.
 */
import { describe, expect, test } from 'vitest'
import type { CommitLog } from '../../src/commit/commit-log.js'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (slot: Uint8Array | null): string | null => slot && new TextDecoder().decode(slot)

export function commitLogSuite(
  name: string,
  open: () => Promise<CommitLog>,
  { checksPrevious = false } = {},
): void {
  describe(`${name} keeps the guarantees of a commit log`, () => {
    test('an empty log has no slots', async () => {
      const log = await open()
      expect(await log.last()).toBe(-1)
      expect(await log.read(0)).toBeNull()
    })

    test('an appended slot is read back', async () => {
      const log = await open()
      for (let slot = 0; slot < 12; slot++) {
        expect(await log.append(slot, bytes(`slot ${slot}`))).toBe('won')
        expect(await log.last()).toBe(slot)
      }
      for (let slot = 0; slot < 12; slot++) expect(text(await log.read(slot))).toBe(`slot ${slot}`)
      expect(await log.read(12)).toBeNull()
    })

    test('a slot is written once', async () => {
      const log = await open()
      expect(await log.append(0, bytes('first'))).toBe('won')
      expect(await log.append(0, bytes('second'))).toBe('taken')
      expect(text(await log.read(0))).toBe('first')
    })

    test('of 20 writers racing for a slot exactly one wins, and its bytes are there', async () => {
      const log = await open()
      for (let slot = 0; slot < 50; slot++) {
        const writers = Array.from({ length: 20 }, (_, i) => `writer ${i}`)
        const outcomes = await Promise.all(writers.map(writer => log.append(slot, bytes(writer))))
        const winners = writers.filter((_, i) => outcomes[i] === 'won')
        expect(winners).toHaveLength(1)
        expect(text(await log.read(slot))).toBe(winners[0])
      }
    })

    test.skipIf(checksPrevious)('the largest slot is found beyond a gap', async () => {
      const log = await open()
      await log.append(3, bytes('3'))
      await log.append(2_000_000_000_000, bytes('far'))
      expect(await log.last()).toBe(2_000_000_000_000)
      expect(text(await log.read(2_000_000_000_000))).toBe('far')
      expect(await log.last(undefined, 3)).toBe(2_000_000_000_000)
      expect(await log.last(undefined, 2_000_000_000_000)).toBe(2_000_000_000_000)
    })

    test('a peek, if the log has it, tells what a read would find', async () => {
      const log = await open()
      if (log.peek === undefined) return
      expect(log.peek(0)).toBeNull()
      await log.append(0, bytes('first'))
      expect(log.peek(0)).not.toBeNull()
      expect(log.peek(1)).toBeNull()
    })

    test('a read can be aborted', async () => {
      const log = await open()
      const reason = new Error('enough')
      await expect(log.read(0, AbortSignal.abort(reason))).rejects.toBe(reason)
      await expect(log.last(AbortSignal.abort(reason))).rejects.toBe(reason)
    })
  })
}
