/** Values of a shape in normal form, generated from its description. */
import fc from 'fast-check'
import { isRounded } from '../../src/protocol/json.js'
import { parse } from '../../src/protocol/parse.js'
import type { ArrayShape, Field, Fields, ObjectShape, Shape, StringShape } from '../../src/protocol/shape.js'

/** Without `.` and `..`, which no path of a URL can carry. */
const text = fc.string({ unit: 'grapheme', maxLength: 8 }).filter(sample => !/^\.\.?$/.test(sample))
const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map(x => (x === 0 ? 0 : x))

export function arbitraryOf(shape: Shape, depth = 3): fc.Arbitrary<unknown> {
  switch (shape.kind) {
    case 'string':
      return stringArbitrary(shape)
    case 'boolean':
      return fc.boolean()
    case 'number':
      return finite
    case 'integer':
      return fc.oneof(
        fc.integer({ min: Math.max(shape.min, 0), max: Math.min(shape.max, 1000) }),
        fc.constantFrom(shape.min, shape.max),
      )
    case 'enumeration':
      return fc.constantFrom(...shape.values)
    case 'vector':
      return fc.array(finite, { minLength: 1, maxLength: 4 })
    case 'array':
      return arrayArbitrary(shape, depth)
    case 'tuple':
      return fc.tuple(...shape.items.map(item => arbitraryOf(item, depth)))
    case 'record':
      return dictionary(arbitraryOf(shape.value, depth))
    case 'object':
      return objectArbitrary(shape, depth)
    case 'choice':
      return choiceArbitrary(shape.fields, depth)
    case 'nullable':
      return fc.oneof(fc.constant(null), arbitraryOf(shape.shape, depth))
    case 'accept':
      return arbitraryOf(shape.shape, depth)
        .filter(value => isValid(shape, value))
        .map(value => parse(shape as Shape, value, 'sample'))
    case 'named':
      return arbitraryOf(shape.shape(), depth - 1)
    case 'json': {
      const number = finite.filter(value => !isRounded(value))
      const value = fc.oneof(text, number, fc.boolean(), fc.constant(null))
      return shape.demand === 'any' ? value : fc.oneof(fc.array(value, { maxLength: 3 }), dictionary(value))
    }
    case 'options':
    case 'either':
    case 'given':
      throw new Error(`${shape.kind}: options of the library are not made up`)
  }
}

/** Deep down no more items than there must be: that ends the recursion. */
function arrayArbitrary(shape: ArrayShape, depth: number): fc.Arbitrary<unknown> {
  if (depth <= 0 && shape.min === 0) return fc.constant([])
  const items = fc.array(arbitraryOf(shape.item, depth), { minLength: shape.min, maxLength: shape.min + 2 })
  const key = shape.distinct as ((item: unknown) => string) | undefined
  return key === undefined ? items : items.filter(list => new Set(list.map(key)).size === list.length)
}

/** A string with a check of its own is one of a few samples, of which at least one passes. */
function stringArbitrary(shape: StringShape): fc.Arbitrary<string> {
  const samples = ['main', '30s', 'v1', 'a name', 'x$y', 'é.☃'].filter(sample => isValid(shape, sample))
  const one = fc.constantFrom(...samples)
  return shape.check === undefined
    ? fc.oneof(
        one,
        text.filter(sample => isValid(shape, sample)),
      )
    : one
}

function dictionary(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .array(
      fc.tuple(
        text.filter(key => key !== '__proto__'),
        value,
      ),
      { maxLength: 3 },
    )
    .map(entries => Object.fromEntries(entries))
}

function objectArbitrary(shape: ObjectShape, depth: number): fc.Arbitrary<unknown> {
  const alternatives = shape.rules.exactlyOne ?? []
  const free = Object.entries(shape.fields).filter(([name]) => !alternatives.includes(name))
  const own = fc.record(modelOf(free, depth), {
    requiredKeys: free.filter(([, field]) => field.required).map(([name]) => name),
  })
  const one =
    alternatives.length === 0
      ? fc.constant({})
      : fc.oneof(
          ...alternatives.map(name => fc.record({ [name]: arbitraryOf(shape.fields[name]!.shape, depth) })),
        )
  return fc
    .tuple(own, one)
    .map(([a, b]) => withoutAbsent(shape.fields, { ...a, ...b }))
    .filter(value => isValid(shape, value))
}

/** Without the empty values that mean absent in a request. */
function withoutAbsent(fields: Fields, value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).filter(([name, item]) => {
      const { required, empty } = fields[name]!
      return (
        required || empty === 'value' || typeof item !== 'object' || Object.keys(item ?? 'null').length > 0
      )
    }),
  )
}

function modelOf(fields: (readonly [string, Field])[], depth: number): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(fields.map(([name, field]) => [name, arbitraryOf(field.shape, depth)]))
}

/** Deep down only the first alternative, which is the one that does not recurse. */
function choiceArbitrary(fields: Fields, depth: number): fc.Arbitrary<unknown> {
  const entries = depth <= 0 ? Object.entries(fields).slice(0, 1) : Object.entries(fields)
  return fc.oneof(
    ...entries.map(([name, field]) => fc.record({ [name]: arbitraryOf(field.shape, depth - 1) })),
  )
}

function isValid(shape: Shape, value: unknown): boolean {
  try {
    return parse(shape, value, 'sample') !== undefined
  } catch {
    return false
  }
}
