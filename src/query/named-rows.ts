/**
 * Finds rows that a filter names by number: conditions on `_rowid` and `_rowoffset` select rows before any column is read or
 * evaluated.
 */
import type { Fragment } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { type Task, wait } from '../primitives/task.js'
import { type Bound, type BoundExpression, LogicNode } from '../sql/bound.js'
import type { Scalar } from '../sql/values/scalar.js'
import type { Part, TableReader } from '../table/table-reader.js'
import { rowIdField, rowOffsetField } from './source.js'

/** Whole numbers from `least` to `greatest`: all of them (`members` null), or only the `members`, ascending and distinct. */
interface Numbers {
  readonly least: number
  readonly greatest: number
  readonly members: Float64Array | null
}

/** The rows that conditions name. */
export interface NamedRows {
  /** By `_rowid`, and by `_rowoffset`; null: no condition names rows that way. */
  readonly ids: Numbers | null
  readonly offsets: Numbers | null
  /** The conditions that name rows. */
  readonly naming: BoundExpression
}

/** A filter split in two: it is true for a row if the row is named and `rest` is true. */
export interface SplitFilter {
  /** The rows that it names by number; null: it names none. */
  readonly named: NamedRows | null
  /** The conditions that name no rows; null: there are none. */
  readonly rest: BoundExpression | null
}

/** Split a filter by the rows that it names. Callers split once per query, and pass the result on. */
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

/** Return a filter that consists of some conditions of another; null if there are none. */
export function withConditions(
  filter: BoundExpression,
  conditions: readonly Bound[],
): BoundExpression | null {
  if (conditions.length === 0) return null
  return filter.withExpr(conditions.length === 1 ? conditions[0]! : new LogicNode('and', conditions))
}

/** The numbers of column `name` for which a condition is true; null for other conditions. */
function numbersIn(condition: Bound, name: string): Numbers | null {
  if (condition.kind === 'in') {
    const { operand, values, others } = condition
    return isColumn(operand, name) && others.length === 0 ? numbersOf(values) : null
  }
  if (condition.kind !== 'compare' || !isColumn(condition.left, name)) return null
  const { op, right } = condition
  if (right.kind !== 'literal' || typeof right.value !== 'bigint') return null
  // All row numbers are below 2^53, so the rounding of greater constants does not matter.
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

/** The ascending `members` from `first` to `last`, both inclusive. */
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

/** Return the maximum number of rows that can be named. */
export function countNamed({ ids, offsets }: NamedRows): number {
  return Math.min(countOf(ids), countOf(offsets))
}

function countOf(numbers: Numbers | null): number {
  if (numbers === null) return Number.POSITIVE_INFINITY
  return numbers.members?.length ?? Math.max(0, numbers.greatest + 1 - numbers.least)
}

/** Return whether a fragment may hold named rows. Reads nothing. */
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

/** Return the named rows of a part, by offset. Rows named by id may be deleted; rows named by offset are live. */
export function* namedIn(
  { ids, offsets }: NamedRows,
  part: Part,
  reader: TableReader,
  signal: AbortSignal | undefined,
): Task<Bitset> {
  const byId = ids === null ? null : yield* rowsById(ids, part, reader, signal)
  // No need to compute row offsets of a part without a named id.
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
