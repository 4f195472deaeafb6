/**
 * Recognizes filters that select rows by the value of one column: `id = ?`, `id = 5`, `id IN (?)` and `id IN (1, 2)`.
 * Converts the values to keys of the column as the binder does.
 */
import type { DataType } from '../arrow/types.js'
import { type Key, keyOf } from '../indexes/scalar/place-of.js'
import { ParameterList } from '../sql/binding/parameters.js'
import type { Expr, ParameterExpr } from '../sql/syntax/syntax.js'
import { equalValue, integerRange } from '../sql/values/literal.js'
import { LiteralNode } from '../sql/values/literal-node.js'

/** Maximum number of keys of a condition. Converting more in one step would block the event loop. */
const keysMax = 4 * 1024

/** A condition that is true for the rows in which a column has one of some values. */
export interface KeyCondition {
  /** The name of the column as written. */
  readonly column: string
  /** The parameter with the value, or with a list of values. Null: the values are in the text. */
  readonly parameter: ParameterExpr | null
  /** The kinds of values that the parameter accepts. */
  readonly takes: 'value' | 'list' | 'either'
  /** The values in the text. Empty if there is a parameter. */
  readonly values: ArrayLike<bigint | string | number>
}

/** Return the condition of a parsed filter. Return null if the filter is not such a condition. */
export function keyConditionOf(expr: Expr): KeyCondition | null {
  if (expr.kind === 'binary' && expr.op === '=') {
    return equality(expr.left, expr.right) ?? equality(expr.right, expr.left)
  }
  if (expr.kind !== 'in' || expr.negated) return null
  const column = columnOf(expr.operand)
  if (column === null) return null
  const { list } = expr
  if ('kind' in list) {
    return list.kind === 'constants'
      ? { column, parameter: null, takes: 'list', values: list.values }
      : { column, parameter: list, takes: 'list', values: [] }
  }
  const [first] = list
  if (list.length === 1 && first!.kind === 'parameter') {
    return { column, parameter: first, takes: 'either', values: [] }
  }
  const values = list.map(constantOf)
  if (values.includes(null)) return null
  return { column, parameter: null, takes: 'list', values: values as (bigint | string)[] }
}

function equality(side: Expr, other: Expr): KeyCondition | null {
  const column = columnOf(side)
  if (column === null) return null
  if (other.kind === 'parameter') return { column, parameter: other, takes: 'value', values: [] }
  const value = constantOf(other)
  return value === null ? null : { column, parameter: null, takes: 'value', values: [value] }
}

function columnOf(expr: Expr): string | null {
  return expr.kind === 'column' && expr.path.length === 1 ? expr.path[0]!.name : null
}

function constantOf(expr: Expr): bigint | string | null {
  if (expr.kind !== 'literal') return null
  return typeof expr.value === 'bigint' || typeof expr.value === 'string' ? expr.value : null
}

/**
 * Return the keys of a condition for a column of `type`. `parameters`: the values of the parameters, as the caller gave
 * them. Return null if a value is missing, surplus, or not certainly equal to one value of the type. Then the binder
 * must decide what the condition means, or that it is an error. Also return null for more than `keysMax` values.
 */
export function keysFor(
  { parameter, takes, values }: KeyCondition,
  parameters: unknown,
  type: DataType,
): readonly Key[] | null {
  if (parameter === null) {
    const hasNone = parameters === undefined || (Array.isArray(parameters) && parameters.length === 0)
    return hasNone ? keysOf(values, type) : null
  }
  const value = soleValue(parameter, parameters)
  if (isArrayLike(value)) return takes === 'value' ? null : keysOf(value, type)
  const key = takes === 'list' ? null : keyOfValue(value, type)
  return key === null ? null : [key]
}

/** Return the value of the only parameter. Undefined if there are other values or none. */
function soleValue({ style, key }: ParameterExpr, parameters: unknown): unknown {
  if (typeof parameters !== 'object' || parameters === null) return undefined
  if (Array.isArray(parameters))
    return style !== ':' && key === 0 && parameters.length === 1 ? parameters[0] : undefined
  if (style !== ':' || !Object.hasOwn(parameters, key) || Object.keys(parameters).length > 1) return undefined
  return (parameters as Readonly<Record<string, unknown>>)[key]
}

function isArrayLike(value: unknown): value is ArrayLike<unknown> {
  return (
    Array.isArray(value) ||
    (ArrayBuffer.isView(value) && !(value instanceof Uint8Array || value instanceof DataView))
  )
}

function keysOf(values: ArrayLike<unknown>, type: DataType): readonly Key[] | null {
  if (values.length > keysMax) return null
  const keys: Key[] = []
  for (let i = 0; i < values.length; i++) {
    const key = keyOfValue(values[i], type)
    if (key === null) return null
    keys.push(key)
  }
  return keys
}

/** Return the key that equals a value. Null if the binder must decide. */
function keyOfValue(value: unknown, type: DataType): Key | null {
  if (type.kind === 'int' && typeof value === 'number') {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) return null
    if (type.bits === 64) return value < 0 && !type.signed ? null : BigInt(value)
    const [least, greatest] = type.signed
      ? [-(2 ** (type.bits - 1)), 2 ** (type.bits - 1)]
      : [0, 2 ** type.bits]
    return value >= least && value < greatest ? value : null
  }
  // A double represents a safe integer exactly.
  if (type.kind === 'float' && type.bits === 64 && (typeof value === 'number' || typeof value === 'bigint')) {
    const number = Number(value)
    if (Number.isSafeInteger(number) && !Object.is(number, -0)) return number
  }
  if (type.kind === 'int' && typeof value === 'bigint') {
    const [least, greatest] = integerRange(type)!
    return value >= least && value <= greatest ? keyOf(type, value) : null
  }
  if (type.kind === 'utf8')
    return typeof value === 'string' && value.isWellFormed() ? Buffer.from(value) : null
  const isOne =
    typeof value === 'object' ? value instanceof Date || value instanceof Uint8Array : value !== undefined
  if (!isOne) return null
  const literal = new ParameterList([value]).take(soleParameter)
  if (!(literal instanceof LiteralNode) || literal.limit !== undefined) return null
  const equal = equalValue(type, literal)
  return equal === null || equal === undefined ? null : keyOf(type, equal)
}

/** The parameter `?` of a condition without other parameters. */
export const soleParameter: ParameterExpr = {
  kind: 'parameter',
  style: '?',
  key: 0,
  at: { offset: 0, length: 1 },
}
