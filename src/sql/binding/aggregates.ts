/**
 * Split aggregates from expressions. `sum(x) / count(*) + 1` becomes arithmetic on two columns with reserved names, and
 * a list of two aggregate calls. The query computes the calls per group, then binds the rest over a schema that has the
 * results under these names.
 */
import { typeName } from '../../arrow/type-name.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput, type SourceSpan, schemaMismatch } from '../../errors.js'
import { parseExpression } from '../syntax/parse.js'
import type { CallExpr, Expr } from '../syntax/syntax.js'
import { float64, int64, isOrdered, uint64, valueType } from '../values/types.js'

export type AggregateFunction = 'count' | 'sum' | 'min' | 'max' | 'avg'

/** An aggregate of a select. */
export interface AggregateCall {
  readonly fn: AggregateFunction
  /** DISTINCT. Never set for min and max, where it has no effect. */
  readonly distinct: boolean
  /** Null for `count(*)`. */
  readonly arg: Expr | null
  readonly at: SourceSpan
  /** Name of the column that holds the result. */
  readonly name: string
}

const aggregateFunctions: Readonly<Record<string, AggregateFunction>> = {
  count: 'count',
  sum: 'sum',
  min: 'min',
  max: 'max',
  avg: 'avg',
  mean: 'avg',
}

/** Names of all aggregate functions. */
export const aggregateNames: readonly string[] = Object.keys(aggregateFunctions)

/** Return the aggregate function with this name, ignoring case. Return undefined for other functions. */
export function aggregateNamed(name: string): AggregateFunction | undefined {
  const folded = name.toLowerCase()
  return Object.hasOwn(aggregateFunctions, folded) ? aggregateFunctions[folded] : undefined
}

/** Return whether a text is an expression that contains an aggregate. False for a text with a syntax error. */
export function isAggregate(text: string): boolean {
  try {
    return containsAggregate(parseExpression(text))
  } catch {
    // The query reports the syntax error.
    return false
  }
}

/** Return whether an expression contains a call of an aggregate. */
export function containsAggregate(expr: Expr): boolean {
  if (expr.kind === 'call' && aggregateNamed(expr.name) !== undefined) return true
  return childrenOf(expr).some(containsAggregate)
}

/**
 * Return `expr` with a column in place of every aggregate, and the list of aggregates. Equal calls share a column.
 *
 * `earlier` are the calls of other expressions of the same select. They come first in the result and are shared as
 * well. Column names are `prefix` and a number.
 *
 * Throws `InvalidInput` for an aggregate inside an aggregate, and for arguments that an aggregate does not take.
 */
export function splitAggregates(
  expr: Expr,
  earlier: readonly AggregateCall[] = [],
  prefix = '#',
): { readonly expr: Expr; readonly aggregates: readonly AggregateCall[] } {
  const aggregates = [...earlier]
  const byKey = new Map(earlier.map(call => [keyOfCall(call), call]))
  const replace = (node: Expr): Expr => {
    const fn = node.kind === 'call' ? aggregateNamed(node.name) : undefined
    if (fn === undefined) return withChildren(node, childrenOf(node).map(replace))
    const call = aggregateCall(fn, node as CallExpr, `${prefix}${aggregates.length}`)
    const key = keyOfCall(call)
    const known = byKey.get(key)
    if (known === undefined) {
      byKey.set(key, call)
      aggregates.push(call)
    }
    const { name } = known ?? call
    return { kind: 'column', path: [{ name, quote: '`', at: node.at }], at: node.at }
  }
  return { expr: replace(expr), aggregates }
}

function aggregateCall(fn: AggregateFunction, call: CallExpr, name: string): AggregateCall {
  const { args, modifier, at } = call
  const isCountOfRows = fn === 'count' && modifier === 'star'
  if (args.length !== (isCountOfRows ? 0 : 1) || (modifier === 'star' && !isCountOfRows)) {
    throw invalidInput(`${fn} takes one value`, {
      hint: fn === 'count' ? 'write count(*) to count rows' : `write ${fn}(value)`,
      at,
    })
  }
  const arg = args[0] ?? null
  if (arg !== null && containsAggregate(arg)) {
    throw invalidInput(`${call.name} of an aggregate: aggregates cannot be nested`, {
      hint: 'aggregate the result of this query in a second query',
      at: arg.at,
    })
  }
  const distinct = modifier === 'distinct' && fn !== 'min' && fn !== 'max'
  return { fn, distinct, arg, at, name }
}

