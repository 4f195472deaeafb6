/**
 * Create bound nodes in normal form:
 *
 * - Operations on constants are replaced by their result, and constants have the type of the other operand.
 * - The constant of a comparison is on the right.
 * - Casts bring operands to one type.
 */
import { parseInstant } from '../../arrow/instant.js'
import { equalTypes } from '../../arrow/same-type.js'
import { typeName } from '../../arrow/type-name.js'
import type { DataType } from '../../arrow/types.js'
import {
  cut,
  ErrorCode,
  invalidInput,
  SheafError,
  type SourceSpan,
  schemaMismatch,
  unsupported,
} from '../../errors.js'
import {
  ArithmeticNode,
  BetweenNode,
  type Bound,
  CastNode,
  CompareNode,
  InNode,
  IsNode,
  ListNode,
} from '../bound.js'
import { evaluateSmallConstant } from '../evaluate.js'
import { listOf } from '../functions/signature.js'
import { arithmeticSignature } from '../kernels/arithmetic.js'
import { castable } from '../kernels/cast.js'
import { areComparable, mirrored } from '../kernels/compare.js'
import { printShort } from '../print.js'
import { type Constants, distinctValues } from '../syntax/constant-list.js'
import type { ArithmeticOp, CompareOp } from '../syntax/syntax.js'
import { roundFloat } from '../values/floats.js'
import {
  asDouble,
  decimalLiteral,
  equalValue,
  fitComparison,
  integerLiteral,
  integerRange,
  limitError,
  literalOf,
  numberOfScript,
} from '../values/literal.js'
import { LiteralNode } from '../values/literal-node.js'
import type { Scalar } from '../values/scalar.js'
import { nanosPerUnit } from '../values/temporal.js'
import { commonType, elementType, isNumeric, nullType, uint64, utf8, valueType } from '../values/types.js'
import { hasConstants } from '../values/vector.js'
import {
  combined,
  hasMembers,
  isLiteral,
  isNew,
  isNull,
  negated,
  truthLiteral,
  unknownTruth,
} from './logic.js'

/** Maximum bytes of a folded constant. A limit is needed because a short filter can compute many large constants. */
const largestConstant = 2 ** 16

/**
 * Evaluate a constant node and return its value as a literal. Return the node unchanged in these cases:
 *
 * - The node is not constant, because it reads a column or is volatile.
 * - The evaluation fails. Then the error is raised later, and only if a row needs the value.
 * - The value is large. Then it is computed once per batch.
 */
export function fold(node: Bound): Bound {
  return folded(node) ?? node
}

/** Fold a node as `fold` does, but return null if the evaluation fails. */
function folded(node: Bound): Bound | null {
  for (const operand of node.operands) {
    if (isLiteral(operand) && operand.limit !== undefined) throw limitError(operand.limit)
  }
  if (isLiteral(node) || !hasConstants(node.type) || !isFoldable(node)) return node
  try {
    const value = evaluateSmallConstant(node, largestConstant)
    return value === undefined ? node : new LiteralNode(node.type, value)
  } catch (error) {
    if (error instanceof SheafError && error.code === ErrorCode.InvalidInput) return null
    throw error
  }
}

/**
 * Return whether `fold` may evaluate a node. The node must be constant, and each operand must be a literal or have a
 * type without literals, such as a struct. If the value of the node is small (for example, a length), operands may also
 * be constants that were too large to be folded.
 */
function isFoldable(node: Bound): boolean {
  if (!node.cost.isConstant) return false
  const mayBeLarge = canBeLarge(node.type)
  return (node.operands as readonly Bound[]).every(
    operand => isLiteral(operand) || !hasConstants(operand.type) || (!mayBeLarge && canBeLarge(operand.type)),
  )
}

function canBeLarge(type: DataType): boolean {
  return ['utf8', 'binary', 'list', 'fixed_size_list'].includes(valueType(type).kind)
}

/** Return the text and the type of a node, for a message. */
export function describe(node: Bound): string {
  return `${printShort(node, 80)} (${cut(typeName(node.type))})`
}

