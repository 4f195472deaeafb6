import { describe, expect, test } from 'vitest'
import { typeName } from '../../../src/arrow/type-name.js'
import type { DataType } from '../../../src/arrow/types.js'
import { SheafError } from '../../../src/errors.js'
import {
  type AggregateFunction,
  aggregateOption,
  aggregateType,
  containsAggregate,
  splitAggregates,
} from '../../../src/sql/binding/aggregates.js'
import { bindExpression, bindFilter } from '../../../src/sql/binding/bind.js'
import { printExpression } from '../../../src/sql/print.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import type { Expr } from '../../../src/sql/syntax/syntax.js'

const int64: DataType = { kind: 'int', bits: 64, signed: true }
const float64: DataType = { kind: 'float', bits: 64 }
const utf8: DataType = { kind: 'utf8', large: false }
const decimal = (precision: number, scale: number): DataType => ({
  kind: 'decimal',
  bits: 128,
  precision,
  scale,
})

function schemaOf(types: Readonly<Record<string, DataType>>) {
  return { fields: Object.entries(types).map(([name, type]) => ({ name, type, nullable: true })) }
}

const schema = schemaOf({ x: int64, y: float64, s: utf8 })

const split = (text: string) => splitAggregates(parseExpression(text))

/** The calls as text, their arguments bound. */
function callsOf({ aggregates }: ReturnType<typeof split>): string[] {
  const print = (expr: Expr) => printExpression(bindExpression(expr, schema))
  return aggregates.map(({ fn, distinct, arg, option, filter, name }) => {
    const inner = [arg, option].flatMap(each => (each === null ? [] : [print(each)])).join(', ')
    const condition = filter === null ? '' : ` filter ${print(filter)}`
    return `${name} = ${fn}(${distinct ? 'distinct ' : ''}${arg === null ? '*' : inner})${condition}`
  })
}

/** What is left, bound over results that are all int64. */
function restOf({ expr, aggregates }: ReturnType<typeof split>): string {
  const results = Object.fromEntries(aggregates.map(({ name }) => [name, int64]))
  return printExpression(bindExpression(expr, schemaOf({ s: utf8, ...results })))
}

