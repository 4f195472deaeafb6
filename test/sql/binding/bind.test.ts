import { describe, expect, test } from 'vitest'
import type { DataType, Schema } from '../../../src/arrow/types.js'
import { columnValues } from '../../../src/arrow/values.js'
import { SheafError } from '../../../src/errors.js'
import { type BindOptions, bindExpression, bindFilter } from '../../../src/sql/binding/bind.js'
import { ParameterList } from '../../../src/sql/binding/parameters.js'
import { evaluate } from '../../../src/sql/evaluate.js'
import { printExpression } from '../../../src/sql/print.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import { SeededClock } from '../../support/clock.js'
import { misfits, normalForms } from './bind-cases.js'

const utf8: DataType = { kind: 'utf8', large: false }
const int64: DataType = { kind: 'int', bits: 64, signed: true }

function schemaOf(types: Readonly<Record<string, DataType>>): Schema {
  return { fields: Object.entries(types).map(([name, type]) => ({ name, type, nullable: true })) }
}

const schema = schemaOf({
  i8: { kind: 'int', bits: 8, signed: true },
  i64: int64,
  u64: { kind: 'int', bits: 64, signed: false },
  f16: { kind: 'float', bits: 16 },
  f32: { kind: 'float', bits: 32 },
  f64: { kind: 'float', bits: 64 },
  s: utf8,
  flag: { kind: 'bool' },
  day: { kind: 'date', unit: 'day' },
  ms: { kind: 'timestamp', unit: 'ms', timezone: 'Europe/Paris' },
  us: { kind: 'timestamp', unit: 'us', timezone: null },
  bin: { kind: 'binary', large: false },
  dec: { kind: 'decimal', bits: 128, precision: 10, scale: 2 },
  nothing: { kind: 'null' },
  labels: { kind: 'list', large: false, child: { name: 'item', type: utf8, nullable: true } },
  st: {
    kind: 'struct',
    children: [
      { name: 'n', type: int64, nullable: true },
      { name: 'a.b', type: int64, nullable: true },
    ],
  },
  'odd name': int64,
  'tick`ed': int64,
})

const bind = (text: string, options?: BindOptions, over = schema) =>
  bindExpression(parseExpression(text), over, options)
const printed = (text: string, options?: BindOptions) => printExpression(bindFilter(text, schema, options))

