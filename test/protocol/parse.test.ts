import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SheafError } from '../../src/errors.js'
import { expectation, parse, parseKnown, parseReply } from '../../src/protocol/parse.js'
import {
  accept,
  array,
  boolean,
  choice,
  container,
  enumeration,
  type Infer,
  integer,
  json,
  named,
  nullable,
  number,
  object,
  optional,
  optionalEvenEmpty,
  record,
  required,
  type Shape,
  saturatingInteger,
  string,
  tuple,
  vector,
} from '../../src/protocol/shape.js'
import { arbitraryOf } from '../support/shape-arbitrary.js'

const point = object({
  x: required(integer(0), 'Across.'),
  y: optional(number, 'Down.', ['why']),
  tags: optional(array(string('nonEmpty'), { min: 1, distinct: tag => tag }), 'Words.'),
})

function message(shape: Shape, value: unknown): string {
  try {
    parse(shape, value, 'plot')
  } catch (error) {
    expect(error).toBeInstanceOf(SheafError)
    expect(error).toMatchObject({ code: 13, status: 400 })
    return (error as SheafError).message
  }
  throw new Error('was accepted')
}

describe('messages have path, expectation and actual value', () => {
  const cases: [string, Shape, unknown, string][] = [
    ['an integer below its minimum', point, { x: -1 }, 'plot: x must be an integer >= 0 and < 2^53, got -1'],
    ['a missing field', point, {}, 'plot needs x: an integer >= 0 and < 2^53'],
    ['null for a required field', point, { x: null }, 'plot: x must be an integer >= 0 and < 2^53, got null'],
    ['another type', point, 'text', 'plot must be an object, got "text"'],
    ['an array for an object', point, [1], 'plot must be an object, got [1]'],
    ['an alias', point, { x: 1, why: 'b' }, 'plot: why must be a finite number, got "b"'],
    [
      'an element',
      point,
      { x: 1, tags: ['a', ''] },
      'plot: tags[1] must be a string that is not empty, got ""',
    ],
    [
      'too few elements',
      object({ tags: required(array(string(), { min: 1 }), 'Words.') }),
      { tags: [] },
      'plot: tags must be an array of at least 1 element, got []',
    ],
    ['duplicates', point, { x: 1, tags: ['a', 'a'] }, 'plot: tags must not contain "a" twice'],
    ['a tuple', tuple(string(), string()), ['a'], 'plot must be an array of exactly 2 elements, got ["a"]'],
    [
      'NaN in a vector',
      object({ v: required(vector, '') }),
      { v: [1, Number.NaN] },
      'plot: v[1] must be a finite number, got NaN',
    ],
    ['a record value', record(boolean), { 'a b': 1 }, 'plot: ["a b"] must be true or false, got 1'],
    [
      'an unknown word',
      enumeration(['cosine', 'dot']),
      'cosin',
      'plot must be one of cosine, dot, got "cosin"',
    ],
    ['a range', integer(1, 9), 10, 'plot must be an integer from 1 to 9, got 10'],
    ['a blank string', string('nonBlank'), ' \n', 'plot must be a string that is not blank, got " \\n"'],
  ]
  test.each(cases)('%s', (_, shape, value, expected) => {
    expect(message(shape, value)).toBe(expected)
  })

  test('a nearly right word gets a hint', () => {
    expect(() => parse(enumeration(['cosine', 'dot']), 'cosin', 'plot')).toThrowError(
      expect.objectContaining({ hint: 'did you mean cosine?' }),
    )
  })

  test('a long value is cut', () => {
    expect(message(point, 'x'.repeat(10_000)).length).toBeLessThan(300)
  })
})