/** Create `operand IS NULL`, `IS TRUE` or `IS FALSE`. */
export function asked(operand: Bound, what: IsNode['what']): Bound {
  if (what === 'null' && isLiteral(operand)) return truthLiteral(operand.value === null)
  const isTruthValue = operand.kind === 'is' || (operand.kind === 'not' && operand.operand.kind === 'is')
  if (!isTruthValue) return fold(new IsNode(operand, what))
  return what === 'null' ? truthLiteral(false) : what === 'true' ? operand : negated(operand)
}

/** Create a comparison. Throws `SchemaValidation` if the types are not comparable. */
export function compared(op: CompareOp, left: Bound, right: Bound, at: SourceSpan): Bound {
  if (isLiteral(left) && !isLiteral(right)) return compared(mirrored[op], right, left, at)
  if (isNull(left) || isNull(right)) return unknownTruth
  if (isLiteral(left) && isLiteral(right)) {
    const [a, b] = [fitOperand(left, right), fitOperand(right, left)]
    if (a !== left || b !== right) return compared(op, a, b, at)
  }
  if (!isLiteral(right)) {
    if (!areComparable(valueType(left.type), valueType(right.type))) throw notComparable(left, right, at)
    return fold(new CompareNode(op, left, right))
  }
  if (
    valueType(left.type).kind === 'bool' &&
    (op === '=' || op === '<>') &&
    typeof right.value === 'boolean'
  ) {
    return fold(right.value === (op === '=') ? left : negated(left))
  }
  if (elementType(left.type) !== null) return comparedWithList(op, left, right, at)
  const fitted = fitComparison(left.type, op, right)
  if (fitted === null) {
    // The left constant may be a string that can be parsed as the type of the right constant, for example as a date.
    const fitsMirrored = isLiteral(left) && fitComparison(right.type, op, left) !== null
    if (fitsMirrored) return compared(mirrored[op], right, left, at)
    throw notComparable(left, right, at)
  }
  const constant = new LiteralNode(valueType(left.type), fitted.value)
  return fold(new CompareNode(fitted.op, left, constant))
}

/** Create a comparison of a list operand with a constant list. Converts each constant element from its written form. */
function comparedWithList(op: CompareOp, left: Bound, right: LiteralNode, at: SourceSpan): Bound {
  const equal = elementType(right.type) === null ? null : equalList(left.type, right)
  if (equal === null && !areComparable(left.type, right.type)) throw notComparable(left, right, at)
  const isEquality = op === '=' || op === '<>'
  if (equal !== null || !isEquality) {
    const constant = equal ?? exactList(right, at)
    return fold(new CompareNode(op, left, constant))
  }
  // No list equals the constant, so `=` is FALSE and `<>` is TRUE, or NULL for a NULL list. The comparisons `< []` and
  // `>= []` give these results, because no list is less than the empty list.
  const empty = new LiteralNode(right.type, [])
  return fold(new CompareNode(op === '=' ? '<' : '>=', left, empty))
}

/**
 * Convert a list constant to the list type `type`, the type of the other operand. Return null if no list of this type
 * equals the constant, or if the elements are not comparable.
 */
function equalList(type: DataType, literal: LiteralNode): LiteralNode | null {
  const item = valueType(elementType(type)!)
  const values: Scalar[] = []
  for (const element of elementsOf(literal)) {
    const isInner = elementType(item) !== null && element.value !== null
    const value =
      element.value === null ? null : isInner ? equalList(item, element)?.value : equalValue(item, element)
    if (value === undefined || (value === null && element.value !== null)) return null
    values.push(value)
  }
  return new LiteralNode(listOf(item), values)
}

/**
 * Convert a list constant to a type that holds all its elements exactly as written. Throws `Unsupported` if there is no
 * such type.
 */
function exactList(literal: LiteralNode, at: SourceSpan): LiteralNode {
  const common = unified(elementsOf(literal).map(withDigits))
  const equal = common === null ? null : equalList(listOf(common.type), literal)
  if (equal !== null) return equal
  throw unsupported(`no list type can hold the elements of ${describe(literal)} exactly`, {
    hint: 'CAST the list to the type of the other side',
    at,
  })
}

