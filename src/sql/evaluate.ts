/**
 * Bound expressions over batches, a column at a time.
 *
 * - Predicates are bitmaps (truth.ts), other expressions Arrow columns; a constant stays one row.
 * - AND and OR run their operands in the order they were bound in, cheapest first and those that can fail last, each
 *   only for rows the ones before left open. So `b <> 0 AND a / b > 1` never divides by zero, in whichever order it is
 *   written; an error is raised only for a row that needs the value.
 * - What reads one dictionary column and nothing else is computed once per entry, then looked up per row.
 */
import type { Batch, Column } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { takeColumn } from '../arrow/take.js'
import { assert } from '../errors.js'
import { Bitset } from '../primitives/bitset.js'
import { columnAt, fieldOf, soleColumn } from './batch-columns.js'
import type { Bound, BoundExpression, CallNode, CaseNode, InNode, LikeNode, LogicNode } from './bound.js'
import { costOf } from './cost.js'
import { type Call, type Chance, noChance } from './functions/call.js'
import { listElement } from './functions/lists.js'
import { lowerColumn } from './functions/strings.js'
import { calculate } from './kernels/arithmetic.js'
import { castColumn } from './kernels/cast.js'
import { compareOperands } from './kernels/compare.js'
import { decoded, truthPerRow } from './kernels/dictionary.js'
import { choose, interleave, Patchwork, spread } from './kernels/gather.js'
import { compileLike, type LikePattern, likeRows, matches, withBackslash } from './kernels/like.js'
import { type Members, memberRows, membersOf } from './kernels/members.js'
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
import { EntryCache } from './per-entry.js'
import { printShort } from './print.js'
import type { CompareOp } from './syntax/syntax.js'
import type { LiteralNode } from './values/literal-node.js'
import type { Scalar } from './values/scalar.js'
import { valueType } from './values/types.js'
import {
  bitAt,
  byteRowsOf,
  columnOfScalars,
  type Operand,
  type RowMask,
  scalarAt,
  wordCount,
} from './values/vector.js'

/** Where a node is evaluated. */
interface Frame {
  readonly batch: Batch
  readonly length: number
  readonly rows: RowMask
  /** Stands in for the one column the node reads: the entries of its dictionary, or a null. */
  readonly stand: Column | null
  readonly chance: Chance
}

/**
 * The rows of `batch`, or of its subset `within`, for which `filter` is TRUE. The batch holds at least
 * `filter.columns`. Throws code 13 where a row of the subset makes an operation fail (a division by zero, an
 * overflow, a value that cannot be cast).
 */
export function selectRows(filter: BoundExpression, batch: Batch, within?: Bitset): Bitset {
  const { isTrue } = truthOf(filter.expr, frameOf(filter, batch, within))
  const selected = new Bitset(batch.length, isTrue)
  return within === undefined ? selected : selected.and(within)
}

/**
 * The value of an expression for every row of `batch`, of type `bound.type`. With `within`, other rows hold
 * anything and cannot fail.
 */
export function evaluate(bound: BoundExpression, batch: Batch, within?: Bitset): Column {
  const frame = frameOf(bound, batch, within)
  return spread(vectorOf(bound.expr, frame), frame.length)
}

/** The value of an expression without columns that is not volatile. Throws what evaluating it throws. */
export function evaluateConstant(node: Bound): Scalar {
  return scalarAt(constantRow(node), 0)
}

/** As `evaluateConstant`; undefined when the value takes more than `maxBytes`. */
export function evaluateSmallConstant(node: Bound, maxBytes: number): Scalar | undefined {
  const column = constantRow(node)
  return bytesOf(column) > maxBytes ? undefined : scalarAt(column, 0)
}

function constantRow(node: Bound): Column {
  const batch: Batch = { schema: { fields: [] }, length: 1, columns: [] }
  return vectorOf(node, { batch, length: 1, rows: null, stand: null, chance: noChance }).column
}

/** What the values of a column take, without what says where they are. */
function bytesOf({ values, children }: Column): number {
  return children.reduce((sum, child) => sum + bytesOf(child), values?.byteLength ?? 0)
}