describe('the normal form', () => {
  test('unknown fields are refused, and skipped only on request', () => {
    expect(message(point, { x: 1, z: 2 })).toBe('plot: z is not a known field; known: x, y, why, tags')
    const skipped: string[] = []
    const value = { p: { x: 1, z: 2, 'a b': 3 }, q: null }
    expect(parseKnown(object({ p: required(point, '') }), value, 'plot', skipped)).toStrictEqual({
      p: { x: 1 },
    })
    expect(skipped).toEqual(['p.z', 'p["a b"]'])
  })

  test('an unknown field whose value is null is absent', () => {
    expect(parse(point, { x: 1, z: null, w: undefined }, 'plot')).toStrictEqual({ x: 1 })
  })

  test('null and undefined mean absent where a field is optional', () => {
    expect(parse(point, { x: 1, y: null, tags: undefined }, 'plot')).toStrictEqual({ x: 1 })
  })

  test('empty values mean absent where a field is optional and holds an array or an object', () => {
    expect(parse(point, { x: 1, tags: [] }, 'plot')).toStrictEqual({ x: 1 })
    expect(parse(point, { x: 1, tags: {}, unknown: [] }, 'plot')).toStrictEqual({ x: 1 })
    expect(message(point, { x: 1, y: [] })).toBe('plot: y must be a finite number, got []')
    expect(message(point, { x: [] })).toContain('plot: x must be an integer')
    const either = object({
      a: optional(choice({ b: required(array(number), ''), c: required(point, '') }), ''),
    })
    expect(parse(either, { a: { b: [], c: {} } }, 'plot')).toStrictEqual({})
    expect(message(either, { a: { d: [] } })).toBe('plot: a needs exactly one of b, c, got none')
  })

  test('empty values are values where a field says so, and in replies', () => {
    const words = object({ words: optionalEvenEmpty(array(string()), 'None.') })
    expect(parse(words, { words: [] }, 'plot')).toStrictEqual({ words: [] })
    const reply = object({ words: optional(array(string()), ''), notes: optional(record(string()), '') })
    expect(parseReply(reply, { words: [], notes: {}, more: 1 }, 'plot')).toStrictEqual({
      words: [],
      notes: {},
    })
  })

  test('an alias is normalized to the name, and must not contradict it', () => {
    expect(parse(point, { x: 1, why: 2 }, 'plot')).toStrictEqual({ x: 1, y: 2 })
    expect(parse(point, { x: 1, y: 2, why: 2 }, 'plot')).toStrictEqual({ x: 1, y: 2 })
    expect(message(point, { x: 1, y: 3, why: 2 })).toBe(
      'plot must not have both y and why with different values, because they are names of the same field',
    )
    expect(parse(point, { x: 1, y: null, why: 2 }, 'plot')).toStrictEqual({ x: 1, y: 2 })
  })

  test('words match without case, underscores and surrounding quotes', () => {
    const mode = enumeration(['Create', 'ExistOk'], { Keep: 'ExistOk' })
    for (const word of ['ExistOk', 'exist_ok', 'EXISTOK', '"ExistOk"', '"exist_ok"', 'keep']) {
      expect(parse(mode, word, 'plot')).toBe('ExistOk')
    }
  })

  test('A-036 integers beyond 2^53 - 1 are refused or saturate, never rounded', () => {
    const beyond = JSON.parse('[9007199254740992, 9007199254740993, 9223372036854775807, 1e300]')
    for (const value of beyond) {
      expect(message(integer(0), value)).toContain('must be an integer >= 0 and < 2^53')
      expect(parse(saturatingInteger(0), value, 'plot')).toBe(Number.MAX_SAFE_INTEGER)
    }
    expect(parse(integer(0), 2 ** 53 - 1, 'plot')).toBe(2 ** 53 - 1)
  })

  test('A-036 negative, fractional, textual and big integers are refused', () => {
    for (const value of [-1, 0.5, '1', true, null, 1n, Number.NaN, Number.POSITIVE_INFINITY]) {
      message(integer(0), value)
      message(saturatingInteger(0), value)
    }
  })

  test('null stays null where it is a value', () => {
    const shape = object({ a: required(nullable(string()), ''), b: optional(nullable(number), '') })
    expect(parse(shape, { a: null, b: null }, 'plot')).toStrictEqual({ a: null, b: null })
  })

  test('a choice takes exactly one field and ignores null', () => {
    const shape = choice({ a: required(number, ''), b: required(number, '', ['bee']) })
    expect(parse(shape, { a: 1, b: null }, 'plot')).toStrictEqual({ a: 1 })
    expect(parse(shape, { bee: 1 }, 'plot')).toStrictEqual({ b: 1 })
    expect(message(shape, { a: 1, b: 2 })).toBe('plot needs exactly one of a, b, got a and b')
    expect(message(shape, { a: null })).toBe('plot needs exactly one of a, b, got none')
  })

  test('rules over several fields', () => {
    const fields = { a: optional(number, ''), b: optional(number, '') }
    expect(message(object(fields, { exactlyOne: ['a', 'b'] }), {})).toContain('exactly one of a, b, got none')
    expect(message(object(fields, { atLeastOne: ['a', 'b'] }), {})).toContain('at least one of a, b')
    expect(message(object(fields, { apart: [['a', 'b']] }), { a: 1, b: 2 })).toContain('both a and b')
    expect(message(object(fields, { check: () => 'is wrong' }), {})).toBe('plot is wrong')
  })

  test('another form without a value is absent', () => {
    const empty = accept(array(number), 'nothing', value => (value === '' ? undefined : value))
    expect(parse(object({ a: optional(empty, '') }), { a: '' }, 'plot')).toStrictEqual({})
  })

  test('is accepted and kept unchanged', () => {
    const shapes = [point, record(point), nullable(point), tuple(point, vector), container, json]
    for (const shape of shapes) {
      fc.assert(
        fc.property(arbitraryOf(shape as Shape), value => {
          expect(parse(shape as Shape, value, 'plot')).toStrictEqual(value)
        }),
        { numRuns: 50 },
      )
    }
  })

  test('shares nothing with the input', () => {
    const input = { v: new Float32Array([1, 2]), m: { a: ['b'] } }
    const shape = object({ v: required(vector, ''), m: required(json, '') })
    const output = parse(shape, input, 'plot')
    input.v[0] = 9
    input.m.a[0] = 'c'
    expect(output).toStrictEqual({ v: new Float32Array([1, 2]), m: { a: ['b'] } })
  })
})