/** Create `left IS NOT DISTINCT FROM right`: whether the values are equal. Two NULLs are equal. */
export function same(left: Bound, right: Bound, at: SourceSpan): Bound {
  if (isNull(left)) return asked(right, 'null')
  if (isNull(right)) return asked(left, 'null')
  const equal = asked(compared('=', left, right, at), 'true')
  if (isLiteral(left) || isLiteral(right)) return equal
  return combined('or', [equal, combined('and', [asked(left, 'null'), asked(right, 'null')])])
}

/** Create `operand IN (members)`. Constants are converted to the type of the operand. */
export function membership(operand: Bound, members: readonly Bound[], at: SourceSpan): Bound {
  if (members.length === 0) return truthLiteral(false)
  const keys = new Set<unknown>()
  const values: Scalar[] = []
  const others: Bound[] = []
  let hasNull = false
  for (const member of members) {
    if (isNull(member) || operand.type.kind === 'null') {
      hasNull = true
    } else if (!isLiteral(member) || !hasMembers(valueType(operand.type))) {
      const isList =
        isLiteral(member) && elementType(operand.type) !== null && elementType(member.type) !== null
      const other = isList ? equalList(operand.type, member) : member
      const isFitted = isList && other !== null
      if (!isFitted && !areComparable(valueType(operand.type), valueType(member.type)))
        throw notComparable(operand, member, at)
      if (other === null) continue
      others.push(isLiteral(other) ? (coerced(other, valueType(operand.type)) ?? other) : other)
    } else {
      const value = equalValue(operand.type, member)
      if (value === null) throw notComparable(operand, member, at)
      if (value !== undefined && isNew(keys, value)) values.push(value)
    }
  }
  if (others.length === 0) return memberOf(operand, values, hasNull, members[0]!, at)
  return fold(new InNode(operand, { values, hasNull, others }))
}

/** Create `operand IN (constants)` for a list that was read as one array, not as one node per element. */
export function membershipOfMany(operand: Bound, constants: Constants, at: SourceSpan): Bound {
  const values = distinctValues(constants)
  const type = valueType(operand.type)
  const [first] = values
  const isTexts = typeof first === 'string'
  if (type.kind === 'utf8' && isTexts) return memberOf(operand, values, false, literalOf(first), at)
  if (type.kind === 'int' && typeof first === 'bigint') {
    const [least, greatest] = integerRange(type)!
    const isOfType = constants instanceof (type.signed ? BigInt64Array : BigUint64Array) && type.bits === 64
    const fitting = isOfType
      ? values
      : (values as readonly bigint[]).filter(value => value >= least && value <= greatest)
    return memberOf(operand, fitting, false, memberLiteral(first, at), at)
  }
  if (type.kind === 'float' && !isTexts) {
    const fitting = floatsAmong(values as readonly (bigint | number)[], type.bits)
    return memberOf(operand, fitting, false, memberLiteral(first!, at), at)
  }
  return membership(
    operand,
    values.map(value => memberLiteral(value, at)),
    at,
  )
}

function memberLiteral(value: bigint | number | string, at: SourceSpan): LiteralNode {
  if (typeof value === 'string') return literalOf(value)
  return typeof value === 'bigint'
    ? integerLiteral(value, at)
    : numberOfScript(value, 'an element of the list', at)
}

/**
 * Convert `numbers`, which ascend, to floats of `bits` bits without duplicates. Numbers that equal no float are left
 * out. The result is the same as that of `equalValue` for each number.
 */
function floatsAmong(numbers: readonly (bigint | number)[], bits: 16 | 32 | 64): readonly number[] {
  const floats: number[] = []
  for (const number of numbers) {
    const float = roundFloat(bits, Number(number))
    if (isFloat(number, float) && !Object.is(float, floats.at(-1))) floats.push(float)
  }
  return floats
}

/**
 * Return whether `number` counts as equal to `nearest`, the float nearest to it. An integer must be exactly equal.
 * Another number is rounded to the precision of the float, so it is equal unless it is out of range.
 */
