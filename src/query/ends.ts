/**
 * Queries that want the least or the greatest values of a column look at no others, where a sorted index tells up to which
 * value there are enough rows: that becomes one more condition of the plan, and all else stays as it is.
 */
import type { ScalarKind } from '../indexes/scalar/probe.js'
import type { Pacer } from '../primitives/pacer.js'
import type { MaybePromise } from '../primitives/task.js'
import { type Bound, type BoundExpression, type ColumnNode, columnsOf } from '../sql/bound.js'
import { noChance } from '../sql/functions/call.js'
import type { Scalar } from '../sql/values/scalar.js'
import { boolType, valueType } from '../sql/values/types.js'
import type { IndexReader } from '../table/table-index.js'
import type { TableReader } from '../table/table-reader.js'
import { countMatching } from './count.js'
import type { Plan } from './plan.js'

/** What a plan wants of one column. */
interface Ends {
  readonly column: ColumnNode
  readonly least: boolean
  readonly greatest: boolean
  /** Whether rows without a value come before all others. */
  readonly nulls: boolean
  /** Rows that are enough, from either end. */
  readonly enough: number
}

/** Kinds that keep values in their order. */
const sortedKinds: readonly ScalarKind[] = ['BTREE']
/** Values that are passed over at first, at least and as a multiple of the rows wanted: some rows may be dead, or not pass. */
const spare = { least: 64, factor: 4 } as const
/** Then so many times as many, as long as that is no more than a part of the table. */
const growth = 16
const most = 1 / 16

/**
 * The plan with that condition; the plan itself where there is no such index, or it would not help. `guess`: believe that enough
 * rows pass, and do not count them.
 */
export function narrowedToEnds(
  plan: Plan,
  reader: TableReader,
  pacer: Pacer,
  guess = false,
): MaybePromise<Plan> {
  const ends = reader.indexes.length === 0 ? null : endsOf(plan)
  return ends === null ? plan : narrowed(plan, ends, reader, pacer, guess)
}

async function narrowed(
  plan: Plan,
  ends: Ends,
  reader: TableReader,
  pacer: Pacer,
  guess: boolean,
): Promise<Plan> {
  const path = ends.column.path.join('\0')
  const index = reader.indexes.find(each => sortedKinds.includes(each.kind) && each.path.join('\0') === path)
  if (index === undefined) return plan
  const limit = reader.liveRows * most
  for (let rank = Math.max(spare.least, spare.factor * ends.enough); rank <= limit; rank *= growth) {
    const conditions = await conditionsAt(ends, index, rank, pacer)
    if (conditions === null) return plan
    if (guess || (await areEnough(plan, conditions, ends.enough, reader, pacer))) {
      const either: Bound =
        conditions.length === 1 ? conditions[0]! : { kind: 'or', type: boolType, operands: conditions }
      return { ...plan, filter: alsoAsked(plan.filter, either) }
    }
  }
  return plan
}

function endsOf({ search, distinct, differsFrom, from, order, grouping, offset, limit }: Plan): Ends | null {
  if (search !== null || distinct || differsFrom !== undefined || from > 0) return null
  if (grouping === null) {
    const [first] = order
    if (first?.value.expr.kind !== 'column') return null
    const { ascending, nullsFirst } = first
    const enough = offset + limit
    return { column: first.value.expr, least: ascending, greatest: !ascending, nulls: nullsFirst, enough }
  }
  const { keys, aggregates } = grouping
  const [first] = aggregates
  if (keys.length > 0 || first === undefined || first.arg?.expr.kind !== 'column') return null
  const column = first.arg.expr
  const path = column.path.join('\0')
  const fns = new Set<string>()
  for (const { fn, arg } of aggregates) {
    if (arg?.expr.kind !== 'column' || arg.expr.path.join('\0') !== path) return null
    fns.add(fn)
  }
  if ([...fns].some(fn => fn !== 'min' && fn !== 'max')) return null
  return { column, least: fns.has('min'), greatest: fns.has('max'), nulls: false, enough: 1 }
}

/** For either end that is wanted, what holds of rows up to the value with `rank` others before it; null where there are not so many. */
async function conditionsAt(
  { column, least, greatest, nulls }: Ends,
  index: IndexReader,
  rank: number,
  pacer: Pacer,
): Promise<readonly Bound[] | null> {
  const conditions: Bound[] = []
  for (const isGreatest of [...(least ? [false] : []), ...(greatest ? [true] : [])]) {
    const value = (await index.valueAt?.(rank, isGreatest, pacer)) ?? null
    // What order NaN has among others is not the same everywhere.
    if (value === null || Number.isNaN(value)) return null
    const within = compared(column, isGreatest ? '>=' : '<=', value)
    const none: Bound = { kind: 'is', type: boolType, operand: column, what: 'null' }
    conditions.push(nulls ? { kind: 'or', type: boolType, operands: [none, within] } : within)
  }
  return conditions
}

function compared(column: ColumnNode, op: '<=' | '>=', value: Scalar): Bound {
  const right: Bound = { kind: 'literal', type: valueType(column.type), value }
  return { kind: 'compare', type: boolType, op, left: column, right }
}

async function areEnough(
  { filter }: Plan,
  conditions: readonly Bound[],
  enough: number,
  reader: TableReader,
  pacer: Pacer,
): Promise<boolean> {
  for (const condition of conditions) {
    if ((await countMatching(reader, alsoAsked(filter, condition), pacer)) < enough) return false
  }
  return true
}

function alsoAsked(filter: BoundExpression | null, condition: Bound): BoundExpression {
  if (filter === null) {
    return { expr: condition, type: boolType, columns: columnsOf(condition), warnings: [], chance: noChance }
  }
  const before = filter.expr.kind === 'and' ? filter.expr.operands : [filter.expr]
  const expr: Bound = { kind: 'and', type: boolType, operands: [...before, condition] }
  return { ...filter, expr, columns: columnsOf(expr) }
}