function failure(run: () => unknown): SheafError {
  try {
    run()
  } catch (error) {
    if (error instanceof SheafError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('aggregates taken out of an expression', () => {
  test.each<readonly [text: string, rest: string, calls: readonly string[]]>([
    ['sum(x)', '`#0`', ['#0 = sum(x)']],
    ['sum(x) / count(*) + 1', '`#0` / `#1` + 1', ['#0 = sum(x)', '#1 = count(*)']],
    ['MEAN(x + 1)', '`#0`', ['#0 = avg(x + 1)']],
    ['max(x) - min(x)', '`#0` - `#1`', ['#0 = max(x)', '#1 = min(x)']],
    ['sum(x) + sum( x )', '`#0` + `#0`', ['#0 = sum(x)']],
    ['sum(x) + sum(distinct x)', '`#0` + `#1`', ['#0 = sum(x)', '#1 = sum(distinct x)']],
    ['min(distinct x) = min(x)', '`#0` = `#0`', ['#0 = min(x)']],
    ['count(x) between 1 and count(s)', '`#0` >= 1 AND `#0` <= `#1`', ['#0 = count(x)', '#1 = count(s)']],
    ['case when count(*) > 1 then s end', 'CASE WHEN `#0` > 1 THEN s END', ['#0 = count(*)']],
    ["case s when 'a' then sum(x) else 0 end", "CASE WHEN s = 'a' THEN `#0` ELSE 0 END", ['#0 = sum(x)']],
    ['not (count(x) in (1, 2))', '`#0` NOT IN (1, 2)', ['#0 = count(x)']],
    ['sum(case when y > 0 then x end)', '`#0`', ['#0 = sum(CASE WHEN y > 0.0 THEN x END)']],
    ['[count(*)][1] is distinct from 2', '[`#0`][1] = 2 IS NOT TRUE', ['#0 = count(*)']],
    ['sum(x) filter (where y > 0)', '`#0`', ['#0 = sum(x) filter y > 0.0']],
    [
      'count(*) FILTER(WHERE x > 1) / count(*)',
      '`#0` / `#1`',
      ['#0 = count(*) filter x > 1', '#1 = count(*)'],
    ],
    [
      'sum(x) filter (where y > 0) + sum(x) filter (where y > 0)',
      '`#0` + `#0`',
      ['#0 = sum(x) filter y > 0.0'],
    ],
    [
      'percentile(x, 0.9) - percentile(x, 0.5)',
      '`#0` - `#1`',
      ['#0 = percentile(x, 0.9)', '#1 = percentile(x, 0.5)'],
    ],
    ["string_agg(distinct s, '; ')", '`#0`', ["#0 = string_agg(distinct s, '; ')"]],
    ["s like 'a%' escape '!'", "s LIKE 'a%' ESCAPE '!'", []],
    ['cast(-count(x) as string)', 'CAST(`#0` * -1 AS string)', ['#0 = count(x)']],
  ])('%s', (text, rest, calls) => {
    const parts = split(text)
    expect(restOf(parts)).toBe(rest)
    expect(callsOf(parts)).toEqual(calls)
    expect(containsAggregate(parseExpression(text))).toBe(calls.length > 0)
    expect(containsAggregate(parts.expr)).toBe(false)
  })

  test('literals that look alike are different arguments', () => {
    expect(callsOf(split("count(nullif(s, '1')) + count(nullif(x, 1))"))).toHaveLength(2)
    expect(callsOf(split('sum(nullif(x, 1)) + sum(nullif(x, 1.0))'))).toHaveLength(2)
  })

  test('the calls of earlier expressions are shared', () => {
    const first = split('sum(x)')
    const second = splitAggregates(parseExpression('sum(x) / count(*)'), first.aggregates)
    expect(callsOf(second)).toEqual(['#0 = sum(x)', '#1 = count(*)'])
    expect(restOf(second)).toBe('`#0` / `#1`')
  })

  test.each([
    ['sum(count(x))', 'sum of an aggregate', { offset: 4, length: 8 }],
    ['max(1 + avg(x))', 'max of an aggregate', { offset: 4, length: 10 }],
    ['sum(*)', 'sum takes one value', { offset: 0, length: 6 }],
    ['count()', 'count takes one value', { offset: 0, length: 7 }],
    ['1 + avg(x, y)', 'avg takes one value', { offset: 4, length: 9 }],
    ['percentile(x)', 'percentile takes two values', { offset: 0, length: 13 }],
    ['string_agg(s)', 'string_agg takes two values', { offset: 0, length: 13 }],
    ['sum(x) filter (where max(x) > 1)', 'sum of an aggregate', { offset: 21, length: 10 }],
    ['1 + mode(distinct x)', 'mode does not take DISTINCT', { offset: 4, length: 16 }],
    ['sum(x) filter x > 1', 'FILTER is followed by (WHERE condition), found "x"', { offset: 14, length: 1 }],
    [
      'sum(x) filter (x > 1)',
      'FILTER needs WHERE before its condition, found "x"',
      { offset: 15, length: 1 },
    ],
    ['sum(x) filter (where x > 1', 'expected )', { offset: 26, length: 0 }],
  ])('%s is refused', (text, message, at) => {
    const error = failure(() => split(text))
    expect(error).toMatchObject({ code: 13, at })
    expect(error.message).toContain(message)
  })

  test('aggregates without groups are refused, and the error says what to do', () => {
    const error = failure(() => bindFilter('x > 1 and Sum(x) = 1', schema))
    expect(error).toMatchObject({ code: 13, at: { offset: 10, length: 6 } })
    expect(error.message).toBe('Sum is an aggregate: use it in select with groupBy')
    expect(failure(() => bindFilter('lower(distinct s) = s', schema)).message).toMatch(/is for aggregates/)
    expect(failure(() => bindFilter("lower(s) filter (where x > 1) = 'a'", schema)).message).toBe(
      'FILTER is for aggregates, and lower is not an aggregate',
    )
    expect(failure(() => bindFilter('x filter (where x > 1)', schema)).hint).toMatch(/^FILTER follows/)
  })

  test.each<readonly [fn: AggregateFunction, option: string, value: unknown]>([
    ['percentile', '0.9', 0.9],
    ['percentile', '1', 1],
    ['percentile', "decimal(3, 2) '0.25'", 0.25],
    ['string_agg', "', '", ', '],
    ['percentile', '90', /from 0 to 1, not 90; write percentile\(x, 0.9\)/],
    ['percentile', '-0.5', /from 0 to 1, not -0.5/],
    ['percentile', 'y', /a constant number from 0 to 1/],
    ['percentile', 'null', /a constant number from 0 to 1/],
    ['string_agg', 's', /the separator of string_agg must be a constant text/],
    ['string_agg', '1', /the separator of string_agg must be a constant text/],
  ])('the second argument of %s is a constant: %s', (fn, option, value) => {
    const at = { offset: 14, length: option.length }
    const read = () => aggregateOption(fn, bindExpression(parseExpression(option), schema).expr, at)
    if (!(value instanceof RegExp)) return expect(read()).toBe(value)
    const { message, hint, ...error } = failure(read)
    expect(`${message}; ${hint}`).toMatch(value)
    expect(error).toMatchObject({ code: 13, at })
  })
})

describe('types of aggregates', () => {
  test.each<readonly [AggregateFunction, DataType | null, string]>([
    ['count', null, 'int64'],
    ['count', { kind: 'struct', children: [] }, 'int64'],
    ['sum', { kind: 'int', bits: 8, signed: true }, 'int64'],
    ['sum', { kind: 'int', bits: 16, signed: false }, 'uint64'],
    ['sum', { kind: 'float', bits: 32 }, 'float64'],
    ['sum', decimal(10, 2), 'decimal128(38, 2)'],
    ['sum', { kind: 'null' }, 'int64'],
    ['avg', int64, 'float64'],
    ['avg', { kind: 'float', bits: 16 }, 'float64'],
    ['avg', decimal(10, 2), 'decimal128(38, 6)'],
    ['avg', decimal(38, 36), 'decimal128(38, 36)'],
    ['avg', { kind: 'decimal', bits: 256, precision: 40, scale: 3 }, 'decimal256(76, 7)'],
    ['min', { kind: 'date', unit: 'day' }, 'date32'],
    [
      'max',
      { kind: 'dictionary', index: { kind: 'int', bits: 8, signed: true }, value: utf8, ordered: false },
      'utf8',
    ],
    ['max', decimal(10, 2), 'decimal128(10, 2)'],
    ['min', { kind: 'bool' }, 'bool'],
    ['median', int64, 'float64'],
    ['percentile', decimal(10, 2), 'float64'],
    ['stddev', { kind: 'float', bits: 32 }, 'float64'],
    ['mode', utf8, 'utf8'],
    ['string_agg', utf8, 'utf8'],
    ['array_agg', int64, 'list<int64>'],
    ['last', { kind: 'struct', children: [] }, 'struct<>'],
  ])('%s of %o is %s', (fn, type, expected) => {
    expect(typeName(aggregateType(fn, type))).toBe(expected)
  })

  test.each<readonly [AggregateFunction, DataType]>([
    ['sum', utf8],
    ['avg', { kind: 'bool' }],
    ['sum', { kind: 'date', unit: 'day' }],
    ['min', { kind: 'struct', children: [] }],
    ['max', { kind: 'interval', unit: 'month_day_nano' }],
    ['median', utf8],
    ['variance', { kind: 'date', unit: 'day' }],
    ['mode', { kind: 'struct', children: [] }],
    ['string_agg', int64],
  ])('%s has no meaning for %o', (fn, type) => {
    expect(failure(() => aggregateType(fn, type))).toMatchObject({ code: 20 })
  })
})