function isFloat(number: bigint | number, nearest: number): boolean {
  if (typeof number === 'bigint') return Number.isFinite(nearest) && BigInt(nearest) === number
  if (Number.isSafeInteger(number)) return nearest === number
  return Number.isFinite(nearest) || !Number.isFinite(number)
}

/**
 * Create a membership test. `values`: distinct constants in the operand's type. `hasNull`: whether the list contains
 * NULL. `first`: the first member as written, which the test uses if `values` is empty.
 */
function memberOf(
  operand: Bound,
  values: readonly Scalar[],
  hasNull: boolean,
  first: Bound,
  at: SourceSpan,
): Bound {
  if (values.length === 0) {
    // No value of the operand's type equals a member. So the result is FALSE, or NULL if the operand is NULL.
    return hasNull || isNull(operand) ? unknownTruth : compared('=', operand, first, at)
  }
  if (values.length === 1 && !hasNull) {
    return compared('=', operand, new LiteralNode(valueType(operand.type), values[0]!), at)
  }
  return fold(new InNode(operand, { values, hasNull, others: [] }))
}

/** Create `operand BETWEEN low AND high`. */
export function between(operand: Bound, low: Bound, high: Bound, at: SourceSpan): Bound {
  const comparisons = [compared('>=', operand, low, at), compared('<=', operand, high, at)]
  const bounds = [low, high].map(bound => exactBound(operand, bound))
  const isCheap = operand.kind === 'column' || isLiteral(operand)
  if (isCheap || isNull(low) || isNull(high) || bounds.includes(null)) return combined('and', comparisons)
  return fold(new BetweenNode(operand, bounds[0]!, bounds[1]!))
}

/**
 * Convert a constant bound of BETWEEN to the operand's type. Return null if no value of this type equals the bound.
 * Return other bounds unchanged.
 */
function exactBound(operand: Bound, bound: Bound): Bound | null {
  if (!isLiteral(bound) || isNull(bound)) return bound
  const value = equalValue(operand.type, bound)
  if (value === null || value === undefined) return null
  return new LiteralNode(valueType(operand.type), value)
}

function notComparable(left: Bound, right: Bound, at: SourceSpan): SheafError {
  const [a, b] = [valueType(left.type), valueType(right.type)]
  const opaque = [a, b].find(type => !areComparable(type, type))
  if (opaque !== undefined)
    return unsupported(`values of type ${typeName(opaque)} cannot be compared`, { at })
  if (
    isLiteral(right) &&
    typeof right.value === 'string' &&
    nanosPerUnit(a) !== null &&
    parseInstant(right.value, 'ns') === null
  ) {
    return invalidInput(`${printShort(right)} is not a date or timestamp (ISO 8601)`, {
      hint: "write '2026-01-31' or '2026-01-31T12:00:00Z'",
      at,
    })
  }
  const hint = !isLiteral(right)
    ? 'CAST one of them to the type of the other'
    : isNumeric(a) && b.kind === 'utf8'
      ? 'write a number without quotes, or pass a number or bigint as a parameter'
      : a.kind === 'utf8'
        ? 'put a text in single quotes'
        : undefined
  return schemaMismatch(`cannot compare ${describe(left)} with ${describe(right)}`, { hint, at })
}

/**
 * Create an arithmetic operation. `written`: the operator in the text, for error messages (a negation `-x` is bound as
 * `x * -1`). Throws `SchemaValidation` if the operator does not take the types of the operands.
 */
export function arithmetic(
  op: ArithmeticOp,
  left: Bound,
  right: Bound,
  written: string,
  at: SourceSpan,
): Bound {
  const operands = [fitOperand(left, right), fitOperand(right, left)] as const
  const [a, b] = operands.map(operand => valueType(operand.type)) as [DataType, DataType]
  const signature = arithmeticSignature(op, a, b)
  if (signature === null) {
    throw noArithmetic(left, right, written, at)
  }
  const type = signature.result
  if (isNull(left) || isNull(right)) return new LiteralNode(type, null)
  const [x, y] = [inType(operands[0], signature.left), inType(operands[1], signature.right)]
  return fold(new ArithmeticNode(type, op, x, y))
}

