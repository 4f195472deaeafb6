import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatTransactionId, parseTransactionId } from '../../src/commit/transaction-id.js'

const txn = '0b0e7f4e-8c51-4d8a-9a52-1f6f4f3f2a10'

describe('a transaction id', () => {
  test('names its slot in base 36', () => {
    expect(formatTransactionId(4711, txn)).toBe(`3mv-${txn}`)
  })

  test('is read back', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.uuid(), (slot, txn) => {
        expect(parseTransactionId(formatTransactionId(slot, txn))).toEqual({ slot, txn })
      }),
    )
  })

  test('no other text is an id', () => {
    const others = [
      '',
      'a',
      txn,
      `-${txn}`,
      `3MV-${txn}`,
      `03mv-${txn}`,
      `3mv-${txn}0`,
      `3mv-${txn.toUpperCase()}`,
    ]
    for (const text of [...others, ` 3mv-${txn}`, `zzzzzzzzzzz-${txn}`, `-1-${txn}`, `3mv-${txn}\n`]) {
      expect(parseTransactionId(text), text).toBeNull()
    }
  })
})
