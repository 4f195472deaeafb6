/**
 * Computes min/max statistics for the stretches of columns in memory, when a filter first needs them. For example, a
 * later filter for one value of an ascending key then reads only one stretch.
 *
 * - The second filter on a column computes the statistics, because many columns are filtered only once.
 * - When the cache evicts a column, its statistics are dropped too. They take less than 1 % of the column's memory.
 * - If the statistics of a column exclude hardly any stretches, filters no longer use them.
 * - A filter that can fail is evaluated on every row. Otherwise its failure would depend on earlier filters.
 */
import type { Batch, Column } from '../arrow/column.js'
import { stretchRows } from '../arrow/file-layout.js'
import { sliceColumn } from '../arrow/slice.js'
import type { Bound } from '../sql/bound.js'
import { type BoundExpression, columnsOf } from '../sql/bound-expression.js'
import type { ColumnNode } from '../sql/column-node.js'
import type { KnownColumn } from '../sql/zones/prune.js'
import { possibleTruth } from '../sql/zones/pruning.js'
import type { StretchZones } from '../sql/zones/stretches.js'
import { type Zone, zoneOf } from '../sql/zones/zone.js'

/** Minimum number of stretches for which statistics are computed. */
const fewest = 4
/**
 * After the statistics of a column were checked `checks` times, they are used only as long as at least one in `oneIn`
 * checks excluded a stretch.
 */
const trial = { checks: 256, oneIn: 16 } as const

/** Kinds of types for which computing the minimum and maximum is about as fast as evaluating a comparison. */
const quick: readonly string[] = ['int', 'float', 'date', 'time', 'timestamp', 'duration']

/** Statistics of one column. */
class ColumnZones {
  /** Number of filters that started to read the column. */
  filterCount = 0
  checks = 0
  skipped = 0
  readonly #column: Column
  readonly #zones: (Zone | null)[] = []

  constructor(column: Column) {
    this.#column = column
  }

  get isUseful(): boolean {
    return this.filterCount > 1 && (this.checks < trial.checks || this.skipped * trial.oneIn >= this.checks)
  }

