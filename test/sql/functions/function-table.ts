/** Expressions with calls, evaluated in the ways they can be: folded as constants, and over columns. */
import { expect, test } from 'vitest'
import type { Batch } from '../../../src/arrow/column.js'
import { rowsToBatch } from '../../../src/arrow/rows.js'
import { typeName } from '../../../src/arrow/type-name.js'
import type { DataType, Schema } from '../../../src/arrow/types.js'
import { columnValues } from '../../../src/arrow/values.js'
import { bindExpression } from '../../../src/sql/binding/bind.js'
import { evaluate } from '../../../src/sql/evaluate.js'
import { functionNamed } from '../../../src/sql/functions/functions.js'
import { parseExpression } from '../../../src/sql/syntax/parse.js'
import type { CallExpr, Expr } from '../../../src/sql/syntax/syntax.js'

/** An expression without columns, its value, and optionally its type in words. */
export type FunctionCase = readonly [text: string, value: unknown, type?: string]

/** An expression without columns and what its error says. */
export type ErrorCase = readonly [text: string, error: RegExp]

export const types = {
  utf8: { kind: 'utf8', large: false },
  binary: { kind: 'binary', large: false },
  bool: { kind: 'bool' },
  int8: { kind: 'int', bits: 8, signed: true },
  int32: { kind: 'int', bits: 32, signed: true },
  int64: { kind: 'int', bits: 64, signed: true },
  uint64: { kind: 'int', bits: 64, signed: false },
  float32: { kind: 'float', bits: 32 },
  float64: { kind: 'float', bits: 64 },
} as const satisfies Record<string, DataType>

export interface Table {
  readonly schema: Schema
  readonly batch: Batch
}

export function tableOf(
  columns: Readonly<Record<string, DataType>>,
  rows: readonly Record<string, unknown>[],
): Table {
  const schema: Schema = {
    fields: Object.entries(columns).map(([name, type]) => ({ name, type, nullable: true })),
  }
  return { schema, batch: rowsToBatch(rows as Record<string, never>[], schema) }
}

const oneRow = tableOf({ nothing: types.bool }, [{ nothing: null }])

/** A test for each case, over constants and over columns. `written`: the expression whose value is compared. */
export function testCases(
  cases: readonly FunctionCase[],
  written = (text: string, _value: unknown) => text,
): void {
  test.each(cases.map(([text, ...expected]) => ({ text, expected })))('$text', ({ text, expected }) => {
    const [value, type] = expected
    const compared = written(text, value)
    expect(resultOf(compared)).toEqual(value)
    expect(valuesOverColumns(compared)).toEqual([value, value])
    if (type !== undefined) expect(typeName(typeOf(text))).toBe(type)
  })
}

export function testErrors(cases: readonly ErrorCase[]): void {
  test.each(cases)('%s fails', (text, error) => {
    expect(() => resultOf(text)).toThrow(error)
    expect(() => valuesOverColumns(text)).toThrow(error)
  })
}

/** The value in every row; a double of -0 is one of 0 to everyone but Object.is. */
export function valuesOf(text: string, { schema, batch }: Table = oneRow): unknown[] {
  return evaluated(parseExpression(text), { schema, batch })
}

export function resultOf(text: string): unknown {
  return valuesOf(text)[0]
}

export function typeOf(text: string, { schema }: Table = oneRow): DataType {
  return bindExpression(parseExpression(text), schema).type
}

function evaluated(expr: Expr, { schema, batch }: Table): unknown[] {
  const column = evaluate(bindExpression(expr, schema), batch)
  return columnValues(column, { int64: 'bigint' }).map(value => (value === 0 ? 0 : value))
}

/**
 * The value of an expression whose constants stand in columns, in the first and last of three rows; in the one between
 * all of them are null.
 */
export function valuesOverColumns(text: string): readonly [first: unknown, last: unknown] {
  const columns: Record<string, DataType> = {}
  const row: Record<string, unknown> = {}
  const expr = toColumns(parseExpression(text), (value, type) => {
    const name = `c${Object.keys(columns).length}`
    columns[name] = type
    row[name] = value
    return name
  })
  const nulls = Object.fromEntries(Object.keys(columns).map(name => [name, null]))
  const values = evaluated(expr, tableOf({ ...columns, nothing: types.bool }, [row, nulls, row]))
  return [values[0], values[2]]
}

type AddColumn = (value: unknown, type: DataType) => string

/** The tree with its texts and numbers, as far as they are arguments, in columns; what has to be a constant stays one. */
function toColumns(expr: Expr, add: AddColumn): Expr {
  if (expr.kind === 'call') {
    const kept = keptConstants(expr)
    return { ...expr, args: expr.args.map((arg, i) => (kept(i) ? arg : toColumns(arg, add))) }
  }
  if (expr.kind === 'cast') return { ...expr, operand: toColumns(expr.operand, add) }
  const { at } = expr
  const column = (value: unknown, type: DataType): Expr => {
    return { kind: 'column', path: [{ name: add(value, type), quote: '', at }], at }
  }
  if (expr.kind === 'decimal') return column(Number(expr.text), types.float64)
  if (expr.kind === 'negate' && expr.operand.kind === 'literal' && typeof expr.operand.value === 'bigint') {
    return column(-expr.operand.value, types.int64)
  }
  if (expr.kind !== 'literal') return expr
  if (typeof expr.value === 'bigint' && BigInt.asIntN(64, expr.value) === expr.value) {
    return column(expr.value, types.int64)
  }
  return typeof expr.value === 'string' ? column(expr.value, types.utf8) : expr
}

function keptConstants({ name, args }: CallExpr): (index: number) => boolean {
  const { constant } = functionNamed(name) ?? {}
  if (name === 'named_struct') return i => i % 2 === 0
  if (name === 'from_unixtime' || name === 'arrow_cast') return i => i === 1
  if (name === 'array_sort') return i => i > 0
  // The scale of a decimal depends on the places.
  if ((name === 'round' || name === 'trunc') && args[0]?.kind === 'cast') return i => i === 1
  return i => i === constant
}
