import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkSchemaShape } from '../../src/arrow/check-schema.js'

const int = { kind: 'int', bits: 32, signed: true }
const field = (type: unknown, name: unknown = 'a', nullable: unknown = true) => ({ name, type, nullable })

test('a sound schema passes, nested and all', () => {
  const list = { kind: 'list', large: false, child: field({ kind: 'struct', children: [field(int)] }) }
  const words = { kind: 'dictionary', index: int, value: { kind: 'utf8', large: false }, ordered: false }
  checkSchemaShape({ fields: [field(int), field(list, 'b'), field(words, 'c')] } as never)
})

test.each([
  [{}, /fields/],
  [{ fields: [1] }, /fields/],
  [{ fields: [field(int, 7)] }, /name .* got 7/],
  [{ fields: [field(int, 'a', 'yes')] }, /"a" needs nullable: true or false/],
  [{ fields: [{ name: 'a', nullable: true }] }, /"a" has the invalid type undefined/],
  [{ fields: [field({ kind: 'zork' })] }, /"a".*zork/],
  [{ fields: [field({ kind: 'constructor' })] }, /"a"/],
  [
    { fields: [field({ kind: 'int', bits: 7, signed: true })] },
    /"a": the property bits of the type int must not be 7/,
  ],
  [{ fields: [field({ kind: 'fixed_size_list', size: -1, child: field(int) })] }, /size .* must not be -1/],
  [
    { fields: [field({ kind: 'list', large: false, child: field({ kind: 'int' }, 'item') })] },
    /"a.item": the property bits/,
  ],
  [{ fields: [field({ kind: 'dictionary', index: { kind: 'bool' }, value: int, ordered: false })] }, /index/],
])('%j is refused, and says where', (schema, message) => {
  expect(() => checkSchemaShape(schema as never)).toThrow(
    expect.objectContaining({ code: 20, message: expect.stringMatching(message) }),
  )
})

test('any input gives a schema or a SheafError', () => {
  fc.assert(
    fc.property(fc.anything({ maxDepth: 5, withNullPrototype: true }), value => {
      try {
        checkSchemaShape({ fields: [field(value)] } as never)
      } catch (error) {
        expect(error).toMatchObject({ code: 20 })
      }
    }),
  )
})
