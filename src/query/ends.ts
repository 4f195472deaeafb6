/**
 * Adds a condition to queries for the minimum or maximum values of a column (ORDER BY with LIMIT, `min`, `max`). The
 * condition excludes most other rows. A sorted index gives a bound that leaves enough rows. The rest of the plan stays
 * the same.
 */
import type { ScalarKind } from '../indexes/scalar/probe.js'
import type { Pacer } from '../primitives/pacer.js'
import type { MaybePromise } from '../primitives/task.js'
import { type Bound, CompareNode, IsNode, LogicNode } from '../sql/bound.js'
import { BoundExpression } from '../sql/bound-expression.js'
import type { ColumnNode } from '../sql/column-node.js'
import { evaluating } from '../sql/evaluation.js'
import { noChance } from '../sql/functions/call.js'
import { LiteralNode } from '../sql/values/literal-node.js'
import type { Scalar } from '../sql/values/scalar.js'
import { valueType } from '../sql/values/types.js'
import { pruning } from '../sql/zones/pruning.js'
import type { IndexReader } from '../table/table-index.js'
import type { TableReader } from '../table/table-reader.js'
import { countMatching } from './count.js'
import type { Plan } from './plan.js'

/**
 * The rows that a plan needs: the rows with the minimum values of a column (`least`), with the maximum values
 * (`greatest`), or with both.
 */
interface Ends {
  readonly column: ColumnNode
  readonly least: boolean
  readonly greatest: boolean
  /** Whether NULLs sort first, so that their rows are needed too. */
  readonly nulls: boolean
  /** Number of rows that the plan needs from each end. */
  readonly enough: number
}

/** Index kinds that store values in sort order. */
const sortedKinds: readonly ScalarKind[] = ['BTREE']
/**
 * The first bound leaves at least `least` rows and at least `factor` times the needed rows. Some of these rows may be
 * deleted or not match the filter.
 */
const spare = { least: 64, factor: 4 } as const
/** Growth factor of the number of rows per retry. */
const growth = 16
/** Maximum share of the table's rows for which the bound is worthwhile. */
const most = 1 / 16

/**
 * Return the plan with the additional condition, or the plan itself if no index helps. `guess`: assume that enough rows
 * match the first bound, instead of counting them. Default: false.
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
  // The plan may have no expression of the caller, so the binder may not have loaded the evaluation of the conditions.
  await evaluating()
  await pruning()
  const limit = reader.liveRows * most
  for (let rank = Math.max(spare.least, spare.factor * ends.enough); rank <= limit; rank *= growth) {
    const conditions = await conditionsAt(ends, index, rank, pacer)
    if (conditions === null) return plan
    if (guess || (await areEnough(plan, conditions, ends.enough, reader, pacer))) {
      const either = conditions.length === 1 ? conditions[0]! : new LogicNode('or', conditions)
      return { ...plan, filter: withCondition(plan.filter, either) }
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
  for (const { fn, arg, filter } of aggregates) {
    // The bounds come from an index over all rows, so they are not valid for an aggregate with its own filter.
    if (filter !== null) return null
    if (arg?.expr.kind !== 'column' || arg.expr.path.join('\0') !== path) return null
    fns.add(fn)
  }
  if ([...fns].some(fn => fn !== 'min' && fn !== 'max')) return null
  return { column, least: fns.has('min'), greatest: fns.has('max'), nulls: false, enough: 1 }
}

/** Return conditions that limit each needed end to about `rank` rows. Return null if the index has fewer rows. */
async function conditionsAt(
  { column, least, greatest, nulls }: Ends,
  index: IndexReader,
  rank: number,
  pacer: Pacer,
): Promise<readonly Bound[] | null> {
  const conditions: Bound[] = []
  for (const isGreatest of [...(least ? [false] : []), ...(greatest ? [true] : [])]) {
    const value = (await index.valueAt?.(rank, isGreatest, pacer)) ?? null
    // NaN is not a usable bound: a comparison with NaN does not follow the sort order of the index.
    if (value === null || Number.isNaN(value)) return null
    const within = compared(column, isGreatest ? '>=' : '<=', value)
    conditions.push(nulls ? new LogicNode('or', [new IsNode(column, 'null'), within]) : within)
  }
  return conditions
}

function compared(column: ColumnNode, op: '<=' | '>=', value: Scalar): Bound {
  return new CompareNode(op, column, new LiteralNode(valueType(column.type), value))
}

async function areEnough(
  { filter }: Plan,
  conditions: readonly Bound[],
  enough: number,
  reader: TableReader,
  pacer: Pacer,
): Promise<boolean> {
  for (const condition of conditions) {
    if ((await countMatching(reader, withCondition(filter, condition), pacer)) < enough) return false
  }
  return true
}

function withCondition(filter: BoundExpression | null, condition: Bound): BoundExpression {
  if (filter === null) return new BoundExpression(condition, noChance)
  return filter.withExpr(new LogicNode('and', [...filter.conditions, condition]))
}
