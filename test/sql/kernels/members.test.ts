import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DataType } from '../../../src/arrow/types.js'
import { memberRows, membersOf } from '../../../src/sql/kernels/members.js'
import { hashPair } from '../../../src/sql/kernels/number-members.js'
import type { Scalar } from '../../../src/sql/values/scalar.js'
import { float64, int32, int64, uint64, utf8 } from '../../../src/sql/values/types.js'
import { columnOfScalars } from '../../../src/sql/values/vector.js'

/** Values that lie close together, far apart, and at the ends of the type. */
function integers(least: bigint, greatest: bigint): fc.Arbitrary<Scalar> {
  const inside = (value: bigint) => value >= least && value <= greatest
  return fc.oneof(
    fc.bigInt({ min: 0n, max: 40n }),
    fc.bigInt({ min: -5n, max: 100_000n }).filter(inside),
    fc.bigInt({ min: least, max: greatest }),
    fc.constantFrom(least, least + 1n, greatest, greatest - 1n, 2n ** 32n, 2n ** 32n - 1n).filter(inside),
  )
}

const texts = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'aa',
    'a\0',
    'abcd',
    'abcde',
    'abxde',
    'user-000001-a',
    'user-000002-a',
    'user-000001-b',
  ),
  fc.string({ maxLength: 12 }),
  fc.nat({ max: 40 }).map(String),
)

const kinds: readonly (readonly [string, DataType, fc.Arbitrary<Scalar>])[] = [
  ['int8', { kind: 'int', bits: 8, signed: true }, integers(-128n, 127n)],
  ['uint32', { kind: 'int', bits: 32, signed: false }, integers(0n, 2n ** 32n - 1n)],
  ['int32', int32, integers(-(2n ** 31n), 2n ** 31n - 1n)],
  ['int64', int64, integers(-(2n ** 63n), 2n ** 63n - 1n)],
  ['uint64', uint64, integers(0n, 2n ** 64n - 1n)],
  ['timestamp', { kind: 'timestamp', unit: 'us', timezone: null }, integers(-(2n ** 63n), 2n ** 63n - 1n)],
  ['float64', float64, fc.oneof(fc.constantFrom(0, -0, Number.NaN, 0.5, -0.5), fc.double())],
  ['bool', { kind: 'bool' }, fc.boolean()],
  ['utf8', utf8, texts],
  ['binary', { kind: 'binary', large: false }, texts.map(text => new TextEncoder().encode(text as string))],
  ['decimal', { kind: 'decimal', precision: 38, scale: 2, bits: 128 }, integers(-(10n ** 38n), 10n ** 38n)],
]

/** What makes two constants equal; 0 and -0 are, and NaN and NaN. */
function keyOf(value: Scalar): unknown {
  return value instanceof Uint8Array ? value.join() : value
}

describe.each(kinds)('members of %s', (_, type, value) => {
  test('are found in exactly the rows that have them', () => {
    const rows = fc.array(value, { maxLength: 150 })
    fc.assert(
      fc.property(
        rows,
        fc.array(value, { maxLength: 40 }),
        fc.nat(200),
        fc.boolean(),
        (held, more, taken, isMasked) => {
          // Members that are there, and others.
          const members = [...held.slice(0, taken), ...more].slice(taken % 40)
          const wanted = new Set(members.map(keyOf))
          const column = columnOfScalars(type, held)
          const mask = isMasked ? new Uint32Array((held.length + 31) >>> 5).fill(0x11111111) : null
          const words = memberRows(membersOf(type, members), column, held.length, mask)
          for (const [row, each] of held.entries()) {
            if (isMasked && row % 4 !== 0) continue
            const isFound = ((words[row >>> 5]! >>> (row & 31)) & 1) === 1
            expect(isFound, `row ${row}`).toBe(wanted.has(keyOf(each)))
          }
        },
      ),
      { numRuns: 300 },
    )
  })
})

test('values with equal hashes get a table with another seed', () => {
  const colliding: bigint[] = []
  for (let value = 0; colliding.length < 300; value++) {
    if ((hashPair(value, 0, 1) & 1023) === 5) colliding.push(BigInt(value))
  }
  const members = membersOf(int64, colliding)
  expect(members).toMatchObject({ kind: 'numbers', numbers: { kind: 'table' } })
  expect(
    members.kind === 'numbers' && members.numbers.kind === 'table' && members.numbers.seed,
  ).toBeGreaterThan(1)
  const column = columnOfScalars(int64, [...colliding, -1n, 2n ** 62n])
  const [first, ...rest] = memberRows(members, column, 302, null)
  expect(first).toBe(0xffffffff)
  expect(rest.at(-1)).toBe((1 << 12) - 1)
})

test('integers close together use a bitmap, distant ones a table', () => {
  const kind = (...values: bigint[]) => {
    const members = membersOf(int64, values)
    return members.kind === 'numbers' && members.numbers.kind
  }
  expect(kind(2n ** 63n - 1n, 2n ** 63n - 1000n)).toBe('range')
  expect(kind(0n, 2n ** 40n)).toBe('table')
  expect(kind(-(2n ** 63n), 2n ** 63n - 1n)).toBe('table')
})
