/**
 * Evaluates bound expressions over batches, one column at a time.
 *
 * - The result of a predicate is a bitmap (truth.ts). The result of any other expression is an Arrow column. The column
 *   of a constant has one row.
 * - AND and OR evaluate their operands in the order of the binder: cheap operands first, operands that can fail last.
 * - Each operand is evaluated only for rows that the earlier operands did not decide. So `b <> 0 AND a / b > 1` never
 *   divides by zero, and neither does `a / b > 1 AND b <> 0`. An error is thrown only for a row whose result depends on
 *   the value.
 * - An expression that reads a single dictionary column is evaluated once per dictionary entry. Rows then look up the
 *   result.
 */
import type { Batch, Column } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { takeColumn } from '../arrow/take.js'
import { assert } from '../errors.js'
import { Bitset } from '../primitives/bitset.js'
import { columnAt, fieldOf } from './batch-columns.js'
import type { Bound, CallNode, CaseNode, InNode, LikeNode, LogicNode, Operation } from './bound.js'
import type { BoundExpression } from './bound-expression.js'
import { type Call, type Chance, noChance } from './functions/call.js'
import { listElement } from './functions/lists.js'
import { lowerColumn } from './functions/strings.js'
import { calculate } from './kernels/arithmetic.js'
import { castColumn } from './kernels/cast.js'
import { compareOperands } from './kernels/compare.js'
import { decoded, truthPerRow } from './kernels/dictionary.js'
import { choose, interleave, Patchwork, spread } from './kernels/gather.js'
import { likeRows, matches } from './kernels/like.js'
import { memberRows } from './kernels/members.js'
import {
  allRows,
  and,
  columnOfTruth,
  constantTruth,
  isMissing,
  isTruth,
  not,
  or,
  strictTruth,
  type Truth,
  truthOfColumn,
  undecided,
} from './kernels/truth.js'
import { printShort } from './print.js'
import type { CompareOp } from './syntax/syntax.js'
import type { Scalar } from './values/scalar.js'
import { valueType } from './values/types.js'
import {
  bitAt,
  byteRowsOf,
  Constant,
  type Operand,
  operandOf,
  type RowMask,
  scalarAt,
  wordCount,
} from './values/vector.js'

/** The batch and the rows for which a node is evaluated. */
interface Frame {
  readonly batch: Batch
  readonly length: number
  readonly rows: RowMask
  /**
   * Values that replace the only column of the node: the entries of its dictionary, or a single NULL. Null: the column
   * is not replaced.
   */
  readonly standIn: Column | null
  readonly chance: Chance
}

/**
 * Return the rows of `batch`, or of its subset `within`, for which `filter` is TRUE. The batch must contain
 * at least `filter.columns`. Throws `InvalidInput` if an operation fails for a row of the subset: a division
 * by zero, an overflow, or an impossible cast.
 */
export function selectRows(filter: BoundExpression, batch: Batch, within?: Bitset): Bitset {
  const { isTrue } = truthOf(filter.expr, frameOf(filter, batch, within))
  const selected = new Bitset(batch.length, isTrue)
  return within === undefined ? selected : selected.and(within)
}

/**
 * Return the value of an expression for every row of `batch`, as a column of type `bound.type`. With
 * `within`, rows outside the subset have undefined values and cannot fail.
 */
export function evaluate(bound: BoundExpression, batch: Batch, within?: Bitset): Column {
  const frame = frameOf(bound, batch, within)
  return spread(vectorOf(bound.expr, frame), frame.length)
}

/**
 * Return the value of an expression that reads no columns and is not volatile. Throws the same errors as `evaluate`.
 */
export function evaluateConstant(node: Bound): Scalar {
  return scalarAt(constantRow(node), 0)
}

/**
 * Return the value of a constant expression, like `evaluateConstant`, or undefined if it has more than `maxBytes`
 * bytes.
 */
export function evaluateSmallConstant(node: Bound, maxBytes: number): Scalar | undefined {
  const column = constantRow(node)
  return bytesOf(column) > maxBytes ? undefined : scalarAt(column, 0)
}

function constantRow(node: Bound): Column {
  const batch: Batch = { schema: { fields: [] }, length: 1, columns: [] }
  return vectorOf(node, { batch, length: 1, rows: null, standIn: null, chance: noChance }).column
}

