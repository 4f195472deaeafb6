import { expect, test } from 'vitest'
import type { DataType, Field } from '../../src/arrow/types.js'
import { schemaDifference } from '../../src/client/schema-difference.js'

const int32: DataType = { kind: 'int', bits: 32, signed: true }
const int64: DataType = { kind: 'int', bits: 64, signed: true }
const field = (id: number, name: string, type = int32): Field => ({
  name,
  type,
  nullable: true,
  metadata: { 'sheaf:field': String(id) },
})

test('columns are identified by their ids: a renamed column is the same, a reused name is not', () => {
  const before = { fields: [field(1, 'a'), field(2, 'b'), field(3, 'c'), field(4, 'd')] }
  const after = { fields: [field(2, 'b', int64), field(4, 'a'), field(5, 'c'), field(6, 'e')] }
  expect(schemaDifference(before, after)).toEqual({
    added: ['c', 'e'],
    removed: ['a', 'c'],
    renamed: [{ from: 'd', to: 'a' }],
    retyped: [{ name: 'b', from: 'int32', to: 'int64' }],
  })
  expect(schemaDifference(before, before)).toEqual({ added: [], removed: [], renamed: [], retyped: [] })
})
