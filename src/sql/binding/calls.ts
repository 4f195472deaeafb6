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
import { otherDialectHint } from './other-dialects.js'
import { rewriteNames } from './rewrites.js'

/** Maximum number of arguments of a call. */
const maxArguments = 1000

/**
 * Check the number of arguments of a call. Throws `InvalidInput` if it is above `most`. `most` undefined:
 * `maxArguments`.
 */
export function checkCount(name: string, count: number, most: number | undefined, at: SourceSpan): void {
  const limit = most ?? maxArguments
  if (count <= limit) return
  throw invalidInput(`${cut(name)} takes at most ${limit} values, not ${count}`, {
    hint: 'split the call into several calls',
    at,
  })
}

/** Return the function with this name. Throws `InvalidInput` for an unknown name. */
export function knownFunction(name: string, at: SourceSpan): SqlFunction {
  const callee = functionNamed(name)
  if (callee !== undefined) return callee
  const written = otherDialectHint(name)
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
 * Return the arguments of a call, converted for the comparison if the function searches a list. The wanted constant
 * gets the element type of the list, or a constant list gets the type of the wanted value. A constant that equals no
 * value of the type becomes NULL, because NULL equals nothing.
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
 * Convert a constant, or each element of a constant list, to `type`. A constant that equals no value of the type
 * becomes NULL. Return null if the constant is NULL, or if the types are not comparable.
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

/** Names of functions that compare list elements with their second argument. For these functions, NULL equals NULL. */
const comparing = /^array_(positions|remove|replace)/

/** Functions that insert one argument into a list, with the index of the list argument. */
const listPositions: Readonly<Record<string, number>> = { array_append: 0, array_prepend: 1 }

/**
 * Return the arguments of a call. If the function compares or inserts elements, constants are converted to the element
 * type of the list. So a string becomes a date for a list of dates, and a number keeps all its digits for a list of
 * decimals.
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
 * Return whether `withElements` converts a constant of type `type` to the type `element`. `isCompared`: whether the
 * function compares the constant with elements. As in DataFusion, an integer for a list of integers keeps its own type.
 */
function isConverted(type: DataType, element: DataType, isCompared: boolean): boolean {
  if (elementType(type) !== null) return false
  if (type.kind === element.kind) return isCompared && type.kind === 'float'
  return isCompared || type.kind === 'utf8' || element.kind === 'decimal' || element.kind === 'float'
}

/**
 * Create a call, with the arguments converted to the types that the function declares. Throws `SchemaValidation` if the
 * function does not take the arguments, `Unsupported` if an argument must be a constant, and `InvalidInput` for too
 * many arguments.
 */
export function called(callee: SqlFunction, written: readonly Bound[], at: SourceSpan): Bound {
  checkCount(callee.name, written.length, callee.most, at)
  const args = withElements(callee, withMembers(callee, unifyConstants(written)))
  if (callee.name === 'array_has' && args.length === 2 && isNull(args[1]!) && !isNull(written[1]!)) {
    // No element can equal the written constant, so the conversion made it NULL. The result must be FALSE, or NULL for
    // a NULL list. `array_has_any` gives these results.
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