function noArithmetic(left: Bound, right: Bound, written: string, at: SourceSpan): SheafError {
  const isNumber = ({ type }: Bound) => isNumeric(valueType(type)) || type.kind === 'null'
  const isInstant = [left, right].some(({ type }) => nanosPerUnit(valueType(type)) !== null)
  const hint = isInstant ? "write INTERVAL '1 day' for a span of time" : undefined
  if (isInstant || (!isNumber(left) && !isNumber(right) && written !== '-')) {
    return schemaMismatch(`${written} does not take ${describe(left)} and ${describe(right)}`, { hint, at })
  }
  const notNumber = isNumber(left) ? right : left
  return schemaMismatch(`${written} takes numbers, not ${describe(notNumber)}`, {
    hint: 'CAST it to a number',
    at,
  })
}

/** Convert `node` to `type`. The caller must know that a cast to this type exists. */
function inType(node: Bound, type: DataType): Bound {
  return coerced(node, type) ?? fold(new CastNode(type, node, false))
}

/** Create CAST or TRY_CAST. A cast to a dictionary type is a cast to the type of its values. */
export function cast(written: Bound, declared: DataType, isTry: boolean, at: SourceSpan): Bound {
  const type = valueType(declared)
  const item = elementType(type)
  if (isLiteral(written) && written.elements !== undefined && item !== null) {
    const cells = castElements(written.elements, item, isTry, at)
    return equalTypes(cells.type, type) ? cells : fold(new CastNode(type, cells, isTry))
  }
  const operand = type.kind === 'int' ? withDigits(written) : fitConstant(written, type)
  if (!castable(valueType(operand.type), type)) {
    throw schemaMismatch(`cannot cast ${describe(operand)} to ${typeName(type)}`, { at })
  }
  if (isNull(operand)) return new LiteralNode(type, null)
  // TRY_CAST gives NULL for a number with more digits than any type can hold.
  if (isTry && isLiteral(operand) && operand.limit?.kind === 'long') return new LiteralNode(type, null)
  if (equalTypes(operand.type, type)) return withoutWrittenForm(operand)
  const node = new CastNode(type, withoutWrittenForm(operand), isTry)
  const bound = folded(node)
  if (bound !== null) return bound
  if (!isLiteral(operand)) return node
  const shown = typeof operand.value === 'string' ? `'${cut(operand.value)}'` : describe(operand)
  throw invalidInput(`${shown} is not a value of ${typeName(type)}`, {
    hint: 'TRY_CAST gives null instead',
    at,
  })
}

/** Convert a number literal to a decimal, if a decimal type can hold all its digits. Return other nodes unchanged. */
function withDigits(node: Bound): Bound {
  return (isLiteral(node) ? decimalLiteral(node) : null) ?? node
}

/** Cast each element of a list constant from its written form, and return the list. */
function castElements(
  elements: readonly LiteralNode[],
  item: DataType,
  isTry: boolean,
  at: SourceSpan,
): Bound {
  const type = listOf(item)
  const cells = elements.map(element => cast(element, item, isTry, at))
  if (cells.every(isLiteral))
    return new LiteralNode(
      type,
      cells.map(cell => cell.value),
    )
  return new ListNode(type, cells)
}

/** Return the nodes converted to their common type, or null if there is no common type. */
export function unified(
  written: readonly Bound[],
): { readonly type: DataType; readonly nodes: readonly Bound[] } | null {
  const nodes = unifyConstants(written)
  let common: DataType | null = nullType
  for (const node of nodes) common = common === null ? null : commonType(common, node.type)
  if (common === null) return null
  // All strings get one type, whether their columns use 32-bit or 64-bit offsets.
  const type = common.kind === 'utf8' ? utf8 : valueType(common)
  const converted = nodes.map(node => coerced(node, type))
  return converted.every(node => node !== null) ? { type, nodes: converted } : null
}

/**
 * Convert constants to suit the other nodes:
 * - for doubles, if a node is a float that is not a constant
 * - otherwise for the first node that is a decimal or uint64
 */
