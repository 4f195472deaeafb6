/**
 * Bound expressions over batches, a column at a time.
 *
 * - Predicates are bitmaps (truth.ts), other expressions Arrow columns; a constant stays one row.
 * - AND and OR run their operands cheapest first, those that can fail last, each only for rows the ones before
 *   left open. So `b <> 0 AND a / b > 1` never divides by zero, in whichever order it is written; an error is
 *   raised only for a row that needs the value.
 * - What reads one dictionary column and nothing else is computed once per entry, then looked up per row.
 */
import type { Batch, Column } from '../arrow/column.js'
import { nullColumn } from '../arrow/fill.js'
import { takeColumn } from '../arrow/take.js'
import { assert } from '../errors.js'
import { Bitset } from '../primitives/bitset.js'
import { calculate } from './arithmetic.js'
import { columnAt, soleColumn } from './batch-columns.js'
import type { Bound, BoundExpression, CallNode, InNode, LikeNode, LogicNode, Scalar } from './bound.js'
import type { Call } from './call.js'
import { castColumn } from './cast.js'
import { compareOperands } from './compare.js'
import { costOf, inOrder } from './cost.js'
import { decoded, dictionaryRows, truthPerRow } from './dictionary.js'
import { functionNamed } from './functions.js'
import { choose, spread } from './gather.js'
import { compileLike, type LikePattern, likeRows, matches } from './like.js'
import { listElement } from './lists.js'
import { type Members, memberRows, membersOf } from './members.js'
import { printBound } from './print.js'
import { lowerColumn } from './strings.js'
import {
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
} from './truth.js'
import { valueType } from './types.js'
import {
  bitAt,
  byteRowsOf,
  columnOfScalars,
  type Operand,
  type RowMask,
  scalarAt,
  wordCount,
} from './vector.js'

/** Where a node is evaluated. */
interface Frame {
  readonly batch: Batch
  readonly length: number
  readonly rows: RowMask
  /** Stands in for the one column the node reads: the entries of its dictionary, or a null. */
  readonly stand: Column | null
}

/**
 * The rows of `batch`, or of its subset `within`, for which `filter` is TRUE. The batch holds at least
 * `filter.columns`. Throws code 13 where a row of the subset makes an operation fail (a division by zero, an
 * overflow, a value that cannot be cast).
 */
export function selectRows(filter: BoundExpression, batch: Batch, within?: Bitset): Bitset {
  const { isTrue } = truthOf(filter.expr, frameOf(batch, within))
  const selected = new Bitset(batch.length, isTrue)
  return within === undefined ? selected : selected.and(within)
}

/**
 * The value of an expression for every row of `batch`, of type `bound.type`. With `within`, other rows hold
 * anything and cannot fail.
 */
export function evaluate(bound: BoundExpression, batch: Batch, within?: Bitset): Column {
  const frame = frameOf(batch, within)
  return spread(vectorOf(bound.expr, frame), frame.length)
}

function frameOf(batch: Batch, within: Bitset | undefined): Frame {
  return { batch, length: batch.length, rows: within?.words ?? null, stand: null }
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
      return overDictionary(node, frame, truthOfEntries) ?? test(node, frame)
    default:
      return truthOfColumn(plain(node, frame), frame.length)
  }
}

/** A predicate that is not made of predicates alone. */
function test(node: Bound, frame: Frame): Truth {
  const { length, rows } = frame
  switch (node.kind) {
    case 'compare':
      return compareOperands(node.op, plain(node.left, frame), plain(node.right, frame), length, rows)
    case 'between': {
      const operand = plain(node.operand, frame)
      const low = compareOperands('>=', operand, plain(node.low, frame), length, rows)
      return and(low, compareOperands('<=', operand, plain(node.high, frame), length, rows))
    }
    case 'in':
      return isMember(node, frame)
    case 'like':
      return isLike(node, frame)
    case 'is':
      return valueType(node.operand.type).kind === 'bool'
        ? isTruth(truthOf(node.operand, frame), node.what)
        : isMissing(plain(node.operand, frame), length)
    default: {
      const result = call(node as CallNode, frame)
      return 'isTrue' in result ? result : truthOfColumn({ column: result, constant: false }, length)
    }
  }
}