function frameOf({ chance }: BoundExpression, batch: Batch, within: Bitset | undefined): Frame {
  return { batch, length: batch.length, rows: within?.words ?? null, stand: null, chance }
}

/** A predicate for every row. */
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

/** A predicate that is not made of predicates alone. */
function test(node: Bound, frame: Frame): Truth {
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
  const { column, constant } = plain(other, frame)
  const { type } = operand.column
  // Texts are of one type, however their offsets are stored.
  const isText = type.kind === 'utf8' && column.type.kind === 'utf8'
  const right = { column: isText ? { ...column, type } : column, constant }
  return compareOperands(op, operand, right, frame.length, frame.rows)
}

/** A predicate that is the same for every row, decided once; null for others. */
function truthOfConstant(node: Bound, frame: Frame): Truth | null {
  const { length } = frame
  if (length === 1 || !costOf(node).isConstant) return null
  if (!isNeeded(frame)) return constantTruth(null, length)
  const { isTrue, isNull } = test(node, { ...frame, length: 1, rows: null })
  return constantTruth(isNull?.[0] === 1 ? null : isTrue[0] === 1, length)
}

/** As `truthOfConstant`, for any other value. It is not kept: what was not folded may be large. */
function constantVector(node: Bound, frame: Frame): Operand | null {
  if (frame.length === 1 || node.kind === 'literal' || !costOf(node).isConstant) return null
  const column = isNeeded(frame)
    ? vectorOf(node, { ...frame, length: 1, rows: null }).column
    : nullColumn(node.type, 1)
  return { column, constant: true }
}

/** Whether any row is asked for: where none is, nothing may fail. */
function isNeeded({ rows, length }: Frame): boolean {
  return rows === null ? length > 0 : !isEmpty(rows)
}

