/**
 * Separate the aggregate calls of an expression from the rest. For example, `sum(x) / count(*) + 1` becomes the
 * expression `#0 / #1 + 1` and a list of two aggregate calls. The query computes each call per group and stores the
 * results in columns named `#0` and `#1`. Then it binds the remaining expression to a schema with these columns.
 */
import { typeName } from '../../arrow/type-name.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput, type SourceSpan, schemaMismatch } from '../../errors.js'
import type { Bound } from '../bound.js'
import { listOf } from '../functions/signature.js'
import { parseExpression } from '../syntax/parse.js'
import type { CallExpr, Expr } from '../syntax/syntax.js'
import { float64, int64, isOrdered, uint64, valueType } from '../values/types.js'

export type AggregateFunction =
  | 'count'
  | 'sum'
  | 'min'
  | 'max'
  | 'avg'
  | 'median'
  | 'percentile'
  | 'stddev'
  | 'stddev_pop'
  | 'variance'
  | 'var_pop'
  | 'mode'
  | 'string_agg'
  | 'array_agg'
  | 'first'
  | 'last'

/** One call of an aggregate function in the `select` of a query. */
export interface AggregateCall {
  readonly fn: AggregateFunction
  /**
   * Whether the call has DISTINCT. Always false for `min` and `max`, because DISTINCT does not change their results.
   */
  readonly distinct: boolean
  /** The first argument. Null for `count(*)`. */
  readonly arg: Expr | null
  /** The second argument: the fraction of `percentile` or the separator of `string_agg`. Null for other functions. */
  readonly option: Expr | null
  /** The condition of FILTER. Null if the call has no FILTER. */
  readonly filter: Expr | null
  readonly at: SourceSpan
  /** Name of the column that holds the result. */
  readonly name: string
}

const aggregateFunctions: Readonly<Record<string, AggregateFunction>> = {
  count: 'count',
  approx_distinct: 'count',
  sum: 'sum',
  min: 'min',
  max: 'max',
  avg: 'avg',
  mean: 'avg',
  median: 'median',
  percentile: 'percentile',
  stddev: 'stddev',
  stddev_pop: 'stddev_pop',
  variance: 'variance',
  var_pop: 'var_pop',
  mode: 'mode',
  string_agg: 'string_agg',
  array_agg: 'array_agg',
  first: 'first',
  last: 'last',
}

/** The aggregates that take a second, constant argument. The values are example calls for error messages. */
const withOption: Partial<Readonly<Record<AggregateFunction, string>>> = {
  percentile: 'percentile(x, 0.9)',
  string_agg: "string_agg(x, ', ')",
}

/** Aggregates whose result is the same with and without DISTINCT. */
const ignoringDistinct: ReadonlySet<AggregateFunction> = new Set(['min', 'max'])

/** Aggregates for which DISTINCT is an error. */
const withoutDistinct: ReadonlySet<AggregateFunction> = new Set(['mode', 'first', 'last'])

/** Names of all aggregate functions. */
export const aggregateNames: readonly string[] = Object.keys(aggregateFunctions)

/** Return the aggregate function with this name, ignoring case. Return undefined for any other name. */
export function aggregateNamed(name: string): AggregateFunction | undefined {
  const folded = name.toLowerCase()
  return Object.hasOwn(aggregateFunctions, folded) ? aggregateFunctions[folded] : undefined
}

/**
 * Return whether a text is an expression that contains an aggregate call. Return false for a text with a syntax error.
 */
export function isAggregate(text: string): boolean {
  try {
    return containsAggregate(parseExpression(text))
  } catch {
    // Ignore the error here, because the query reports it when it binds the text.
    return false
  }
}

/** Return whether an expression contains a call of an aggregate. */
export function containsAggregate(expr: Expr): boolean {
  if (expr.kind === 'call' && aggregateNamed(expr.name) !== undefined) return true
  return childrenOf(expr).some(containsAggregate)
}

/**
 * Replace each aggregate call in `expr` by a column, and collect the calls. Equal calls share a column.
 *
 * - `earlier`: the calls of the preceding expressions of the same select. The returned list begins with these calls,
 *   and equal calls in `expr` use their columns.
 * - `prefix`: the columns are named by this prefix and the index of the call in the list.
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

/**
 * Replace columns in `expr` by other expressions, except inside aggregate calls. `treeOf`: returns the syntax tree of
 * the expression for a column name, or undefined to keep the column. Paths such as `a.b` are kept.
 */
export function replaceNames(expr: Expr, treeOf: (name: string) => Expr | undefined): Expr {
  if (expr.kind === 'call' && aggregateNamed(expr.name) !== undefined) return expr
  if (expr.kind === 'column') {
    const tree = expr.path.length === 1 ? treeOf(expr.path[0]!.name) : undefined
    // The root of the inserted tree gets the position of the name, so that errors point into the text of `expr`.
    return tree === undefined ? expr : { ...tree, at: expr.at }
  }
  return withChildren(
    expr,
    childrenOf(expr).map(child => replaceNames(child, treeOf)),
  )
}