/**
 * Return the type of an aggregate over values of `argType` (null for `count(*)`):
 *
 * - count: int64
 * - sum: int64, uint64 or float64, whose overflow is an error, or a decimal with the maximum precision
 * - avg: float64, or a decimal with four more fractional digits
 * - min and max: the type of the values
 *
 * Throws `SchemaValidation` for types that the aggregate does not take.
 */
export function aggregateType(fn: AggregateFunction, argType: DataType | null): DataType {
  if (fn === 'count' || argType === null) return int64
  const type = valueType(argType)
  if (fn === 'min' || fn === 'max') {
    if (isOrdered(type)) return type
  } else if (type.kind === 'null') {
    return fn === 'sum' ? int64 : float64
  } else if (type.kind === 'float') {
    return float64
  } else if (type.kind === 'int') {
    return fn === 'avg' ? float64 : type.signed ? int64 : uint64
  } else if (type.kind === 'decimal') {
    const precision = type.bits === 128 ? 38 : 76
    // Four more fractional digits, if the integer digits leave enough precision.
    const maxScale = precision - (type.precision - type.scale)
    const scale = fn === 'sum' ? type.scale : Math.min(maxScale, type.scale + 4)
    return { ...type, precision, scale }
  }
  throw schemaMismatch(`${fn} does not take values of type ${typeName(argType)}`)
}

function keyOfCall({ fn, distinct, arg }: AggregateCall): string {
  return `${fn} ${distinct} ${arg === null ? '*' : keyOf(arg)}`
}

/** Return a text that is equal for two trees exactly if they differ only in positions. */
function keyOf(expr: Expr): string {
  return JSON.stringify(expr, (name, value: unknown) => {
    if (name === 'at') return undefined
    if (typeof value === 'bigint') return { int: String(value) }
    return value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : value
  })
}

/** Return the direct children of `expr`, in the order that `withChildren` takes them. */
function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'decimal':
    case 'column':
    case 'parameter':
    case 'interval':
      return []
    case 'not':
    case 'negate':
    case 'is':
    case 'cast':
      return [expr.operand]
    case 'binary':
    case 'distinct':
      return [expr.left, expr.right]
    case 'and':
    case 'or':
      return expr.operands
    case 'in':
      return 'kind' in expr.list ? [expr.operand] : [expr.operand, ...expr.list]
    case 'between':
      return [expr.operand, expr.low, expr.high]
    case 'like':
      return expr.escape === null ? [expr.operand, expr.pattern] : [expr.operand, expr.pattern, expr.escape]
    case 'case': {
      const optionalParts = [expr.operand, expr.otherwise].filter(part => part !== null)
      return [...expr.branches.flatMap(({ when, result }) => [when, result]), ...optionalParts]
    }
    case 'call':
      return expr.args
    case 'array':
      return expr.elements
    case 'element':
      return [expr.operand, expr.index]
  }
}

/** Return `expr` with other children. `children` must match `childrenOf(expr)` in number. */
function withChildren(expr: Expr, children: readonly Expr[]): Expr {
  const [first, second, third] = children as [Expr, Expr, Expr]
  switch (expr.kind) {
    case 'literal':
    case 'decimal':
    case 'column':
    case 'parameter':
    case 'interval':
      return expr
    case 'not':
    case 'negate':
    case 'is':
    case 'cast':
      return { ...expr, operand: first }
    case 'binary':
    case 'distinct':
      return { ...expr, left: first, right: second }
    case 'and':
    case 'or':
      return { ...expr, operands: children }
    case 'in':
      return { ...expr, operand: first, list: 'kind' in expr.list ? expr.list : children.slice(1) }
    case 'between':
      return { ...expr, operand: first, low: second, high: third }
    case 'like':
      return { ...expr, operand: first, pattern: second, escape: third ?? null }
    case 'case': {
      const branches = expr.branches.map((_, i) => ({ when: children[2 * i]!, result: children[2 * i + 1]! }))
      const optionalParts = children.slice(2 * branches.length)
      const operand = expr.operand === null ? null : optionalParts[0]!
      return { ...expr, branches, operand, otherwise: expr.otherwise === null ? null : optionalParts.at(-1)! }
    }
    case 'call':
      return { ...expr, args: children }
    case 'array':
      return { ...expr, elements: children }
    case 'element':
      return { ...expr, operand: first, index: second }
  }
}
