/**
 * Cost model for filters: estimated nanoseconds on one core, for columns in memory. All choices between scans and indexes use it.
 * Measured on 1,048,576 rows in 8 fragments, with numbers and texts of ten characters, rows in random order.
 */
import type { ScalarKind } from '../indexes/scalar/probe.js'
import { type Bound, columnsOf } from '../sql/bound.js'

/** Fixed cost of an index lookup: the estimate, then the lookup (6,000 + 2,000). */
const probe = 10_000
/** Looking up one value. */
const member = 300
/** A matching row, until it is in the row set of its fragment. */
const entry = 12
/** The same for indexes that store row sets (20 for sparse sets), at most `row` for each row of the table and value. */
const ofSets = { entry: 20, row: 0.4 } as const
/** An evaluated row, in addition to the weight of its conditions (in all 1.3 for a number, 6.8 for a text). */
const evaluated = 0.5
/** A value copied out of its column before evaluation (44 for a number, 37 for three columns together, 80 for a text). */
const gathered = 45
/** A part: loading its columns and its live rows, building the result. */
const part = 15_000
/** Typical number of rows of a part. */
const partRows = 131_072
/** Checking the statistics of a fragment. */
const fragment = 1500
/** Looking up a row in a list of many values (10,000 values: 12 for numbers, 46 for texts). */
const lookedUp = { values: 64, weight: 20 } as const
/** From this weight on (sql/cost.ts), a condition is evaluated only for rows that passed the earlier conditions. */
const maskedWeight = 1000

/** Return the cost of finding `rows` of `total` rows with an index lookup of so many values. */
export function probing(kind: ScalarKind, values: number, rows: number, total: number): number {
  const finding = kind === 'BTREE' ? rows * entry : Math.min(rows * ofSets.entry, values * total * ofSets.row)
  return probe + values * member + finding
}

/** Return the cost of checking the min/max statistics of `fragments` fragments. */
export function lookingAtZones(fragments: number): number {
  return fragments * fragment
}

/** By condition: the share of rows that pass, if known. */
export type Shares = ReadonlyMap<Bound, number>

const unknown: Shares = new Map()

/** Return the cost of evaluating conditions in sequence on consecutive rows, of which `asked` are wanted. */
export function scanning(
  conditions: readonly Bound[],
  rows: number,
  asked = rows,
  shares: Shares = unknown,
): number {
  if (conditions.length === 0) return 0
  return Math.ceil(rows / partRows) * part + evaluating(conditions, rows, asked, shares)
}

/** Return the cost of evaluating conditions on `asked` rows that are first copied out of their columns. */
export function gathering(
  conditions: readonly Bound[],
  rows: number,
  asked: number,
  shares: Shares = unknown,
): number {
  if (conditions.length === 0) return 0
  const columns = new Set(conditions.flatMap(columnsOf)).size
  const parts = Math.min(asked, Math.ceil(rows / partRows))
  return parts * part + asked * columns * gathered + evaluating(conditions, asked, asked, shares)
}

function weightOf(condition: Bound): number {
  if (condition.kind === 'in' && condition.values.length > lookedUp.values) return lookedUp.weight
  return condition.cost.weight
}

function evaluating(conditions: readonly Bound[], rows: number, asked: number, shares: Shares): number {
  let cost = 0
  let open = asked
  for (const condition of conditions) {
    const weight = weightOf(condition)
    cost += rows * evaluated + (weight < maskedWeight ? rows : open) * weight
    open *= shares.get(condition) ?? 1
  }
  return cost
}
