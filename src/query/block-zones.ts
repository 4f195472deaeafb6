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
import { sliceColumn } from '../arrow/slice.js'
import { costOf } from '../sql/binding/cost.js'
import type { BoundExpression, ColumnNode } from '../sql/bound.js'
import { type KnownColumn, possibleTruth } from '../sql/zones/prune.js'
import { type Zone, zoneOf } from '../sql/zones/zone.js'

/** Rows of a stretch: looking at them takes some ten times as long as asking whether one is needed. */
const blockRows = 8 * 1024
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
    const first = block * blockRows
    const rows = Math.min(blockRows, this.#column.length - first)
    let zone = this.#zones[block]
    if (zone === undefined) {
      zone = zoneOf(sliceColumn(this.#column, first, rows))
      this.#zones[block] = zone
    }
    return { zone, rows }
  }
}

const known = new WeakMap<Column, ColumnZones>()

/** The rows of one part, as far as a filter has to look at them. */
export class BlockZones {
  readonly #filter: BoundExpression
  readonly #columns: ReadonlyMap<string, ColumnZones>

  private constructor(filter: BoundExpression, columns: ReadonlyMap<string, ColumnZones>) {
    this.#filter = filter
    this.#columns = columns
  }

  /** `batch`: all rows of the part, as they are kept. Null where nothing is known that could help. */
  static of(filter: BoundExpression, { schema, columns, length }: Batch): BlockZones | null {
    // What fails for a row must not depend on what was learnt before.
    if (length < fewest * blockRows || costOf(filter.expr).mayFail) return null
    const zones = new Map<string, ColumnZones>()
    for (const [i, column] of columns.entries()) {
      if (!quick.includes(column.type.kind)) continue
      let own = known.get(column)
      if (own === undefined) {
        own = new ColumnZones(column)
        known.set(column, own)
      }
      own.looks++
      if (own.isWorthAsking) zones.set(schema.fields[i]!.name, own)
    }
    return zones.size === 0 ? null : new BlockZones(filter, zones)
  }

  /** Row `from`, or the first row after it that may pass. */
  next(from: number, end: number): number {
    let row = from
    while (row < end && !this.#mayPass(Math.floor(row / blockRows))) {
      row = (Math.floor(row / blockRows) + 1) * blockRows
    }
    return Math.min(row, end)
  }

  /** The first row after `from`, which may pass, that need not be looked at; `end` where that is beyond. */
  until(from: number, end: number): number {
    let row = (Math.floor(from / blockRows) + 1) * blockRows
    while (row < end && this.#mayPass(row / blockRows)) row += blockRows
    return Math.min(row, end)
  }

  #mayPass(block: number): boolean {
    const zone = ({ path }: ColumnNode) => {
      return path.length === 1 ? (this.#columns.get(path[0]!)?.of(block) ?? null) : null
    }
    const { isTrue } = possibleTruth(this.#filter.expr, zone)
    for (const column of this.#columns.values()) {
      column.asked++
      if (!isTrue) column.passedOver++
    }
    return isTrue
  }
}