export function unifyConstants(nodes: readonly Bound[]): readonly Bound[] {
  const special =
    nodes.find(isFloatOfRows) ??
    nodes.find(({ type }) => valueType(type).kind === 'decimal' || equalTypes(valueType(type), uint64))
  return special === undefined ? nodes : nodes.map(node => fitConstant(node, special.type))
}

/** Convert a constant operand to suit the other operand of the same operator. Return other nodes unchanged. */
function fitOperand(node: Bound, other: Bound): Bound {
  return valueType(other.type).kind !== 'float' || isFloatOfRows(other) ? fitConstant(node, other.type) : node
}

/**
 * Return whether a node is a float that is not a constant. Float constants do not count, because a literal such as
 * `0.5` has a float type only by default.
 */
function isFloatOfRows(node: Bound): boolean {
  return !isLiteral(node) && valueType(node.type).kind === 'float'
}

/**
 * Convert a constant for use next to an operand of the type `other`, if the conversion is exact. Return other nodes
 * unchanged.
 *
 * - Next to a decimal, a number with a point or an exponent becomes a decimal.
 * - Next to uint64, an integer that is not negative becomes uint64.
 * - Next to a float, a number with a limit (`NumberLimit`) becomes the nearest double.
 *
 * Throws `InvalidInput` for a number with the limit `rounded` that is not next to a float.
 */
function fitConstant(node: Bound, other: DataType): Bound {
  const type = valueType(other)
  if (!isLiteral(node) || equalTypes(node.type, type)) {
    return isLiteral(node) && type.kind === 'float' ? asDouble(node) : node
  }
  if (type.kind === 'float') return asDouble(node)
  if (node.limit?.kind === 'rounded') throw limitError(node.limit)
  if (type.kind === 'decimal' && node.text !== undefined) return decimalLiteral(node) ?? node
  if (equalTypes(type, uint64) && node.type.kind === 'int' && ((node.value as bigint | null) ?? -1n) >= 0n) {
    return new LiteralNode(uint64, node.value)
  }
  return node
}

/**
 * Return a constant without its written form (`text` and `elements` of `LiteralNode`). Call this when no later
 * conversion needs the written form. Throws `InvalidInput` for a number with a limit (`NumberLimit`).
 */
export function withoutWrittenForm(node: Bound): Bound {
  if (!isLiteral(node)) return node
  if (node.limit !== undefined) throw limitError(node.limit)
  return node.text === undefined && node.elements === undefined
    ? node
    : new LiteralNode(node.type, node.value)
}

/** Return `node` converted implicitly to `type`, or null if there is no implicit conversion. */
export function coerced(node: Bound, type: DataType): Bound | null {
  const from = valueType(node.type)
  if (equalTypes(from, type) || (from.kind === 'utf8' && type.kind === 'utf8'))
    return withoutWrittenForm(node)
  if (isNull(node)) return new LiteralNode(type, null)
  if (isLiteral(node)) {
    if (Array.isArray(node.value) && type.kind === 'list') return coercedList(node, type)
    const value = equalValue(type, node)
    if (value !== undefined && value !== null) return new LiteralNode(type, value)
  }
  // A conversion to an integer drops fractions, so it needs an explicit CAST.
  const cutsFractions = type.kind === 'int' && (from.kind === 'float' || from.kind === 'decimal')
  if (cutsFractions || commonType(from, type) === null || !castable(from, type)) return null
  return fold(new CastNode(type, node, false))
}

/** Return the elements of a list constant as literals, with their written form if the list has one. */
export function elementsOf({ type, value, elements }: LiteralNode): readonly LiteralNode[] {
  const child = elementType(type)!
  return elements ?? (value as readonly Scalar[]).map(cell => new LiteralNode(child, cell))
}

function coercedList(node: LiteralNode, type: DataType & { kind: 'list' }): Bound | null {
  const values: Scalar[] = []
  for (const written of elementsOf(node)) {
    const element = coerced(written, type.child.type)
    if (element === null || !isLiteral(element)) return null
    values.push(element.value)
  }
  return new LiteralNode(type, values)
}
