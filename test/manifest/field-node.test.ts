/** Fields of a schema by their paths. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findField } from '../../src/manifest/field-node.js'
import type { TableField } from '../../src/manifest/table-schema.js'

const int = { kind: 'int', bits: 32, signed: true } as const
let id = 0
const leaf = (name: string): TableField => ({ id: id++, name, type: int, nullable: true })
const nested = (name: string, child: string): TableField => ({
  ...leaf(name),
  type: { kind: 'struct', children: [{ name: child, type: int, nullable: true }] },
  nested: [id++],
})

const schema = { id: 0, fields: [leaf('row-id'), nested('a', 'x.y'), leaf('a.b'), leaf('`q`'), leaf('t`k')] }
const namesOf = (path: string) => findField(schema, path).map(({ name }) => name)

test.each([
  ['row-id', ['row-id']],
  ['`row-id`', ['row-id']],
  ['a.`x.y`', ['a', 'x.y']],
  ['`a`.`x.y`', ['a', 'x.y']],
  ['a.x.y', ['a', 'x.y']],
  ['a.b', ['a.b']],
  ['`a.b`', ['a.b']],
  // What a column is really called comes first.
  ['`q`', ['`q`']],
  ['```q```', ['`q`']],
  ['`t``k`', ['t`k']],
])('%s names a field', (path, names) => {
  expect(namesOf(path)).toEqual(names)
})

test.each(['`row-id', 'row-id`', '``', '`a`x', '`a`.', '.`a`', '`a`..`x.y`', '`a`.b', '`row-id`.x', '`A`'])(
  '%s is not a name',
  path => expect(() => namesOf(path)).toThrow(expect.objectContaining({ code: 12 })),
)

test('any name in backticks, its own doubled, is found', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (outer, inner) => {
      const only = { id: 0, fields: [nested(outer, inner)] }
      const quoted = [outer, inner].map(name => `\`${name.replaceAll('`', '``')}\``).join('.')
      expect(findField(only, quoted).map(({ name }) => name)).toEqual([outer, inner])
    }),
  )
})