/** Count the bytes of the values of a column, without offsets and validity. */
function bytesOf({ values, children }: Column): number {
  return children.reduce((sum, child) => sum + bytesOf(child), values?.byteLength ?? 0)
}

function frameOf({ chance }: BoundExpression, batch: Batch, within: Bitset | undefined): Frame {
  return { batch, length: batch.length, rows: within?.words ?? null, standIn: null, chance }
}

/** Evaluate a predicate for every row of the frame. */
function truthOf(node: Bound, frame: Frame): Truth {
  switch (node.kind) {
    case 'and':
    case 'or':
      return logic(node, frame)
    case 'not':
      return not(truthOf(node.operand, frame))
    case 'literal':
      return constantTruth(node.value as boolean | null, frame.length)
    case 'compare':
    case 'between':
    case 'in':
    case 'like':
    case 'is':
    case 'call':
    case 'case':
      return truthOfConstant(node, frame) ?? truthPerEntry(node, frame) ?? test(node, frame)
    default:
      return truthOfColumn(plain(node, frame), frame.length)
  }
}

/** Evaluate a predicate that is not AND, OR, NOT or a literal. */
function test(node: Operation, frame: Frame): Truth {
  const { length } = frame
  switch (node.kind) {
    case 'compare':
      return compareWith(plain(node.left, frame), node.op, node.right, frame)
    case 'between': {
      const operand = plain(node.operand, frame)
      return and(compareWith(operand, '>=', node.low, frame), compareWith(operand, '<=', node.high, frame))
    }
    case 'in':
      return isMember(node, frame)
    case 'like':
      return isLike(node, frame)
    case 'is':
      return valueType(node.operand.type).kind === 'bool'
        ? isTruth(truthOf(node.operand, frame), node.what)
        : isMissing(plain(node.operand, frame), length)
    case 'case':
      return truthOfCase(node, frame)
    default: {
      const result = call(node as CallNode, frame)
      return 'isTrue' in result ? result : truthOfColumn({ column: result, constant: false }, length)
    }
  }
}

function compareWith(operand: Operand, op: CompareOp, other: Bound, frame: Frame): Truth {
  const written = plain(other, frame)
  const { column, constant } = written
  const { type } = operand.column
  // Strings with 32-bit and 64-bit offsets are comparable, so give both operands the same type.
  const isText = type.kind === 'utf8' && column.type.kind === 'utf8'
  const right = isText ? operandOf({ ...column, type }, constant) : written
  return compareOperands(op, operand, right, frame.length, frame.rows)
}

/** Evaluate a constant predicate once for all rows. Return null if the predicate is not constant. */
function truthOfConstant(node: Operation, frame: Frame): Truth | null {
  const { length } = frame
  if (length === 1 || !node.cost.isConstant) return null
  if (!isNeeded(frame)) return constantTruth(null, length)
  const { isTrue, isNull } = test(node, { ...frame, length: 1, rows: null })
  return constantTruth(isNull?.[0] === 1 ? null : isTrue[0] === 1, length)
}

/**
 * Evaluate a constant expression that is not a predicate, once for all rows. Return null if it is not constant. The
 * result is not cached, because a constant that the binder did not fold may be large.
 */
function constantVector(node: Bound, frame: Frame): Operand | null {
  if (frame.length === 1 || node.kind === 'literal' || !node.cost.isConstant) return null
  const column = isNeeded(frame)
    ? vectorOf(node, { ...frame, length: 1, rows: null }).column
    : nullColumn(node.type, 1)
  return new Constant(column)
}

/**
 * Return whether the frame has rows to evaluate. Without rows, an expression must not be evaluated, because it must not
 * fail.
 */
function isNeeded({ rows, length }: Frame): boolean {
  return rows === null ? length > 0 : !isEmpty(rows)
}

/** Evaluate any expression for every row of the frame. */
function vectorOf(node: Bound, frame: Frame): Operand {
  const constant = constantVector(node, frame)
  if (constant !== null) return constant
  switch (node.kind) {
    case 'literal':
      return node.constant
    case 'column':
      return { column: frame.standIn ?? columnAt(frame.batch, node.path), constant: false }
    case 'field': {
      const { column, constant } = vectorOf(node.operand, frame)
      return operandOf(fieldOf(column, node.index), constant)
    }
    case 'arithmetic':
    case 'cast':
    case 'element':
    case 'list':
    case 'call':
      return vectorPerEntry(node, frame) ?? compute(node, frame)
    case 'case':
      if (node.type.kind !== 'bool') return vectorPerEntry(node, frame) ?? compute(node, frame)
      break
  }
  return { column: columnOfTruth(truthOf(node, frame)), constant: false }
}