/** Any expression for every row. */
function vectorOf(node: Bound, frame: Frame): Operand {
  switch (node.kind) {
    case 'literal':
      return { column: columnOfScalars(node.type, [node.value]), constant: true }
    case 'column':
      return { column: frame.stand ?? columnAt(frame.batch, node.path), constant: false }
    case 'arithmetic':
    case 'cast':
    case 'element':
    case 'call':
      return overDictionary(node, frame, columnOfEntries) ?? compute(node, frame)
    default:
      return { column: columnOfTruth(truthOf(node, frame)), constant: false }
  }
}

/** A value that is neither constant, column nor predicate. */
function compute(node: Bound, frame: Frame): Operand {
  const { length, rows } = frame
  const describe = () => describeNode(node)
  let column: Column
  switch (node.kind) {
    case 'arithmetic':
      column = calculate(
        node.op,
        plain(node.left, frame),
        plain(node.right, frame),
        node.type,
        length,
        rows,
        describe,
      )
      break
    case 'cast':
      column = castColumn(spread(plain(node.operand, frame), length), node.type, node.try, rows, describe)
      break
    case 'element':
      column = listElement(plain(node.operand, frame), plain(node.index, frame), length)
      break
    default: {
      const result = call(node as CallNode, frame)
      column = 'isTrue' in result ? columnOfTruth(result) : result
    }
  }
  return { column, constant: false }
}

/** A value whose dictionary, if it has one, is resolved. */
function plain(node: Bound, frame: Frame): Operand {
  const { column, constant } = vectorOf(node, frame)
  return { column: decoded(column), constant }
}

function call({ name, args, type }: CallNode, frame: Frame): Column | Truth {
  const { length, rows } = frame
  const kernel = functionNamed(name)!.kernel
  const describe = () => describeNode({ kind: 'call', name, args, type })
  if ('lazy' in kernel) {
    const lazily = args.map(arg => (needed: RowMask) => plain(arg, { ...frame, rows: needed }))
    return kernel.lazy(lazily, { type, length, rows, describe })
  }
  const operands = args.map(arg => plain(arg, frame))
  return kernel({ args: operands, type, length, rows, describe } satisfies Call)
}

/** A node in a message, cut to a readable length. */
function describeNode(node: Bound): string {
  const text = printBound(node)
  return text.length > 120 ? `${text.slice(0, 117)}...` : text
}

function logic(node: LogicNode, frame: Frame): Truth {
  const combine = node.kind === 'and' ? and : or
  let result: Truth | null = null
  let rows = frame.rows
  for (const operand of inOrder(node)) {
    const truth = truthOf(operand, { ...frame, rows })
    result = result === null ? truth : combine(result, truth)
    rows = undecided(node.kind, result, rows)
    if (rows.every(word => word === 0)) break
  }
  assert(result !== null, `${node.kind} has operands`)
  return result
}

const memberSets = new WeakMap<InNode, Members>()

function isMember(node: InNode, frame: Frame): Truth {
  const { length, rows } = frame
  const column = spread(plain(node.operand, frame), length)
  const operand = { column, constant: false }
  if (column.type.kind === 'null') return constantTruth(null, length)
  let members = memberSets.get(node)
  if (members === undefined) {
    members = membersOf(column.type, node.values)
    memberSets.set(node, members)
  }
  let truth = strictTruth(memberRows(members, column, length, rows), [operand], length)
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
  const text = fold(spread(plain(node.operand, frame), length))
  const pattern = plain(node.pattern, frame)
  const operands = [{ column: text, constant: false }, pattern]
  const wanted = fold(pattern.column)
  if (!pattern.constant) return strictTruth(likeEach(text, wanted, node.escape, rows), operands, length)
  if (wanted.nullCount > 0) return constantTruth(null, length)
  let compiled = patterns.get(node)
  if (compiled === undefined) {
    compiled = compileLike(scalarAt(wanted, 0) as string, node.escape)
    patterns.set(node, compiled)
  }
  return strictTruth(likeRows(compiled, byteRowsOf(text), length, rows), operands, length)
}