  of(block: number): KnownColumn {
    const first = block * stretchRows
    const rows = Math.min(stretchRows, this.#column.length - first)
    let zone = this.#zones[block]
    if (zone === undefined) {
      zone = zoneOf(sliceColumn(this.#column, first, rows))
      this.#zones[block] = zone
    }
    return { zone, rows }
  }
}

/** Statistics by column. The map is weak, so statistics are dropped when the cache evicts the column. */
const known = new WeakMap<Column, ColumnZones>()

/** Statistics of the stretches of a part, as stored in the files, by column name. */
type StoredZones = ReadonlyMap<string, StretchZones>

/** The stretches of a part that may have matching rows. */
export interface Stretches {
  readonly zones: StoredZones
  /** Ranges of rows, ascending. Adjacent stretches with the same `isSure` form one range. */
  readonly runs: readonly Run[]
  /** Number of rows that must be evaluated. */
  readonly rows: number
}

/** The rows from `from` to `to - 1`. */
export interface Run {
  readonly from: number
  readonly to: number
  /** Whether the statistics show that all rows match. */
  readonly isSure: boolean
}

/** Return the stored statistics of a column for one stretch. `rows`: number of rows of the part. */
function storedAt(zones: StoredZones, { path }: ColumnNode, block: number, rows: number): KnownColumn | null {
  // Struct columns have no statistics, so the first element of the path is the whole path.
  const zone = zones.get(path[0]!)?.each[block]
  return zone === undefined ? null : { zone, rows: Math.min(stretchRows, rows - block * stretchRows) }
}

/**
 * Return the stretches of a part of `rows` rows that may have matches. Return null if stored statistics exclude no
 * stretch. `others`: returns the statistics of a column that has no statistics in `zones`.
 */
export function stretchesOf(
  filter: BoundExpression,
  rows: number,
  zones: StoredZones,
  others: (column: ColumnNode) => KnownColumn | null,
): Stretches | null {
  if (zones.size === 0) return null
  const ofAll = (column: ColumnNode) => {
    const zone = zones.get(column.path[0]!)?.all
    return zone === undefined ? others(column) : { zone, rows }
  }
  // Conditions that the statistics of the whole part do not decide. The statistics of single stretches may decide them.
  const open: Bound[] = []
  let isRestSure = true
  for (const condition of filter.conditions) {
    const { isTrue, isFalse, isNull } = possibleTruth(condition, ofAll)
    if (!isTrue) return { zones, runs: [], rows: 0 }
    if (!isFalse && !isNull) continue
    if (columnsOf(condition).some(name => zones.has(name))) open.push(condition)
    else isRestSure = false
  }
  if (open.length === 0) {
    return isRestSure ? { zones, runs: [{ from: 0, to: rows, isSure: true }], rows: 0 } : null
  }
  const runs: Run[] = []
  for (let from = 0; from < rows; from += stretchRows) {
    const known = (column: ColumnNode) => storedAt(zones, column, from / stretchRows, rows) ?? others(column)
    const truths = open.map(condition => possibleTruth(condition, known))
    if (truths.some(({ isTrue }) => !isTrue)) continue
    const isSure = isRestSure && truths.every(({ isFalse, isNull }) => !isFalse && !isNull)
    const run = { from, to: Math.min(rows, from + stretchRows), isSure }
    const last = runs.at(-1)
    if (last?.to === from && last.isSure === isSure) runs[runs.length - 1] = { ...run, from: last.from }
    else runs.push(run)
  }
  return { zones, runs, rows: unsureRows(runs) }
}

/** Return the stretches, limited to the rows from `from` to `to - 1`. */
export function stretchesWithin({ zones, runs }: Stretches, from: number, to: number): Stretches {
  const within = runs
    .map(run => ({ ...run, from: Math.max(run.from, from), to: Math.min(run.to, to) }))
    .filter(run => run.from < run.to)
  return { zones, runs: within, rows: unsureRows(within) }
}

function unsureRows(runs: readonly Run[]): number {
  return runs.reduce((sum, { from, to, isSure }) => (isSure ? sum : sum + to - from), 0)
}

/** Computed statistics of one part, for one filter. */
export class BlockZones {
  readonly #filter: BoundExpression
  readonly #columns: ReadonlyMap<string, ColumnZones>
  readonly #stored: StoredZones
  readonly #rows: number

  private constructor(
    filter: BoundExpression,
    columns: ReadonlyMap<string, ColumnZones>,
    stored: StoredZones,
    rows: number,
  ) {
    this.#filter = filter
    this.#columns = columns
    this.#stored = stored
    this.#rows = rows
  }

  /**
   * Return the computed statistics of a part for a filter. Return null if no column of the batch has computed
   * statistics that may exclude stretches. The batch must have all rows of the part, as cached columns. `stored`: the
   * stored statistics of the part. Columns with stored statistics need no computed statistics.
   */
  static of(
    filter: BoundExpression,
    { schema, columns, length }: Batch,
    stored: StoredZones,
  ): BlockZones | null {
    // Whether a filter fails must not depend on the statistics that earlier filters computed.
    if (length < fewest * stretchRows || filter.expr.cost.mayFail) return null
    const zones = new Map<string, ColumnZones>()
    for (const [i, column] of columns.entries()) {
      if (!quick.includes(column.type.kind) || stored.has(schema.fields[i]!.name)) continue
      let own = known.get(column)
      if (own === undefined) {
        own = new ColumnZones(column)
        known.set(column, own)
      }
      own.filterCount++
      if (own.isUseful) zones.set(schema.fields[i]!.name, own)
    }
    return zones.size === 0 ? null : new BlockZones(filter, zones, stored, length)
  }

  /** Return `from`, or the first row after it that may match. */
  next(from: number, end: number): number {
    let row = from
    while (row < end && !this.#mayPass(Math.floor(row / stretchRows))) {
      row = (Math.floor(row / stretchRows) + 1) * stretchRows
    }
    return Math.min(row, end)
  }

  /** Return the first row after `from` that cannot match, at most `end`. Row `from` may match. */
  until(from: number, end: number): number {
    let row = (Math.floor(from / stretchRows) + 1) * stretchRows
    while (row < end && this.#mayPass(row / stretchRows)) row += stretchRows
    return Math.min(row, end)
  }

  #mayPass(block: number): boolean {
    const known = (column: ColumnNode) => {
      const learnt = column.path.length === 1 ? this.#columns.get(column.path[0]!) : undefined
      return learnt?.of(block) ?? storedAt(this.#stored, column, block, this.#rows)
    }
    const { isTrue } = possibleTruth(this.#filter.expr, known)
    for (const column of this.#columns.values()) {
      column.checks++
      if (!isTrue) column.skipped++
    }
    return isTrue
  }
}
