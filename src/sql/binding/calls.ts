/** Bind calls of functions: find the function, check the arguments, and convert them to the declared types. */
import { typeName } from '../../arrow/type-name.js'
import type { DataType } from '../../arrow/types.js'
import {
  cut,
  invalidInput,
  nearestName,
  quote,
  type SourceSpan,
  schemaMismatch,
  shortList,
  unsupported,
} from '../../errors.js'
import { type Bound, CallNode } from '../bound.js'
import { functionNamed, functionNames, type SqlFunction } from '../functions/functions.js'
import { listOf } from '../functions/signature.js'
import { equalValue } from '../values/literal.js'
import { LiteralNode } from '../values/literal-node.js'
import type { Scalar } from '../values/scalar.js'
import { elementType, valueType } from '../values/types.js'
import { aggregateNames } from './aggregates.js'
import { coerced, elementsOf, fold, unifyConstants } from './build.js'
import { isLiteral, isNull } from './logic.js'
import { rewriteNames } from './rewrites.js'

/** Maximum number of arguments of a call. */
const maxArguments = 1000

/** Throws `InvalidInput` if a call has more arguments than the function takes. */
export function checkCount(name: string, count: number, most: number | undefined, at: SourceSpan): void {
  const limit = most ?? maxArguments
  if (count <= limit) return
  throw invalidInput(`${cut(name)} takes at most ${limit} values, not ${count}`, {
    hint: 'split the call into several calls',
    at,
  })
}

/** Functions of other dialects, and what to write instead. */
const otherDialects: Readonly<Record<string, string>> = {
  percentile_cont: 'write percentile(x, 0.9)',
  quantile_cont: 'write percentile(x, 0.9)',
  quantile: 'write percentile(x, 0.9)',
  approx_percentile_cont: 'write percentile(x, 0.9)',
  approx_median: 'write median(x)',
  approx_distinct: 'write count(DISTINCT x), which is exact',
  approx_count_distinct: 'write count(DISTINCT x), which is exact',
  stddev_samp: 'write stddev(x)',
  var_samp: 'write variance(x)',
  group_concat: "write string_agg(x, ',')",
  listagg: "write string_agg(x, ',')",
  first_value: 'write first(x)',
  last_value: 'write last(x)',
  any_value: 'write first(x) FILTER (WHERE x IS NOT NULL)',
}

/** Return the function with this name. Throws `InvalidInput` if there is none. */
export function knownFunction(name: string, at: SourceSpan): SqlFunction {
  const callee = functionNamed(name)
  if (callee !== undefined) return callee
  const folded = name.toLowerCase()
  const written = Object.hasOwn(otherDialects, folded) ? otherDialects[folded] : undefined
  const near = nearestName(name, [...functionNames, ...rewriteNames, ...aggregateNames])
  throw invalidInput(`no function named ${quote(name)}`, {
    hint: written ?? (near === undefined ? undefined : `did you mean ${near}?`),
    at,
  })
}

/** Functions that search one list for a value, or for the elements of another list. */
const memberFunctions: ReadonlySet<string> = new Set([
  'array_has',
  'array_has_any',
  'array_has_all',
  'array_position',
])

/**
 * Return the arguments of a search in a list, with a constant converted to the type it is compared with. A constant
 * that equals no value of this type becomes NULL, which equals nothing.
 */
function withMembers(callee: SqlFunction, args: readonly Bound[]): readonly Bound[] {
  const [list, wanted] = args
  if (!memberFunctions.has(callee.name) || list === undefined || wanted === undefined) return args
  if (isLiteral(wanted) && elementType(list.type) !== null) {
    const member = memberOf(wanted, valueType(elementType(list.type)!))
    return member === null ? args : args.with(1, member)
  }
  if (isLiteral(list) && elementType(list.type) !== null) {
    const member = memberOf(list, valueType(elementType(wanted.type) ?? wanted.type))
    return member === null ? args : args.with(0, member)
  }
  return args
}

