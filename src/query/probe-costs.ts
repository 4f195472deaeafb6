/**
 * Cost model for filters: estimated nanoseconds on one core, for columns in memory. All choices between scans and
 * indexes use it. The constants were measured on 1,048,576 rows in 8 fragments, with numbers and texts of ten
 * characters in random order. Numbers in parentheses are single measurements.
 */
import type { ScalarKind } from '../indexes/scalar/probe.js'
import type { Bound } from '../sql/bound.js'
import { columnsOf } from '../sql/bound-expression.js'

/** Fixed cost of an index lookup, including the estimate before it (6,000 for the estimate, 2,000 for the lookup). */
const probe = 10_000
/** Cost of looking up one value. */
const member = 300
/** Cost of adding a matching row to the row set of its fragment. */
const entry = 12
/**
 * Costs for indexes that store row sets. `entry`: cost per matching row (20 for sparse sets). `row`: maximum cost per
 * row of the table and looked up value.
 */
const ofSets = { entry: 20, row: 0.4 } as const
/**
 * Cost of evaluating a row, in addition to the weight of the conditions (together 1.3 for a number, 6.8 for a text).
 */
const evaluated = 0.5
/**
 * Cost of copying a value out of its column before evaluation (44 for a number, 37 with three columns, 80 for a text).
 */
const gathered = 45
/** Cost of loading the columns and live rows of a part and of building the result. */
const part = 15_000
/** Typical number of rows of a part. */
const partRows = 131_072
/** Cost of checking the statistics of a fragment. */
const fragment = 1500
/**
 * `weight` of a condition with a list of more than `values` values (with 10,000 values: 12 for numbers, 46 for texts).
 */
const lookedUp = { values: 64, weight: 20 } as const
/** Minimum weight (sql/cost.ts) of a condition that is evaluated only on rows that passed the earlier conditions. */
const maskedWeight = 1000

/** Return the cost of an index lookup of `values` values that finds `rows` of the table's `total` rows. */
export function probing(kind: ScalarKind, values: number, rows: number, total: number): number {
  const finding = kind === 'BTREE' ? rows * entry : Math.min(rows * ofSets.entry, values * total * ofSets.row)
  return probe + values * member + finding
}

/** Return the cost of checking the min/max statistics of `fragments` fragments. */
export function lookingAtZones(fragments: number): number {
  return fragments * fragment
}

/** By condition: the share of rows that pass it, 0 to 1. Conditions with an unknown share are missing. */
export type Shares = ReadonlyMap<Bound, number>

const unknown: Shares = new Map()

/**
 * Return the cost of evaluating conditions on `rows` consecutive rows. `asked`: number of rows whose result is needed;
 * default: all.
 */
export function scanning(
  conditions: readonly Bound[],
  rows: number,
  asked = rows,
  shares: Shares = unknown,
): number {
  if (conditions.length === 0) return 0
  return Math.ceil(rows / partRows) * part + evaluating(conditions, rows, asked, shares)
}

/**
 * Return the cost of copying `asked` rows out of the columns of `rows` rows, and of evaluating conditions on the
 * copies.
 */
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
