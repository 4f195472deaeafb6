import { expect, test } from 'vitest'
import { hashPair, memberRows, membersOf } from '../../src/sql/members.js'
import { int64 } from '../../src/sql/types.js'
import { columnOfScalars } from '../../src/sql/vector.js'

test('values chosen to share one slot get a table of another seed', () => {
  const colliding: bigint[] = []
  for (let value = 0; colliding.length < 300; value++) {
    if ((hashPair(value, 0, 1) & 1023) === 5) colliding.push(BigInt(value))
  }
  const members = membersOf(int64, colliding)
  expect(members.kind === 'pairs' && members.table.seed).toBeGreaterThan(1)
  const column = columnOfScalars(int64, [...colliding, -1n, 2n ** 62n])
  const [first, ...rest] = memberRows(members, column, 302, null)
  expect(first).toBe(0xffffffff)
  expect(rest.at(-1)).toBe((1 << 12) - 1)
})