/**
 * Return a constant, or each element of a constant list, as a value of `type`. Return null if the types are not
 * comparable.
 */
function memberOf(constant: LiteralNode, type: DataType): LiteralNode | null {
  if (constant.value === null || constant.type.kind === 'null') return null
  if (elementType(constant.type) === null) {
    const value = equalValue(type, constant)
    return value === null ? null : new LiteralNode(type, value ?? null)
  }
  const values: Scalar[] = []
  for (const element of elementsOf(constant)) {
    const value = element.value === null ? undefined : equalValue(type, element)
    if (value === null) return null
    values.push(value ?? null)
  }
  return new LiteralNode(listOf(type), values)
}

/** Functions that compare the list elements with their second argument. Here NULL equals NULL. */
const comparing = /^array_(positions|remove|replace)/

/** Position of the list argument, for functions that insert the other arguments into the list. */
const listPositions: Readonly<Record<string, number>> = { array_append: 0, array_prepend: 1 }

/**
 * Return the arguments of a call that compares or inserts elements, with constants converted to the element type. Then
 * a string next to dates is a date, and a number next to decimals keeps all its digits.
 */
function withElements(callee: SqlFunction, args: readonly Bound[]): readonly Bound[] {
  const compares = comparing.test(callee.name)
  const listAt = compares ? 0 : listPositions[callee.name]
  const item = listAt === undefined || args[listAt] === undefined ? null : elementType(args[listAt].type)
  if (item === null) return args
  const type = valueType(item)
  const elements = callee.name.startsWith('array_replace') ? 3 : 2
  return args.map((arg, i) => {
    if (i === listAt || i >= elements || !isLiteral(arg) || isNull(arg)) return arg
    if (!isConverted(arg.type, type, compares && i === 1)) return arg
    const value = equalValue(type, arg)
    return value === null || value === undefined ? arg : new LiteralNode(type, value)
  })
}

/**
 * Return whether a constant is converted to the element type. An integer next to integers keeps its own type, as in
 * DataFusion.
 */
function isConverted(type: DataType, element: DataType, isCompared: boolean): boolean {
  if (elementType(type) !== null) return false
  if (type.kind === element.kind) return isCompared && type.kind === 'float'
  return isCompared || type.kind === 'utf8' || element.kind === 'decimal' || element.kind === 'float'
}

/**
 * Create a call. The arguments are converted to the types that the function declares. Throws `SchemaValidation` if they
 * do not fit, `Unsupported` if an argument must be a constant, and `InvalidInput` for too many arguments.
 */
export function called(callee: SqlFunction, written: readonly Bound[], at: SourceSpan): Bound {
  checkCount(callee.name, written.length, callee.most, at)
  const args = withElements(callee, withMembers(callee, unifyConstants(written)))
  if (callee.name === 'array_has' && args.length === 2 && isNull(args[1]!) && !isNull(written[1]!)) {
    // Conversion made this constant NULL because no element can equal it. So the call is FALSE, and NULL only for a NULL list.
    const nothing = new LiteralNode(listOf(args[1]!.type), [null])
    return called(functionNamed('array_has_any')!, [args[0]!, nothing], at)
  }
  const signature = callee.sign(
    args.map(arg => valueType(arg.type)),
    args.map(arg => (isLiteral(arg) ? arg.value : undefined)),
  )
  const mismatch = () => {
    const types = shortList(args.map(arg => typeName(arg.type)))
    return schemaMismatch(`${callee.name} does not take (${types})`, { hint: `write ${callee.usage}`, at })
  }
  if (signature === null) throw mismatch()
  if (callee.constant !== undefined && !isLiteral(args[callee.constant]!)) {
    throw unsupported(`argument ${callee.constant + 1} of ${callee.name} must be a constant`, {
      hint: `write ${callee.usage}`,
      at,
    })
  }
  const fitted = args.map((arg, i) => {
    const bound = coerced(arg, signature.args[i]!)
    if (bound === null) throw mismatch()
    return bound
  })
  return fold(new CallNode(signature.result, callee, fitted))
}
