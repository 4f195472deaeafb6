/**
 * Learns the min/max statistics of stretches of a column in memory, while filters read them. For example, a filter for one value
 * of an ascending key then reads one stretch.
 *
 * - The second filter on a column starts to learn; many columns are filtered only once.
 * - Statistics live as long as the column, and take less than 1 % of its memory.
 * - If the statistics of a column hardly ever exclude a stretch, filters no longer use them.
 * - Filters that can fail read every row, so that they always fail for the same rows.
 */
import type { Batch, Column } from '../arrow/column.js'
import { stretchRows } from '../arrow/file-layout.js'
import { sliceColumn } from '../arrow/slice.js'
import { type Bound, type BoundExpression, type ColumnNode, columnsOf } from '../sql/bound.js'
import { type KnownColumn, possibleTruth } from '../sql/zones/prune.js'
import type { StretchZones } from '../sql/zones/stretches.js'
import { type Zone, zoneOf } from '../sql/zones/zone.js'

/** A column with fewer stretches is always read as a whole. */
const fewest = 4
/** After `checks` checks of stretches, statistics are used only if at least one in `oneIn` checks excluded a stretch. */
const trial = { checks: 256, oneIn: 16 } as const

/** Kinds for which finding the minimum and maximum is about as fast as a comparison. */
const quick: readonly string[] = ['int', 'float', 'date', 'time', 'timestamp', 'duration']

/** Statistics of one column. */
class ColumnZones {
  /** Number of filters that started to read it. */
  looks = 0
  checks = 0
  skipped = 0
  readonly #column: Column
  readonly #zones: (Zone | null)[] = []

  constructor(column: Column) {
    this.#column = column
  }

  get isWorthAsking(): boolean {
    return this.looks > 1 && (this.checks < trial.checks || this.skipped * trial.oneIn >= this.checks)
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

/** By column, weakly: columns belong to the cache of table data, and their statistics go with them. */
const known = new WeakMap<Column, ColumnZones>()

/** Statistics of a part's stretches in files, by column. */
type StoredZones = ReadonlyMap<string, StretchZones>

/** The stretches of a part that may hold matching rows. */
export interface Stretches {
  readonly zones: StoredZones
  /** Ascending; adjacent stretches with the same `isSure` are one run. */
  readonly runs: readonly Run[]
  /** Number of rows that must be evaluated. */
  readonly rows: number
}

/** The rows from `from` up to `to`. */
export interface Run {
  readonly from: number
  readonly to: number
  /** Whether the statistics show that all rows match. */
  readonly isSure: boolean
}

/** The stored statistics of one stretch of a part of `rows` rows. */
function storedAt(zones: StoredZones, { path }: ColumnNode, block: number, rows: number): KnownColumn | null {
  // A column with statistics has no struct fields.
  const zone = zones.get(path[0]!)?.each[block]
  return zone === undefined ? null : { zone, rows: Math.min(stretchRows, rows - block * stretchRows) }
}

/**
 * Return the stretches of a part of `rows` rows in which the filter must be evaluated. Null if stored statistics exclude nothing.
 * `others`: statistics of the other columns.
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
  /** Conditions for which statistics of stretches may exclude more than those of the part. */
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

/** Return the stretches within the rows from `from` up to `to`. */
export function stretchesWithin({ zones, runs }: Stretches, from: number, to: number): Stretches {
  const within = runs
    .map(run => ({ ...run, from: Math.max(run.from, from), to: Math.min(run.to, to) }))
    .filter(run => run.from < run.to)
  return { zones, runs: within, rows: unsureRows(within) }
}

function unsureRows(runs: readonly Run[]): number {
  return runs.reduce((sum, { from, to, isSure }) => (isSure ? sum : sum + to - from), 0)
}

/** Learned statistics of one part, for one filter. */
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
   * Return the learned statistics of a part; null if they add nothing to the stored ones, which were used before. `batch`: all rows
   * of the part, as cached.
   */
  static of(
    filter: BoundExpression,
    { schema, columns, length }: Batch,
    stored: StoredZones,
  ): BlockZones | null {
    // Whether an expression fails must not depend on what was learned before.
    if (length < fewest * stretchRows || filter.expr.cost.mayFail) return null
    const zones = new Map<string, ColumnZones>()
    for (const [i, column] of columns.entries()) {
      if (!quick.includes(column.type.kind) || stored.has(schema.fields[i]!.name)) continue
      let own = known.get(column)
      if (own === undefined) {
        own = new ColumnZones(column)
        known.set(column, own)
      }
      own.looks++
      if (own.isWorthAsking) zones.set(schema.fields[i]!.name, own)
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