describe('hostile input', () => {
  const node: Shape<unknown> = named('Node', () => object({ next: optional(node, '') }))

  test('depth is bounded, so cycles end', () => {
    const cycle: { next?: unknown } = {}
    cycle.next = cycle
    expect(message(node, cycle)).toMatch(/nested deeper than 100 levels at next\.next/)
    const list: unknown[] = []
    list.push(list)
    expect(message(json, list)).toMatch(/nested deeper/)
  })

  test('__proto__ reaches no prototype', () => {
    const value = JSON.parse('{"x": 1, "__proto__": {"y": 5}}')
    expect(message(point, value)).toContain('plot: __proto__ is not a known field')
    const named_ = JSON.parse('{"__proto__": {"polluted": true}}')
    expect(message(json, named_)).toBe('plot: __proto__ is not allowed as a name')
    expect(message(record(json), named_)).toBe('plot: __proto__ is not allowed as a name')
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  test('inherited fields are not read', () => {
    expect(message(point, Object.create({ x: 1 }))).toContain('needs x')
    expect(parse(record(string()), { constructor: 'a', toString: 'b' }, 'plot')).toStrictEqual({
      constructor: 'a',
      toString: 'b',
    })
  })

  test('a record is bounded', () => {
    expect(message(record(string(), 10), { abc: 'defghijk' })).toBe('plot must have at most 10 characters')
    expect(parse(record(string(), 10), { abc: 'defghij' }, 'plot')).toStrictEqual({ abc: 'defghij' })
  })

  test('a value that is not JSON is refused if JSON is required', () => {
    for (const value of [
      1n,
      undefined,
      Symbol('a'),
      () => 1,
      Number.NaN,
      new Date(0),
      new Map(),
      new Uint8Array(1),
    ]) {
      expect(message(array(json), [value])).toContain('[0] must be a JSON value')
    }
    expect(message(container, 'text')).toContain('must be an array or an object')
  })

  test('holes in arrays are refused', () => {
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
    expect(message(vector, [1, , 2])).toContain('[1] must be a finite number, got undefined')
  })
})

test('every shape describes itself', () => {
  const shape = accept(nullable(array(named('P', () => point))), 'nothing at all', value => value)
  expect(expectation(shape)).toBe('an array or null (or nothing at all)')
})

test('types follow from shapes', () => {
  const value: Infer<typeof point> = parse(point, { x: 1 }, 'plot')
  const x: number = value.x
  // @ts-expect-error an optional field may be undefined
  const y: number = value.y
  const either: Infer<typeof alternatives> = { a: 1 }
  // @ts-expect-error exactly one
  const both: Infer<typeof alternatives> = { a: 1, b: 'c' }
  expect([x, y, either.b, both.a]).toStrictEqual([1, undefined, undefined, 1])
})

const alternatives = choice({ a: required(number, ''), b: required(string(), '') })
