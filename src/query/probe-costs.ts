/**
 * What it costs to find rows one way or another: the one model by which queries choose. Nanoseconds on one core, of columns
 * that are in memory, measured on 1,048,576 rows in 8 fragments with numbers and texts of ten characters, rows in random order.
 */
import type { ScalarKind } from '../indexes/scalar/probe.js'
import { type Bound, columnsOf } from '../sql/bound.js'
import { costOf } from '../sql/cost.js'

/** Asking an index anything, whatever it finds: guessing what it finds, then finding it (6,000 + 2,000). */
const probe = 10_000
/** A value that an index looks up. */
const member = 300
/** A row that it finds, until it stands in the set of its fragment; */
const entry = 12
/** of an index that keeps whole sets of rows (20 where they are sparse) no more than so much for each row of the table. */
const ofSets = { entry: 20, row: 0.4 } as const
/** A row that is evaluated, beside the weight of its conditions (1.3 for a number in all, 6.8 for a text). */
const evaluated = 0.5
/** A value that is taken out of its column to be evaluated (44 for a number, 37 of three columns together, 80 for a text). */
const gathered = 45
/** Beginning with a part: its columns, its living rows, what is made of the answer. */
const part = 15_000
/** Rows of a part, as a rule. */
const partRows = 131_072
/** What zones say of a fragment. */
const fragment = 1500
/** Looking a row up among many values (10,000: 12 for numbers, 46 for texts). */
const lookedUp = { values: 64, weight: 20 } as const
/** Weight (binding/cost.ts) from which on a condition is computed only for rows that are asked for. */
const maskedWeight = 1000

/** Finding `rows` rows of a table of `total` by a probe for so many values. */
export function probing(kind: ScalarKind, values: number, rows: number, total: number): number {
  const finding = kind === 'BTREE' ? rows * entry : Math.min(rows * ofSets.entry, values * total * ofSets.row)
  return probe + values * member + finding
}

/** Asking the zones of so many fragments. */
export function lookingAtZones(fragments: number): number {
  return fragments * fragment
}

/** Parts of the rows that pass a condition, where that is known. */
export type Shares = ReadonlyMap<Bound, number>

const unknown: Shares = new Map()

/** Evaluating conditions one after the other for rows that lie beside each other, of which `asked` are asked for. */
export function scanning(
  conditions: readonly Bound[],
  rows: number,
  asked = rows,
  shares: Shares = unknown,
): number {
  if (conditions.length === 0) return 0
  return Math.ceil(rows / partRows) * part + evaluating(conditions, rows, asked, shares)
}

/** The same for `asked` of them that are taken out of their columns. */
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
  return costOf(condition).weight
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
