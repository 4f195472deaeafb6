/**
 * What it costs to find rows one way or another: the one model by which queries choose. Nanoseconds on one core, of columns
 * that are in memory, measured on 1,000,000 rows in 8 fragments (int64, float64 and short texts; bench machine of bench/).
 */
import { costOf } from '../sql/binding/cost.js'
import { type Bound, columnsOf } from '../sql/bound.js'

/** Asking an index anything, whatever it finds: guessing what it finds, then finding it. */
const probe = 10_000
/** A row that a probe finds, until it stands in the set of its fragment. */
const entry = 10
/** A value of a row that is taken out of its column to be evaluated. */
const gathered = 12
/** A row that is evaluated, whatever the condition is. */
const evaluated = 0.5
/** Beginning with a part: its columns, its living rows, what is made of the answer. */
const part = 10_000
/** Rows of a part, as a rule. */
const partRows = 131_072
/** What zones say of a fragment. */
const fragment = 1500
/** Weight (binding/cost.ts) from which on a condition is computed only for rows that are asked for. */
const maskedWeight = 50

/** Finding `rows` rows by `probes` probes. */
export function probing(probes: number, rows: number): number {
  return probes * probe + rows * entry
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
  let cost = conditions.length === 0 ? 0 : Math.ceil(rows / partRows) * part
  let open = asked
  for (const condition of conditions) {
    const { weight } = costOf(condition)
    cost += (weight < maskedWeight ? rows : open) * (weight + evaluated)
    open *= shares.get(condition) ?? 1
  }
  return cost
}

/** The same for rows that are taken out of their columns. */
export function gathering(conditions: readonly Bound[], rows: number, shares: Shares = unknown): number {
  const columns = new Set(conditions.flatMap(columnsOf)).size
  return rows * columns * gathered + scanning(conditions, rows, rows, shares)
}