/** Evaluate a node that is neither a constant nor a column nor a predicate. */
function compute(node: Operation, frame: Frame): Operand {
  const { length, rows } = frame
  const describe = () => printShort(node)
  let column: Column
  switch (node.kind) {
    case 'arithmetic': {
      const [left, right] = [plain(node.left, frame), plain(node.right, frame)]
      column = calculate({ op: node.op, left, right, type: node.type, length, rows, describe })
      break
    }
    case 'cast':
      column = castColumn(spread(plain(node.operand, frame), length), node.type, node.try, rows, describe)
      break
    case 'element':
      column = listElement(plain(node.operand, frame), plain(node.index, frame), length)
      break
    case 'list': {
      const elements = node.elements.map(element => plain(element, frame))
      column = interleave(elements, node.type, length)
      break
    }
    case 'case':
      column = columnOfCase(node, frame)
      break
    default: {
      const result = call(node as CallNode, frame)
      column = 'isTrue' in result ? columnOfTruth(result) : result
    }
  }
  return { column, constant: false }
}

/**
 * Call `take` for every branch of a CASE that at least one row takes, with the bitmap of these rows. A condition is
 * evaluated only for rows that took no earlier branch. A result is evaluated only for the rows that take its branch.
 */
function branchesOf(node: CaseNode, frame: Frame, take: (result: Bound, rows: Uint32Array) => void): void {
  let open = frame.rows ?? allRows(frame.length)
  for (const { when, result } of node.branches) {
    const { isTrue } = truthOf(when, { ...frame, rows: open })
    const taken = open.map((word, w) => word & isTrue[w]!)
    if (!isEmpty(taken)) take(result, taken)
    open = open.map((word, w) => word & ~isTrue[w]!)
    if (isEmpty(open)) return
  }
  take(node.otherwise, open)
}

function columnOfCase(node: CaseNode, frame: Frame): Column {
  const result = new Patchwork(node.type, frame.length)
  branchesOf(node, frame, (branch, rows) => {
    result.add(plain(branch, { ...frame, rows }), new Bitset(frame.length, rows).toIndices())
  })
  return result.finish()
}

function truthOfCase(node: CaseNode, frame: Frame): Truth {
  const { length } = frame
  const isTrue = new Uint32Array(wordCount(length))
  const isNull = new Uint32Array(wordCount(length))
  branchesOf(node, frame, (branch, rows) => {
    const truth = truthOf(branch, { ...frame, rows })
    for (let w = 0; w < rows.length; w++) {
      isTrue[w]! |= rows[w]! & truth.isTrue[w]!
      if (truth.isNull !== null) isNull[w]! |= rows[w]! & truth.isNull[w]!
    }
  })
  return { length, isTrue, isNull: isEmpty(isNull) ? null : isNull }
}

function isEmpty(words: Uint32Array): boolean {
  for (let w = 0; w < words.length; w++) if (words[w] !== 0) return false
  return true
}

/** Evaluate a node, and decode the result if it is a dictionary column. */
function plain(node: Bound, frame: Frame): Operand {
  const operand = vectorOf(node, frame)
  const { column, constant } = operand
  return column.dictionary === null ? operand : operandOf(decoded(column), constant)
}

function call(node: CallNode, frame: Frame): Column | Truth {
  const { length, rows, chance } = frame
  const { args, type } = node
  const { kernel } = node.callee
  const describe = () => printShort(node)
  if ('lazy' in kernel) {
    const lazyArgs = args.map(arg => (needed: RowMask) => plain(arg, { ...frame, rows: needed }))
    return kernel.lazy(lazyArgs, { type, length, rows, describe, chance })
  }
  const operands = args.map(arg => plain(arg, frame))
  return kernel({ args: operands, type, length, rows, describe, chance } satisfies Call)
}

function logic(node: LogicNode, frame: Frame): Truth {
  const combine = node.kind === 'and' ? and : or
  let result: Truth | null = null
  let rows = frame.rows
  for (const [i, operand] of node.operands.entries()) {
    const truth = truthOf(operand, { ...frame, rows })
    result = result === null ? truth : combine(result, truth)
    if (i === node.operands.length - 1) break
    rows = undecided(node.kind, result, rows)
    if (isEmpty(rows)) break
  }
  assert(result !== null, `${node.kind} has operands`)
  return result
}