/** Any expression for every row. */
function vectorOf(node: Bound, frame: Frame): Operand {
  const constant = constantVector(node, frame)
  if (constant !== null) return constant
  switch (node.kind) {
    case 'literal':
      return { column: constantColumn(node), constant: true }
    case 'column':
      return { column: frame.stand ?? columnAt(frame.batch, node.path), constant: false }
    case 'field': {
      const { column, constant } = vectorOf(node.operand, frame)
      return { column: fieldOf(column, node.index), constant }
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

const constantColumns = new WeakMap<LiteralNode, Column>()

/** The constant as one row. */
function constantColumn(node: LiteralNode): Column {
  let column = constantColumns.get(node)
  if (column === undefined) {
    column = columnOfScalars(node.type, [node.value])
    constantColumns.set(node, column)
  }
  return column
}

/** A value that is neither constant, column nor predicate. */
function compute(node: Bound, frame: Frame): Operand {
  const { length, rows } = frame
  const describe = () => printShort(node)
  let column: Column
  switch (node.kind) {
    case 'arithmetic': {
      const [left, right] = [plain(node.left, frame), plain(node.right, frame)]
      column = calculate(node.op, left, right, node.type, length, rows, describe)
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
 * Runs `take` for every branch of a CASE that some row takes, with the rows that do; a condition is evaluated for the
 * rows that the ones before left open, a result for the rows that take it.
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

/** A value whose dictionary, if it has one, is resolved. */
function plain(node: Bound, frame: Frame): Operand {
  const { column, constant } = vectorOf(node, frame)
  return { column: decoded(column), constant }
}

function call({ callee, args, type }: CallNode, frame: Frame): Column | Truth {
  const { length, rows, chance } = frame
  const { kernel } = callee
  const describe = () => printShort({ kind: 'call', callee, args, type })
  if ('lazy' in kernel) {
    const lazily = args.map(arg => (needed: RowMask) => plain(arg, { ...frame, rows: needed }))
    return kernel.lazy(lazily, { type, length, rows, describe, chance })
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

const memberSets = new WeakMap<InNode, Members>()

function isMember(node: InNode, frame: Frame): Truth {
  const { length, rows } = frame
  const operand = plain(node.operand, frame)
  const { column } = operand
  if (column.type.kind === 'null') return constantTruth(null, length)
  let members = memberSets.get(node)
  if (members === undefined) {
    members = membersOf(column.type, node.values)
    memberSets.set(node, members)
  }
  // A constant beside members that are none is looked up once.
  const hits = memberRows(members, column, column.length, operand.constant ? null : rows)
  const isHit = operand.constant ? constantTruth(hits[0] === 1, length).isTrue : hits
  let truth = strictTruth(isHit, [operand], length)
  if (node.hasNull) truth = or(truth, constantTruth(null, length))
  for (const other of node.others) {
    const open = undecided('or', truth, rows)
    truth = or(truth, compareOperands('=', operand, plain(other, { ...frame, rows: open }), length, open))
  }
  return truth
}

const patterns = new WeakMap<LikeNode, LikePattern>()

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
    const texts = { column: text, constant: operand.constant }
    return strictTruth(likeEach(texts, wanted, node, rows), operands, length)
  }
  if (wanted.nullCount > 0) return constantTruth(null, length)
  let compiled = patterns.get(node)
  if (compiled === undefined) {
    compiled = compiledFor(node, scalarAt(wanted, 0) as string)
    patterns.set(node, compiled)
  }
  return strictTruth(likeRows(compiled, byteRowsOf(text), length, rows), operands, length)
}

/** The escape character is looked for in the pattern as it is written: `A` is none where that is `a`. */
function compiledFor({ ignoreCase, escape: escapeCharacter }: LikeNode, pattern: string): LikePattern {
  return ignoreCase
    ? compileLike(withBackslash(pattern, escapeCharacter).toLowerCase(), '\\')
    : compileLike(pattern, escapeCharacter)
}

/** LIKE with a pattern of its own for every row. */
function likeEach(text: Operand, wanted: Column, node: LikeNode, rows: RowMask): Uint32Array {
  const { length } = wanted
  const out = new Uint32Array(wordCount(length))
  const { bytes, offsets } = byteRowsOf(text.column)
  for (let i = 0; i < length; i++) {
    const pattern = rows === null || bitAt(rows, i) ? scalarAt(wanted, i) : null
    if (pattern === null) continue
    const compiled = compiledFor(node, pattern as string)
    const row = text.constant ? 0 : i
    const isHit = matches(compiled, bytes, offsets[row]!, offsets[row + 1]!)
    if (isHit) out[i >>> 5]! |= 1 << (i & 31)
  }
  return out
}

const entryTruths = new EntryCache<Truth>()
const entryVectors = new EntryCache<Column>()

/** The dictionary column that is all the node reads, or null. */
function soleDictionary(node: Bound, frame: Frame): Column | null {
  const sole = frame.stand === null ? soleColumn(node) : null
  if (sole === null) return null
  const column = columnAt(frame.batch, sole.path)
  return column.dictionary === null ? null : column
}

/** A predicate of one dictionary column by way of its entries; null where rows are better looked at themselves. */
function truthPerEntry(node: Bound, frame: Frame): Truth | null {
  const column = soleDictionary(node, frame)
  if (column === null) return null
  const result = entryTruths.over(node, column, frame.rows, (values, rows) =>
    test(node, { ...frame, length: values.length, rows, stand: values }),
  )
  if (result === null) return null
  return truthPerRow(result.entries, result.ofNull, result.entryOf, frame.length, frame.rows)
}

/** As `truthPerEntry`, for any other value. */
function vectorPerEntry(node: Bound, frame: Frame): Operand | null {
  const column = soleDictionary(node, frame)
  if (column === null) return null
  const result = entryVectors.over(node, column, frame.rows, (values, rows) =>
    spread(compute(node, { ...frame, length: values.length, rows, stand: values }), values.length),
  )
  if (result === null) return null
  const { entries, ofNull, entryOf } = result
  const gathered = { column: takeColumn(entries, entryOf), constant: false }
  if (ofNull === null || ofNull.nullCount > 0) return gathered
  const choice = Uint8Array.from(entryOf, entry => (entry === -1 ? 1 : 0))
  return {
    column: choose([gathered, { column: ofNull, constant: true }], choice, node.type),
    constant: false,
  }
}
