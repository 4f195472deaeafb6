/**
 * Finds rows by conditions on row numbers: `_rowid` and `_rowoffset`. These conditions select rows before any column is
 * read. Rows that they allow are called named rows.
 */
import { assert } from '../errors.js'
import type { Fragment } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { type Task, wait } from '../primitives/task.js'
import type { Bound } from '../sql/bound.js'
import type { BoundExpression } from '../sql/bound-expression.js'
import type { Scalar } from '../sql/values/scalar.js'
import type { Part, TableReader } from '../table/table-reader.js'
import { rowIdField, rowOffsetField } from './source.js'

/** A set of integers: the numbers `members`, or all integers from `least` to `greatest` if `members` is null. */
interface Numbers {
  readonly least: number
  readonly greatest: number
  /** The numbers of the set, ascending and distinct. Null: all integers from `least` to `greatest`. */
  readonly members: Float64Array | null
}

/** The rows that the conditions of a filter on row numbers allow. */
export interface NamedRows {
  /** Allowed values of `_rowid`. Null: no condition on it. */
  readonly ids: Numbers | null
  /** Allowed values of `_rowoffset`. Null: no condition on it. */
  readonly offsets: Numbers | null
  /** The conditions on row numbers. */
  readonly naming: BoundExpression
}

/** A filter split in two parts. It is true for a row if `named` contains the row and `rest` is true. */
export interface SplitFilter {
  /** The rows that the conditions on row numbers allow. Null: the filter has no such condition. */
  readonly named: NamedRows | null
  /** The other conditions. Null: the filter has no other condition. */
  readonly rest: BoundExpression | null
}

/**
 * Split a filter into conditions on row numbers and other conditions. This takes time, so split a filter once per
 * query.
 */
export function splitByNames(filter: BoundExpression | null): SplitFilter {
  if (filter === null) return { named: null, rest: null }
  const naming: Bound[] = []
  const others: Bound[] = []
  let ids: Numbers | null = null
  let offsets: Numbers | null = null
  for (const condition of filter.conditions) {
    const byId = numbersIn(condition, rowIdField.name)
    const byOffset = byId === null ? numbersIn(condition, rowOffsetField.name) : null
    if (byId !== null) ids = intersection(ids, byId)
    if (byOffset !== null) offsets = intersection(offsets, byOffset)
    const list = byId === null && byOffset === null ? others : naming
    list.push(condition)
  }
  if (naming.length === 0) return { named: null, rest: filter }
  return {
    named: { ids, offsets, naming: withConditions(filter, naming)! },
    rest: withConditions(filter, others),
  }
}

/** Return a filter with only the given conditions of another filter. Return null if there are no conditions. */
export function withConditions(
  filter: BoundExpression,
  conditions: readonly Bound[],
): BoundExpression | null {
  if (conditions.length === 0) return null
  if (conditions.length === 1) return filter.withExpr(conditions[0]!)
  assert(filter.expr.kind === 'and', 'a filter with several conditions is an AND')
  return filter.withExpr(filter.expr.withOperands(conditions))
}

/**
 * Return the values of column `name` for which a condition is true. Return null if it is not a simple condition on
 * `name`.
 */
function numbersIn(condition: Bound, name: string): Numbers | null {
  if (condition.kind === 'in') {
    const { operand, values, others } = condition
    return isColumn(operand, name) && others.length === 0 ? numbersOf(values) : null
  }
  if (condition.kind !== 'compare' || !isColumn(condition.left, name)) return null
  const { op, right } = condition
  if (right.kind !== 'literal' || typeof right.value !== 'bigint') return null
  // All row numbers are below 2^53, so it does not matter that greater constants are rounded.
  const number = Number(right.value)
  const { POSITIVE_INFINITY: endless } = Number
  switch (op) {
    case '=':
      return numbersOf([right.value])
    case '<':
      return { least: 0, greatest: number - 1, members: null }
    case '<=':
      return { least: 0, greatest: number, members: null }
    case '>':
      return { least: number + 1, greatest: endless, members: null }
    case '>=':
      return { least: number, greatest: endless, members: null }
    default:
      return null
  }
}

function isColumn(node: Bound, name: string): boolean {
  return node.kind === 'column' && node.path[0] === name
}

function numbersOf(values: readonly Scalar[]): Numbers {
  const members = Float64Array.from(values as readonly bigint[], Number).sort()
  return { least: members[0] ?? 0, greatest: members.at(-1) ?? -1, members }
}