function isMember(node: InNode, frame: Frame): Truth {
  const { length, rows } = frame
  const operand = plain(node.operand, frame)
  const { column } = operand
  if (column.type.kind === 'null') return constantTruth(null, length)
  // The operand may be constant if some members are not. Then its column has one row, so it is looked up once.
  const found = memberRows(node.members, column, column.length, operand.constant ? null : rows)
  const isMatch = operand.constant ? constantTruth(found[0] === 1, length).isTrue : found
  let truth = strictTruth(isMatch, [operand], length)
  if (node.hasNull) truth = or(truth, constantTruth(null, length))
  for (const other of node.others) {
    const open = undecided('or', truth, rows)
    truth = or(truth, compareOperands('=', operand, plain(other, { ...frame, rows: open }), length, open))
  }
  return truth
}

function isLike(node: LikeNode, frame: Frame): Truth {
  const { length, rows } = frame
  const { ignoreCase } = node
  const fold = (column: Column) => (ignoreCase ? lowerColumn(column) : column)
  const operand = plain(node.operand, frame)
  const text = fold(operand.column)
  const pattern = plain(node.pattern, frame)
  const operands = [operand, pattern]
  const wanted = pattern.column
  if (!pattern.constant) {
    return strictTruth(likeEach(operandOf(text, operand.constant), wanted, node, rows), operands, length)
  }
  if (wanted.nullCount > 0) return constantTruth(null, length)
  const compiled = node.compiled(scalarAt(wanted, 0) as string)
  return strictTruth(likeRows(compiled, byteRowsOf(text), length, rows), operands, length)
}

/** Evaluate LIKE with a pattern that depends on the row. `wanted`: the pattern of each row. */
function likeEach(text: Operand, wanted: Column, node: LikeNode, rows: RowMask): Uint32Array {
  const { length } = wanted
  const out = new Uint32Array(wordCount(length))
  const { bytes, offsets } = byteRowsOf(text.column)
  for (let i = 0; i < length; i++) {
    const pattern = rows === null || bitAt(rows, i) ? scalarAt(wanted, i) : null
    if (pattern === null) continue
    const compiled = node.compile(pattern as string)
    const row = text.constant ? 0 : i
    const isMatch = matches(compiled, bytes, offsets[row]!, offsets[row + 1]!)
    if (isMatch) out[i >>> 5]! |= 1 << (i & 31)
  }
  return out
}

/** Return the only column that the node reads, if it is a dictionary column. Otherwise return null. */
function soleDictionary({ soleColumn }: Operation, frame: Frame): Column | null {
  const sole = frame.standIn === null ? soleColumn : null
  if (sole === null) return null
  const column = columnAt(frame.batch, sole.path)
  return column.dictionary === null ? null : column
}

/**
 * Evaluate a predicate over one dictionary column, once per dictionary entry. Return null if evaluating it per row is
 * cheaper, or if it does not read a single dictionary column.
 */
function truthPerEntry(node: Operation, frame: Frame): Truth | null {
  const column = soleDictionary(node, frame)
  if (column === null) return null
  const result = node.entryTruths.over(column, frame.rows, (values, rows) =>
    test(node, { ...frame, length: values.length, rows, standIn: values }),
  )
  if (result === null) return null
  return truthPerRow(result.entries, result.ofNull, result.entryOf, frame.length, frame.rows)
}

/**
 * Evaluate an expression that is not a predicate once per dictionary entry. Return null in the same cases as
 * `truthPerEntry`.
 */
function vectorPerEntry(node: Operation, frame: Frame): Operand | null {
  const column = soleDictionary(node, frame)
  if (column === null) return null
  const result = node.entryValues.over(column, frame.rows, (values, rows) =>
    spread(compute(node, { ...frame, length: values.length, rows, standIn: values }), values.length),
  )
  if (result === null) return null
  const { entries, ofNull, entryOf } = result
  const gathered: Operand = { column: takeColumn(entries, entryOf), constant: false }
  if (ofNull === null || ofNull.nullCount > 0) return gathered
  const choice = Uint8Array.from(entryOf, entry => (entry === -1 ? 1 : 0))
  return {
    column: choose([gathered, new Constant(ofNull)], choice, node.type),
    constant: false,
  }
}
