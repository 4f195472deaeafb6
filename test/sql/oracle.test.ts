import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { columnValues } from '../../src/arrow/values.js'
import { SheafError } from '../../src/errors.js'
import { Bitset } from '../../src/primitives/bitset.js'
import { bindExpression } from '../../src/sql/binding/bind.js'
import type { BoundExpression } from '../../src/sql/bound-expression.js'
import { evaluate, selectRows } from '../../src/sql/evaluate.js'
import { printExpression } from '../../src/sql/print.js'
import { parseExpression } from '../../src/sql/syntax/parse.js'
import {
  asOracleValue,
  batchOf,
  condition,
  rows,
  valueExpression,
  wideSchema,
} from '../support/sql-generators.js'
import {
  type Decimal,
  Fault,
  normalDecimal,
  Oracle,
  PossibleFault,
  type Row,
  type Value,
} from '../support/sql-oracle.js'

const oracle = new Oracle(wideSchema)

/** What the oracle says about every row: a value, a fault that must be met, or one that may be. */
function expected(text: string, from: readonly Row[]): (Value | Fault)[] {
  const expr = parseExpression(text)
  return from.map(row => {
    try {
      return oracle.value(expr, row)
    } catch (error) {
      if (error instanceof Fault) return error
      throw error
    }
  })
}

/** Runs the engine; null where it fails and a fault allows that. */
function unlessFault<T>(wanted: readonly (Value | Fault)[], run: () => T): T | null {
  try {
    const result = run()
    const certain = wanted.find(value => value instanceof Fault && !(value instanceof PossibleFault))
    if (certain !== undefined) throw new Error('the engine gave a value where there is none')
    return result
  } catch (error) {
    if (error instanceof SheafError && error.code === 13 && wanted.some(value => value instanceof Fault))
      return null
    throw error
  }
}

/** The oracle's value as the engine's is written: decimals with no more digits than they need, also for integers. */
function inSameForm(value: Value, got: Value): Value {
  if (value === null || got === null || typeof got !== 'object' || !('scale' in got)) return value
  if (typeof value === 'bigint') return { digits: value, scale: 0 }
  return typeof value === 'number' ? value : normalDecimal(value as Decimal)
}

function bind(text: string): BoundExpression {
  return bindExpression(parseExpression(text), wideSchema)
}

describe('the engine against a row-at-a-time oracle', () => {
  test('A-056 a filter selects exactly the rows for which three-valued logic says TRUE', () => {
    fc.assert(
      fc.property(condition, rows, (text, from) => {
        const wanted = expected(text, from)
        const selected = unlessFault(wanted, () => selectRows(bind(text), batchOf(from)))
        if (selected === null) return
        const trueRows = wanted.flatMap((value, i) => (value === true ? [i] : []))
        expect([...selected.toIndices()].filter(i => !(wanted[i] instanceof Fault))).toEqual(trueRows)
      }),
      { numRuns: 1500 },
    )
  })

  test('A-056 a condition as a column tells FALSE from NULL', () => {
    fc.assert(
      fc.property(condition, rows, (text, from) => {
        const wanted = expected(text, from)
        const column = unlessFault(wanted, () => evaluate(bind(text), batchOf(from)))
        if (column === null || column.type.kind === 'null') return
        const values = columnValues(column)
        for (const [i, value] of wanted.entries())
          if (!(value instanceof Fault)) expect(values[i]).toBe(value)
      }),
      { numRuns: 500 },
    )
  })

  test('an expression has the value the oracle computes, in the type it was bound to', () => {
    fc.assert(
      fc.property(valueExpression, rows, (text, from) => {
        const wanted = expected(text, from)
        const bound = bind(text)
        const column = unlessFault(wanted, () => evaluate(bound, batchOf(from)))
        if (column === null) return
        expect(column.type).toEqual(bound.type)
        expect(column.length).toBe(from.length)
        const values = columnValues(column, { int64: 'bigint' })
        for (const [i, value] of wanted.entries()) {
          if (value instanceof Fault) continue
          const got = asOracleValue(
            values[i],
            column.type.kind === 'dictionary' ? column.type.value : column.type,
          )
          // JavaScript has no 32-bit floats: the column of one holds the oracle's value rounded.
          expect(typeof got === 'number' && got === 0 ? 0 : got).toEqual(
            value === 0 ? 0 : inSameForm(value, got),
          )
        }
      }),
      { numRuns: 700 },
    )
  })

  test('a subset of rows gives the same rows, and rows outside of it cannot fail', () => {
    fc.assert(
      fc.property(condition, rows, fc.infiniteStream(fc.boolean()), (text, from, coin) => {
        const wanted = expected(text, from)
        const within = new Bitset(from.length)
        for (const [i, value] of wanted.entries())
          if (coin.next().value && !(value instanceof Fault)) within.add(i)
        const trueRows = wanted.flatMap((value, i) => (value === true && within.has(i) ? [i] : []))
        expect([...selectRows(bind(text), batchOf(from), within).toIndices()]).toEqual(trueRows)
      }),
      { numRuns: 500 },
    )
  })

  test('a bound expression printed, parsed and bound again is the same', () => {
    fc.assert(
      fc.property(fc.oneof(condition, valueExpression), text => {
        const bound = bind(text)
        const printed = printExpression(bound)
        const again = bind(printed)
        expect(again.expr, printed).toEqual(bound.expr)
        expect(printExpression(again)).toBe(printed)
      }),
      { numRuns: 1500 },
    )
  })
})