/** LIKE with a pattern of its own for every row. */
function likeEach(text: Column, wanted: Column, escapeCharacter: string, rows: RowMask): Uint32Array {
  const out = new Uint32Array(wordCount(text.length))
  const texts = byteRowsOf(text)
  for (let i = 0; i < text.length; i++) {
    const pattern = rows === null || bitAt(rows, i) ? scalarAt(wanted, i) : null
    if (pattern === null) continue
    const compiled = compileLike(pattern as string, escapeCharacter)
    const isHit = matches(compiled, texts.bytes, texts.offsets[i]!, texts.offsets[i + 1]!)
    if (isHit) out[i >>> 5]! |= 1 << (i & 31)
  }
  return out
}

/** `finish` on the dictionary column the node depends on, or null when it does not or that would cost more. */
function overDictionary<T>(
  node: Bound,
  frame: Frame,
  finish: (node: Bound, frame: Frame, column: Column) => T,
): T | null {
  const sole = frame.stand === null ? soleColumn(node) : null
  if (sole === null) return null
  const column = columnAt(frame.batch, sole.path)
  if (column.dictionary === null || column.dictionary.length > frame.length) return null
  return finish(node, frame, column)
}

/** The frame of a dictionary's entries. An entry no row uses cannot fail. */
function frameOfEntries(node: Bound, frame: Frame, entries: Column, entryOf: Int32Array): Frame {
  const { length } = entries
  if (!costOf(node).mayFail) return { ...frame, length, rows: null, stand: entries }
  const used = new Uint32Array(wordCount(length))
  for (let i = 0; i < entryOf.length; i++) {
    const entry = entryOf[i]!
    if (entry !== -1 && (frame.rows === null || bitAt(frame.rows, i))) used[entry >>> 5]! |= 1 << (entry & 31)
  }
  return { ...frame, length, rows: used, stand: entries }
}

/** The frame of the one value that rows without an entry have. */
function frameOfNull(frame: Frame, entries: Column): Frame {
  return { ...frame, length: 1, rows: null, stand: nullColumn(entries.type, 1) }
}

function truthOfEntries(node: Bound, frame: Frame, column: Column): Truth {
  const entries = decoded(column.dictionary!)
  const entryOf = dictionaryRows(column)
  const truth = test(node, frameOfEntries(node, frame, entries, entryOf))
  const ofNull = column.nullCount === 0 ? null : test(node, frameOfNull(frame, entries))
  return truthPerRow(truth, ofNull, entryOf, frame.length, frame.rows)
}

function columnOfEntries(node: Bound, frame: Frame, column: Column): Operand {
  const entries = decoded(column.dictionary!)
  const entryOf = dictionaryRows(column)
  const results = spread(compute(node, frameOfEntries(node, frame, entries, entryOf)), entries.length)
  const gathered = takeColumn(results, entryOf)
  if (column.nullCount === 0) return { column: gathered, constant: false }
  const ofNull = compute(node, frameOfNull(frame, entries)).column
  if (ofNull.nullCount > 0) return { column: gathered, constant: false }
  const choice = Uint8Array.from(entryOf, entry => (entry === -1 ? 1 : 0))
  const operands = [
    { column: gathered, constant: false },
    { column: ofNull, constant: true },
  ]
  return { column: choose(operands, choice, node.type), constant: false }
}

/** The value of an expression without columns. Throws what evaluating it throws. */
export function evaluateConstant(node: Bound): Scalar {
  const batch: Batch = { schema: { fields: [] }, length: 1, columns: [] }
  return scalarAt(vectorOf(node, { batch, length: 1, rows: null, stand: null }).column, 0)
}