function intersection(a: Numbers | null, b: Numbers): Numbers {
  if (a === null) return b
  const [short, long] = a.members !== null ? [a, b] : [b, a]
  const least = Math.max(a.least, b.least)
  const greatest = Math.min(a.greatest, b.greatest)
  if (short.members === null) return { least, greatest, members: null }
  const others = long.members === null ? null : new Set(long.members)
  const members = short.members.filter(
    number => number >= least && number <= greatest && (others === null || others.has(number)),
  )
  return { least, greatest, members }
}

/** Return the members from `first` to `last`, both inclusive. `members` is ascending. */
function membersBetween(members: Float64Array, first: number, last: number): Float64Array {
  const from = partitionPoint(members.length, i => members[i]! < first)
  const to = partitionPoint(members.length, i => members[i]! <= last)
  return members.subarray(from, to)
}

function intersects({ least, greatest, members }: Numbers, first: number, last: number): boolean {
  if (greatest < first || last < least) return false
  if (members === null) return true
  const at = partitionPoint(members.length, i => members[i]! < first)
  return at < members.length && members[at]! <= last
}

/** Return the maximum number of named rows. */
export function countNamed({ ids, offsets }: NamedRows): number {
  return Math.min(countOf(ids), countOf(offsets))
}

function countOf(numbers: Numbers | null): number {
  if (numbers === null) return Number.POSITIVE_INFINITY
  return numbers.members?.length ?? Math.max(0, numbers.greatest + 1 - numbers.least)
}

/** Return whether a fragment may have named rows. Reads nothing. */
export function mayHoldNamed({ ids, offsets }: NamedRows, fragment: Fragment, reader: TableReader): boolean {
  if (ids !== null) {
    const { ids: own, rows } = fragment
    const [first, last] = 'row0' in own ? [own.row0, own.row0 + rows - 1] : [own.least, own.greatest]
    if (!intersects(ids, first, last)) return false
  }
  if (offsets === null) return true
  const before = reader.liveBeforeFragment(fragment)
  return intersects(offsets, before, before + fragment.rows - fragment.dead.count - 1)
}

/**
 * Return the offsets of the named rows of a part. Rows that `_rowid` selects may be deleted. Rows that `_rowoffset`
 * selects are live.
 */
export function* namedIn(
  { ids, offsets }: NamedRows,
  part: Part,
  reader: TableReader,
  signal: AbortSignal | undefined,
): Task<Bitset> {
  const byId = ids === null ? null : yield* rowsById(ids, part, reader, signal)
  // If no row has an allowed `_rowid`, the row offsets do not matter.
  if (offsets === null || byId?.isEmpty() === true) return byId!
  const byOffset = yield* rowsByOffset(offsets, part, reader, signal)
  return byId === null ? byOffset : byId.and(byOffset)
}

function* rowsById(
  { least, greatest, members }: Numbers,
  { fragment, first, rows }: Part,
  reader: TableReader,
  signal: AbortSignal | undefined,
): Task<Bitset> {
  const runs = yield* wait(reader.rowIds(fragment, signal))
  const named = new Bitset(rows)
  if (rows === 0) return named
  if (members === null) {
    for (const [from, to] of runs.rangesBetween(least, greatest)) {
      named.addRange(Math.max(from - first, 0), Math.min(to - first, rows))
    }
    return named
  }
  const [lowest, highest] = runs.isAscending ? [runs.at(first), runs.at(first + rows - 1)] : runs.bounds()
  for (const rank of runs.ranksOf(membersBetween(members, lowest, highest))) {
    if (rank >= first && rank < first + rows) named.add(rank - first)
  }
  return named
}

function* rowsByOffset(
  { least, greatest, members }: Numbers,
  part: Part,
  reader: TableReader,
  signal: AbortSignal | undefined,
): Task<Bitset> {
  const { fragment, rows } = part
  const live = yield* wait(reader.live(part, signal))
  const before = reader.liveBeforeFragment(fragment) + (yield* wait(reader.liveBefore(part, signal)))
  const count = live === null ? rows : live.count()
  if (members === null) {
    const from = Math.max(least - before, 0)
    const to = Math.min(greatest + 1 - before, count)
    if (live === null || from >= to) return Bitset.range(rows, from, to)
    const [first, last] = live.selectAll([from, to - 1])
    return Bitset.range(rows, first!, last! + 1).and(live)
  }
  const ranks = membersBetween(members, before, before + count - 1).map(number => number - before)
  const named = new Bitset(rows)
  for (const row of live === null ? ranks : live.selectAll(ranks)) named.add(row)
  return named
}
