/**
 * Between which values stretches of a column lie that is in memory, learnt while filters look at it: of a key that rises with its
 * rows, like most that are given out one after the other, a filter that asks for one value looks at one stretch.
 *
 * - The second filter that looks at a column learns of each stretch it comes to; the first may be the only one.
 * - What is known lives as long as the column, and takes less than a hundredth of it.
 * - Where it has hardly ever told anything, it is not asked any more.
 * - Filters that can fail look at every row: they fail for the same ones every time.
 */
import type { Batch, Column } from '../arrow/column.js'
import { stretchRows } from '../arrow/file-layout.js'
import { sliceColumn } from '../arrow/slice.js'
import { type Bound, type BoundExpression, type ColumnNode, columnsOf } from '../sql/bound.js'
import { costOf } from '../sql/cost.js'
import { type KnownColumn, possibleTruth } from '../sql/zones/prune.js'
import type { StretchZones } from '../sql/zones/stretches.js'
import { type Zone, zoneOf } from '../sql/zones/zone.js'

/** A column with fewer stretches is looked at as a whole. */
const fewest = 4
/** Stretches that are asked about before it counts how many of them could be passed over, and one in so many that must have been. */
const trial = { asked: 256, oneIn: 16 } as const

/** Kinds whose least and greatest value are found about as fast as a value is compared. */
const quick: readonly string[] = ['int', 'float', 'date', 'time', 'timestamp', 'duration']

/** What is known of one column. */
class ColumnZones {
  /** Filters that have begun to look at it. */
  looks = 0
  asked = 0
  passedOver = 0
  readonly #column: Column
  readonly #zones: (Zone | null)[] = []

  constructor(column: Column) {
    this.#column = column
  }

  get isWorthAsking(): boolean {
    return this.looks > 1 && (this.asked < trial.asked || this.passedOver * trial.oneIn >= this.asked)
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

const known = new WeakMap<Column, ColumnZones>()

/** What files say of the stretches of a part, by column. */
export type StoredZones = ReadonlyMap<string, StretchZones>

/** The stretches of a part that may hold rows which pass. */
export interface Stretches {
  readonly zones: StoredZones
  /** Ascending; neighbours of the same sort are one run. */
  readonly runs: readonly Run[]
  /** Rows of which it is not sure whether they pass. */
  readonly rows: number
}

/** The rows from `from` up to `to`. */
export interface Run {
  readonly from: number
  readonly to: number
  /** All of them pass. */
  readonly isSure: boolean
}

/** What is stored of a stretch of a part of `rows` rows. */
function storedAt(zones: StoredZones, { path }: ColumnNode, block: number, rows: number): KnownColumn | null {
  // What has zones has no fields.
  const zone = zones.get(path[0]!)?.each[block]
  return zone === undefined ? null : { zone, rows: Math.min(stretchRows, rows - block * stretchRows) }
}

/**
 * The stretches of a part of `rows` rows that a filter has to look at, by what is stored; null where nothing is that could help. `others`:
 * what is known of other columns.
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
  /** Conditions of which stretches may tell more than the part. */
  const open: Bound[] = []
  let isRestSure = true
  for (const condition of filter.expr.kind === 'and' ? filter.expr.operands : [filter.expr]) {
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

/** The same within the rows from `from` up to `to`. */
export function stretchesWithin({ zones, runs }: Stretches, from: number, to: number): Stretches {
  const within = runs
    .map(run => ({ ...run, from: Math.max(run.from, from), to: Math.min(run.to, to) }))
    .filter(run => run.from < run.to)
  return { zones, runs: within, rows: unsureRows(within) }
}

function unsureRows(runs: readonly Run[]): number {
  return runs.reduce((sum, { from, to, isSure }) => (isSure ? sum : sum + to - from), 0)
}

/** The rows of one part, as far as a filter has to look at them. */
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
   * `batch`: all rows of the part, as they are kept. Null where nothing is known that could help beyond what is stored, by which
   * stretches were chosen before.
   */
  static of(
    filter: BoundExpression,
    { schema, columns, length }: Batch,
    stored: StoredZones,
  ): BlockZones | null {
    // What fails for a row must not depend on what was learnt before.
    if (length < fewest * stretchRows || costOf(filter.expr).mayFail) return null
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

  /** Row `from`, or the first row after it that may pass. */
  next(from: number, end: number): number {
    let row = from
    while (row < end && !this.#mayPass(Math.floor(row / stretchRows))) {
      row = (Math.floor(row / stretchRows) + 1) * stretchRows
    }
    return Math.min(row, end)
  }

  /** The first row after `from`, which may pass, that need not be looked at; `end` where that is beyond. */
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
      column.asked++
      if (!isTrue) column.passedOver++
    }
    return isTrue
  }
}
