/** Byte strings with a number each. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { absent, rolledOf, TokenTable } from '../../../../src/indexes/text/analysis/token-table.js'

const encoder = new TextEncoder()

function numbered(keys: readonly string[]): (key: string) => number {
  const table = new TokenTable()
  const read = (key: string) => {
    const bytes = encoder.encode(`<${key}>`)
    return table.find(bytes, 1, bytes.length - 1, rolledOf(bytes, 1, bytes.length - 1))
  }
  keys.forEach((key, number) => {
    if (read(key) !== absent) return
    const bytes = encoder.encode(key)
    table.add(bytes, 0, bytes.length, rolledOf(bytes, 0, bytes.length), number)
  })
  return read
}

test('added tokens are found, and no others', () => {
  const key = fc.string({ maxLength: 3 })
  fc.assert(
    fc.property(fc.array(key, { maxLength: 2000 }), fc.array(key), (keys, others) => {
      const read = numbered(keys)
      const first = new Map<string, number>()
      keys.forEach((each, i) => {
        if (!first.has(each)) first.set(each, i)
      })
      for (const each of [...keys, ...others]) expect(read(each)).toBe(first.get(each) ?? absent)
    }),
    { numRuns: 30 },
  )
})

test('keys chosen for equal hashes are found as well, quickly', () => {
  const table = new TokenTable()
  const before = process.cpuUsage()
  const keys = Array.from({ length: 40_000 }, (_, i) => encoder.encode(`k${i}`))
  const rolledAt = (i: number) => (i % 100 === 0 ? rolledOf(keys[i]!, 0, keys[i]!.length) : 7)
  keys.forEach((key, i) => {
    if (table.find(key, 0, key.length, rolledAt(i)) !== absent) expect.fail(`k${i} is known`)
    table.add(key, 0, key.length, rolledAt(i), i)
  })
  for (let i = 0; i < keys.length; i++) {
    if (table.find(keys[i]!, 0, keys[i]!.length, rolledAt(i)) !== i) expect.fail(`k${i} is not found`)
  }
  // A tenth of a second. Each compared with all before it, these would take ten.
  expect(process.cpuUsage(before).user / 1e6).toBeLessThan(3)
})