function failure(run: () => unknown): SheafError {
  try {
    run()
  } catch (error) {
    if (error instanceof SheafError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('the normal form of a condition', () => {
  test.each(normalForms)('%s', (text, expected) => {
    const bound = bindFilter(text, schema)
    expect(printExpression(bound)).toBe(expected)
    expect(bindFilter(expected, schema).expr).toEqual(bound.expr)
  })
})

describe('A-111 types that do not fit are refused with their position', () => {
  test.each(misfits)('%s', (text, marks, code, message) => {
    const error = failure(() => bindFilter(text, schema))
    expect(error.message).toContain(message)
    expect(error.code).toBe(code)
    expect(error.at).toEqual({ offset: marks.indexOf('^'), length: marks.trimStart().length })
  })

  test('a hint says what to write instead', () => {
    expect(failure(() => bind("i64 = '1'")).hint).toMatch(/^write a number without quotes/)
    expect(failure(() => bind('s = 1')).hint).toBe('put a text in single quotes')
    expect(failure(() => bindFilter('i64', schema)).hint).toBe('compare it with a value: i64 = ...')
    expect(failure(() => bind('lowr(s)')).hint).toBe('did you mean lower?')
  })
})

describe('names', () => {
  const people = schemaOf({
    Name: utf8,
    name: utf8,
    camelCase: int64,
    'a.b': int64,
    user: { kind: 'struct', children: [{ name: 'Age', type: int64, nullable: true }] },
  })
  const path = (text: string, options?: BindOptions) => {
    const { expr } = bind(text, options, people)
    return expr.kind === 'column' ? expr.path : expr
  }

  test('A-057 an unknown column is code 12, with position, known names and the nearest one', () => {
    const error = failure(() => bindFilter('camelCase = 1 AND camlCase = 2', people))
    expect(error).toMatchObject({
      code: 12,
      at: { offset: 18, length: 8 },
      hint: 'did you mean "camelCase"?',
    })
    expect(error.message).toContain('columns: Name, name, camelCase, a.b, user')
  })

  test('A-057 an unknown field is code 12, with the existing fields', () => {
    const error = failure(() => bind('user.agee', {}, people))
    expect(error).toMatchObject({ code: 12, at: { offset: 5, length: 4 }, hint: 'did you mean "user.Age"?' })
  })

  test('A-058 a name is its exact column first, else the one that equals it ignoring case', () => {
    expect(path('Name')).toEqual(['Name'])
    expect(path('name')).toEqual(['name'])
    expect(path('CAMELCASE')).toEqual(['camelCase'])
    expect(path('`camelcase`')).toEqual(['camelCase'])
    const error = failure(() => path('NAME'))
    expect(error).toMatchObject({ code: 13, at: { offset: 0, length: 4 } })
    expect(error.message).toContain('"Name" or "name"')
  })

  test('A-058 "x" is the column of exactly that name, else the text x with a warning', () => {
    expect(path('"camelCase"')).toEqual(['camelCase'])
    expect(bind('"camelCase" = 1', {}, people).warnings).toEqual([])
    const text = bind('name = "it\'s"', {}, people)
    expect(printExpression(text)).toBe("name = 'it''s'")
    expect(text.warnings).toEqual([
      "no column is named exactly \"it's\": it was read as a string; for a string write 'it''s'",
    ])
    expect(path('"CAMELCASE"')).toMatchObject({ kind: 'literal', value: 'CAMELCASE' })
  })

  test('A-058 where double quotes are identifiers, "x" is never a text', () => {
    expect(path('"CAMELCASE"', { doubleQuotes: 'identifier' })).toEqual(['camelCase'])
    expect(failure(() => path('"zzz"', { doubleQuotes: 'identifier' })).code).toBe(12)
  })

  test('A-058 single quotes are always a text', () => {
    expect(path("'name'")).toMatchObject({ kind: 'literal', value: 'name' })
  })

  test('A-059 a path goes into structs, a dot inside backticks is part of a name', () => {
    expect(path('user.age')).toEqual(['user', 'Age'])
    expect(path('"user".`Age`')).toEqual(['user', 'Age'])
    expect(path("user['AGE']")).toEqual(['user', 'Age'])
    expect(path('`a.b`')).toEqual(['a.b'])
    expect(failure(() => path('a.b')).code).toBe(12)
    expect(path('`A.B`')).toEqual(['a.b'])
  })

  test('the columns a batch must hold are the top-level ones, in order of first use', () => {
    const { columns } = bind('st.n = 1 OR i64 IN (1, i8) OR i64 = st.n OR lower(s) = s', {})
    expect(columns).toEqual(['st', 'i64', 'i8', 's'])
    expect(bind('1 = 1').columns).toEqual([])
  })
})

describe('parameters', () => {
  test('stand for constants, by question mark, number or name', () => {
    expect(printed('i64 = ? and s = ?', { parameters: [1, "it's"] })).toBe("i64 = 1 AND s = 'it''s'")
    expect(printed('i64 = $2 and i8 = $1 and u64 = $2', { parameters: [1, 2] })).toBe(
      'i64 = 2 AND i8 = 1 AND u64 = 2',
    )
    expect(printed('s = :who', { parameters: { who: 'me' } })).toBe("s = 'me'")
  })

  test('have the type of their value', () => {
    const one = (value: unknown) => printExpression(bind('?', { parameters: [value] }))
    expect([7, 2n ** 63n, 0.5, -0, true, null, 'a', Buffer.from([255])].map(one)).toEqual([
      '7',
      '9223372036854775808',
      '0.5',
      '-0.0',
      'TRUE',
      'NULL',
      "'a'",
      "X'ff'",
    ])
    expect(one(new Date('2021-01-01T00:00:00.001Z'))).toBe("timestamp(3) '2021-01-01T00:00:00.001'")
    expect(one(Number.NaN)).toBe("CAST('NaN' AS double)")
    expect(printed('day = ?', { parameters: [new Date('2021-01-01')] })).toBe("day = date '2021-01-01'")
    expect(printed('day = ?', { parameters: ['2021-01-01'] })).toBe("day = date '2021-01-01'")
  })

  test('hold whole lists', () => {
    expect(printed('i64 in ?', { parameters: [[1, 2n, null]] })).toBe('i64 IN (1, 2, NULL)')
    expect(printed('i64 in (?, 3)', { parameters: [[1, 2]] })).toBe('i64 IN (1, 2, 3)')
    expect(printed('i64 in (?)', { parameters: [1] })).toBe('i64 = 1')
    expect(printed('i64 in ?', { parameters: [[]] })).toBe('FALSE')
    expect(printed('u64 in ?', { parameters: [BigUint64Array.of(1n, 2n)] })).toBe('u64 IN (1, 2)')
    expect(printed('array_has_any(labels, ?)', { parameters: [['a']] })).toBe("array_has_any(labels, ['a'])")
  })

  test.each<readonly [string, BindOptions['parameters'], string]>([
    ['i64 = ?', undefined, 'no value is given for parameter 1'],
    ['i64 = ?', [], 'no value is given for parameter 1'],
    ['i64 = ?', [1, 2], '2 parameters are given, 1 are used'],
    ['i64 = 1', [1], '1 parameters are given, 0 are used'],
    ['i64 = :a', { a: 1, b: 2 }, 'the parameter :b is given, but no expression uses it'],
    ['i64 = $2', [1], 'no value is given for parameter 2'],
    ['i64 = :a', { b: 1 }, 'no value is given for :a'],
    ['i64 = :toString', {}, 'no value is given for :toString'],
    ['i64 = :a', [1], 'parameters are given as an array; :a needs an object'],
    ['i64 = ?', { a: 1 }, 'parameters are given as an object; parameter 1 needs an array'],
    ['i64 = ? or i64 = $1', [1], 'parameters are written ? and $ in one request'],
    ['i64 = ?', [undefined], 'parameter 1 is undefined, which is not a valid parameter value'],
    ['i64 = ?', [() => 1], 'parameter 1 is a function'],
    ['i64 = ?', [new Date(Number.NaN)], 'parameter 1 is an invalid Date'],
    ['i64 = ?', [{ a: 1 }], 'parameter 1 is {"a":1}'],
    ['i64 in ?', [[1, {}]], 'element 1 of parameter 1 is {}'],
    ['i64 in ?', [1], 'IN with a parameter needs an array'],
    ['s = ?', ['\ud800'], 'parameter 1 holds half of a surrogate pair'],
  ])('%s with %j: %s', (text, parameters, message) => {
    const error = failure(() => bindFilter(text, schema, { parameters }))
    expect(error.code).toBe(13)
    expect(error.message).toContain(message)
  })
})

describe('time and chance', () => {
  const clock = new SeededClock(7, Date.UTC(2024, 1, 29, 23, 30, 0, 5))

  test('now() is one value per bind, of the clock given', () => {
    expect(printed('us < now() and ms < now()', { clock })).toBe(
      "us < timestamp(6) '2024-02-29T23:30:00.005000' AND ms < '2024-02-29T23:30:00.005Z'",
    )
    expect(printed('day = current_date or day = today()', { clock })).toBe("day = date '2024-02-29'")
    const { expr, type } = bind('CURRENT_TIMESTAMP', { clock })
    expect(type).toEqual({ kind: 'timestamp', unit: 'ns', timezone: '+00:00' })
    expect(expr).toMatchObject({ value: BigInt(clock.now()) * 1_000_000n })
    expect(printExpression(bind('current_time', { clock }))).toBe("CAST('23:30:00.005' AS time(9))")
  })

  test('the system clock is the default', () => {
    const { expr } = bind('now()')
    const age = Date.now() - Number((expr as { value: bigint }).value / 1_000_000n)
    expect(age).toBeGreaterThanOrEqual(0)
    expect(age).toBeLessThan(60_000)
  })

  test('without parentheses the name is a column', () => {
    const over = schemaOf({ Current_Date: utf8 })
    expect(bind('current_date', { clock }, over).expr).toMatchObject({
      kind: 'column',
      path: ['Current_Date'],
    })
    expect(bind('current_date()', { clock }, over).type).toEqual({ kind: 'date', unit: 'day' })
    expect(failure(() => bind('`current_date`', { clock })).code).toBe(12)
    expect(failure(() => bind('now', { clock })).code).toBe(12)
  })

  test('random() calls the clock for each row', () => {
    const bound = bind('random()', { clock: new SeededClock(7) })
    expect(bound.expr.kind).toBe('call')
    expect(bound.chance.random()).toBe(new SeededClock(7).random())
  })

  test('uuid() calls the clock for each row', () => {
    const bound = bind('uuid()', { clock: new SeededClock(7) })
    const column = evaluate(bound, { schema: { fields: [] }, length: 2, columns: [] })
    const clock = new SeededClock(7)
    expect(columnValues(column)).toEqual([clock.uuid(), clock.uuid()])
  })
})

describe('a list of parameters for several expressions', () => {
  test('is checked by its owner', () => {
    const parameters = new ParameterList([1, 'a'])
    expect(printed('i64 = $1', { parameters })).toBe('i64 = 1')
    expect(printed('s = $2', { parameters })).toBe("s = 'a'")
    parameters.checkUsed()
    const tooMany = new ParameterList([1, 2])
    expect(printed('i64 = ?', { parameters: tooMany })).toBe('i64 = 1')
    expect(failure(() => tooMany.checkUsed()).message).toContain('2 parameters are given')
  })
})

describe('long chains and deep trees take linear time', () => {
  const seconds = (run: () => void) => {
    const started = process.cpuUsage()
    run()
    return process.cpuUsage(started).user / 1e6
  }

  test('a chain of equalities is one list', () => {
    const text = Array.from({ length: 50_000 }, (_, i) => `i64 = ${i}`).join(' or ')
    let bound = bind('true')
    expect(
      seconds(() => {
        bound = bindFilter(text, schema)
      }),
    ).toBeLessThan(5)
    expect(bound.expr).toMatchObject({ kind: 'in', hasNull: false })
    expect((bound.expr as { values: readonly unknown[] }).values.length).toBe(50_000)
  })

  test('NOT over NOT over a long condition', () => {
    const wide = Array.from({ length: 5000 }, (_, i) => `i64 > ${i}`).join(' or ')
    let text = `(${wide})`
    for (let i = 0; i < 60; i++) text = i % 3 === 0 ? `not (i8 = ${i} and ${text})` : `not (${text})`
    expect(seconds(() => bindFilter(text, schema))).toBeLessThan(10)
  })
})

describe('types of values', () => {
  test.each([
    ['1', 'int64'],
    ['9223372036854775808', 'uint64'],
    ['99999999999999999999', 'decimal128(20, 0)'],
    ['1.0', 'float64'],
    ["'a'", 'utf8'],
    ['i8', 'int8'],
    ['i8 + i8', 'int64'],
    ['u64 + 1', 'uint64'],
    ['u64 - i64', 'int64'],
    ['i64 + f32', 'float32'],
    ['f32 * f32', 'float32'],
    ['-f32', 'float32'],
    ['f32 + f64', 'float64'],
    ['f32 + 1', 'float32'],
    ['f32 + 0.5', 'float64'],
    ['f32 + dec', 'float64'],
    ['coalesce(i8, i64)', 'int64'],
    ['coalesce(day, us)', 'timestamp(us)'],
    ['length(s)', 'int32'],
    ['labels[1]', 'utf8'],
    ['cast(1 as tinyint unsigned)', 'uint8'],
    ["date '2021-01-01'", 'date32'],
    ["timestamp '2021-01-01'", 'timestamp(us)'],
    ['[1, 2.5]', 'list<float64>'],
    ['null', 'null'],
    ['i64 = 1', 'bool'],
    ['case when flag then i8 else 1 end', 'int64'],
    ['case when flag then day else us end', 'timestamp(us)'],
    ['case when flag then null else null end', 'null'],
    ["interval '1 day'", 'interval(month_day_nano)'],
    ["us - interval '1 day'", 'timestamp(us)'],
    ['dec * dec', 'decimal128(21, 4)'],
    ['[i64, null]', 'list<int64>'],
    ['[[i8], [1]]', 'list<list<int64>>'],
    ['[st][1]', 'struct<n: int64, a.b: int64>'],
    ['struct(s, i8)', 'struct<c0: utf8, c1: int8>'],
  ])('%s is %s', async (text, name) => {
    const { typeName } = await import('../../../src/arrow/type-name.js')
    expect(typeName(bind(text).type)).toBe(name)
  })
})

test('arithmetic of numbers with a float is done in floats, as in LanceDB', () => {
  const schema = { fields: [{ name: 'x', type: { kind: 'float', bits: 64 }, nullable: true }] } as const
  const printed = (text: string) => printExpression(bindFilter(text, schema))
  expect(printed('x = 1 / 2')).toBe('x = 0.5')
  expect(printed('-(3 / 2) < x')).toBe('x > -1.5')
  expect(printed('x = 1 / 0')).toBe("x = CAST('inf' AS double)")
  expect(printed('x + 1 / 2 = 1')).toBe('x + 0.0 = 1.0')
})

test('regexp_match in a filter is never NULL, with a warning', () => {
  const schema = { fields: [{ name: 's', type: { kind: 'utf8', large: false }, nullable: true }] } as const
  const filter = bindFilter("regexp_match(s, 'a') IS NOT NULL", schema)
  expect(printExpression(filter)).toBe('TRUE')
  expect(filter.warnings).toEqual([expect.stringContaining('regexp_like')])
  const value = bindExpression(parseExpression("regexp_match(s, 'a') IS NOT NULL"), schema)
  expect(printExpression(value)).toContain('regexp_match')
})

test('a range with a NULL end is unknown, or false if the other end decides', () => {
  const schema = {
    fields: [{ name: 't', type: { kind: 'timestamp', unit: 'us', timezone: null }, nullable: true }],
  } as const
  expect(printExpression(bindFilter('t BETWEEN CAST(NULL AS timestamp) AND t', schema))).toBe(
    'CAST(NULL AS boolean) AND t <= t',
  )
  expect(
    printExpression(bindFilter("date_trunc('day', t) NOT BETWEEN CAST(NULL AS timestamp) AND t", schema)),
  ).toContain('NULL')
})

describe('limits of a filter', () => {
  const many = (count: number, part: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => part(i))
  const error = (text: string) => {
    try {
      bind(text)
    } catch (caught) {
      if (caught instanceof SheafError) return caught
      throw caught
    }
    throw new Error('no error')
  }

  test.each([
    ['concat', 1000],
    ['coalesce', 255],
    ['greatest', 255],
    ['least', 255],
    ['make_array', 1000],
  ])('%s takes %i values', (name, most) => {
    const call = (count: number) => `${name}(${many(count, () => 's').join(', ')})`
    bind(call(most))
    for (const count of [most + 1, 100_000]) {
      expect(error(call(count))).toMatchObject({
        code: 13,
        message: `${name} takes at most ${count > 1000 ? 1000 : most} values, not ${count}`,
        hint: 'split the call into several calls',
      })
    }
  })

  test('a CASE may have 10,000 branches', () => {
    const branches = (count: number) => `case ${many(count, i => `when i64 = ${i} then ${i}`).join(' ')} end`
    bind(branches(10_000))
    expect(error(branches(100_000))).toMatchObject({
      code: 13,
      message: 'CASE has 100000 branches; at most 10000 are allowed',
    })
  })

  test('many wrong values are found in one pass, and a few are named', () => {
    const list = error(`[${many(50_000, i => `${i}`).join(', ')}, 'a']`)
    expect(list.message).toBe('the values of a list must have one type, not int64 and utf8')
    const call = error(`upper(${many(500, i => `${i}`).join(', ')})`)
    expect(call.message).toBe(
      'upper does not take (int64, int64, int64, int64, int64, int64, int64, int64 and 492 more)',
    )
    const unknown = error(`${'f'.repeat(100_000)}(1)`)
    expect(unknown.message.length).toBeLessThan(300)
    expect(error(`${'f'.repeat(100_000)} = 1`).message.length).toBeLessThan(1000)
  })

  test('a call of many arguments runs after one of few', () => {
    const few = "upper(s) = 'A'"
    const wide = `greatest(${many(50, i => `s || '${i}'`).join(', ')}) = 'a'`
    expect(printed(`${wide} AND ${few}`).startsWith('upper(s)')).toBe(true)
  })
})

describe('a repeated filter', () => {
  test('is reused for the same schema, and bound again to another', () => {
    const text = 'i64 = 77'
    const first = bindFilter(text, schema)
    expect(bindFilter(text, schema)).toBe(first)
    const other = schemaOf({ i64: utf8 })
    expect(() => bindFilter(text, other)).toThrow(SheafError)
    expect(bindFilter("i64 = '77'", other)).not.toBe(bindFilter("i64 = '77'", schemaOf({ i64: utf8 })))
  })

  test('takes its parameters and the time from each call', () => {
    const at = (value: number) => printExpression(bindFilter('i64 = ?', schema, { parameters: [value] }))
    expect(at(1)).not.toBe(at(2))
    const among = (values: number[]) =>
      printExpression(bindFilter('i64 IN (?)', schema, { parameters: [values] }))
    expect(among([1, 2])).not.toBe(among([3, 4]))
    expect(bindFilter('ms < now()', schema)).not.toBe(bindFilter('ms < now()', schema))
  })

  test('refuses unused values, however often it was bound', () => {
    bindFilter('i64 = 78', schema)
    expect(() => bindFilter('i64 = 78', schema, { parameters: [1] })).toThrow(
      '1 parameters are given, 0 are used',
    )
  })
})