function aggregateCall(fn: AggregateFunction, call: CallExpr, name: string): AggregateCall {
  const { args, modifier, filter, at } = call
  // The exact number of distinct values is a valid answer for an approximate number.
  const isOfDistinct = call.name.toLowerCase() === 'approx_distinct'
  const isCountOfRows = fn === 'count' && modifier === 'star' && !isOfDistinct
  const usage = withOption[fn]
  const count = isCountOfRows ? 0 : usage === undefined ? 1 : 2
  if (args.length !== count || (modifier === 'star' && !isCountOfRows)) {
    throw invalidInput(`${call.name} takes ${usage === undefined ? 'one value' : 'two values'}`, {
      hint:
        fn === 'count' && !isOfDistinct
          ? 'write count(*) to count rows'
          : `write ${usage ?? `${call.name}(value)`}`,
      at,
    })
  }
  for (const part of filter === null ? args : [...args, filter]) {
    if (!containsAggregate(part)) continue
    throw invalidInput(`${call.name} of an aggregate: aggregates cannot be nested`, {
      hint: 'aggregate the result of this query in a second query',
      at: part.at,
    })
  }
  if (modifier === 'distinct' && withoutDistinct.has(fn)) {
    throw invalidInput(`${fn} does not take DISTINCT`, { hint: `write ${fn}(value)`, at })
  }
  const distinct = (modifier === 'distinct' || isOfDistinct) && !ignoringDistinct.has(fn)
  return { fn, distinct, arg: args[0] ?? null, option: args[1] ?? null, filter, at, name }
}

/**
 * Return the value of the second argument of `percentile` or `string_agg`. Throws `InvalidInput` if the argument is not
 * a constant, or not a value that the function takes.
 */
export function aggregateOption(fn: AggregateFunction, option: Bound, at: SourceSpan): number | string {
  const value = option.kind === 'literal' ? option.value : null
  const hint = `write ${withOption[fn]}`
  if (fn === 'string_agg') {
    if (typeof value === 'string') return value
    throw invalidInput('the separator of string_agg must be a constant text', { hint, at })
  }
  const { type } = option
  const fraction = type.kind === 'decimal' ? Number(value) / 10 ** type.scale : Number(value)
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  if (isNumber && (type.kind === 'decimal' || type.kind === 'int' || type.kind === 'float')) {
    if (fraction >= 0 && fraction <= 1) return fraction
    const of100 = fraction > 1 && fraction <= 100 ? `write percentile(x, ${fraction / 100})` : hint
    throw invalidInput(`the fraction of percentile must be a number from 0 to 1, not ${fraction}`, {
      hint: of100,
      at,
    })
  }
  throw invalidInput('the fraction of percentile must be a constant number from 0 to 1', { hint, at })
}

/**
 * Return the result type of an aggregate. `argType`: the type of its first argument, null for `count(*)`. The result
 * types:
 *
 * - count: int64
 * - sum: int64 or uint64 for integers (an overflow is an error), float64 for floats, or a decimal with maximum
 *   precision
 * - avg: float64, or a decimal with four more fractional digits
 * - median, percentile, stddev and variance: float64
 * - array_agg: a list of the values
 * - all others: the type of the values
 *
 * Throws `SchemaValidation` if the aggregate does not take `argType`. `at`: the position of the call, for this error.
 */
export function aggregateType(
  fn: AggregateFunction,
  argType: DataType | null,
  at?: SourceSpan | undefined,
): DataType {
  if (fn === 'count' || argType === null) return int64
  const type = resultType(fn, valueType(argType))
  if (type !== null) return type
  throw schemaMismatch(`${fn} does not take values of type ${typeName(argType)}`, { at })
}

/** Return the result type as `aggregateType` does, or null if the aggregate does not take values of `type`. */
function resultType(fn: Exclude<AggregateFunction, 'count'>, type: DataType): DataType | null {
  switch (fn) {
    case 'min':
    case 'max':
    case 'mode':
      return isOrdered(type) ? type : null
    case 'first':
    case 'last':
      return type
    case 'array_agg':
      return listOf(type)
    case 'string_agg':
      return type.kind === 'utf8' ? type : type.kind === 'null' ? { kind: 'utf8', large: false } : null
    case 'sum':
      return sumType(type)
    case 'avg':
      return type.kind === 'decimal' ? averageType(type) : sumType(type) && float64
    default:
      return sumType(type) && float64
  }
}

function sumType(type: DataType): DataType | null {
  switch (type.kind) {
    case 'null':
      return int64
    case 'float':
      return float64
    case 'int':
      return type.signed ? int64 : uint64
    case 'decimal':
      return { ...type, precision: maxPrecision(type) }
    default:
      return null
  }
}

type DecimalType = DataType & { kind: 'decimal' }

function averageType(type: DecimalType): DataType {
  const precision = maxPrecision(type)
  // Add four fractional digits, or fewer if the integer digits do not leave enough precision.
  const maxScale = precision - (type.precision - type.scale)
  return { ...type, precision, scale: Math.min(maxScale, type.scale + 4) }
}

function maxPrecision({ bits }: DecimalType): number {
  return bits === 128 ? 38 : 76
}

function keyOfCall({ fn, distinct, arg, option, filter }: AggregateCall): string {
  return [fn, distinct, ...[arg, option, filter].map(part => (part === null ? '*' : keyOf(part)))].join(' ')
}

/** Serialize a syntax tree without the positions in the text, so that equal expressions have equal keys. */
function keyOf(expr: Expr): string {
  return JSON.stringify(expr, (name, value: unknown) => {
    if (name === 'at') return undefined
    if (typeof value === 'bigint') return { int: String(value) }
    return value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : value
  })
}

/** Return the direct children of `expr`, in the order that `withChildren` expects. */
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
      return expr.filter === null ? expr.args : [...expr.args, expr.filter]
    case 'array':
      return expr.elements
    case 'element':
      return [expr.operand, expr.index]
  }
}

/** Return a copy of `expr` with other direct children. `children`: as many as `childrenOf(expr)`, in the same order. */
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
    case 'call': {
      const count = expr.args.length
      return { ...expr, args: children.slice(0, count), filter: children[count] ?? null }
    }
    case 'array':
      return { ...expr, elements: children }
    case 'element':
      return { ...expr, operand: first, index: second }
  }
}
