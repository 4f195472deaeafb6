/**
 * Reads some rows of stored columns without loading whole columns. Reads in rounds: one round reads blocks of all
 * requested columns and files in parallel. Strings and lists need several rounds, because the addresses of their values
 * are known only after their offsets are read.
 */
import type { SumsPlace } from '../arrow/block-sums.js'
import type { Column } from '../arrow/column.js'
import { ColumnTooLarge } from '../arrow/column-too-large.js'
import { concatColumns } from '../arrow/concat.js'
import type { ColumnRange } from '../arrow/file-layout.js'
import { type Gathering, gatherRows } from '../arrow/gather-rows.js'
import type { Field } from '../arrow/types.js'
import type { Pacer } from '../primitives/pacer.js'
import { type Task, wait } from '../primitives/task.js'
import { BlockReader } from './block-reader.js'
import { readDictionaries } from './data-file.js'
import { readCost } from './read-cost.js'
import type { TableSource } from './table-source.js'
import { inFile } from './verified-range.js'

/** The location of a column of one record batch in a data file. */
export interface StoredColumn {
  readonly path: string
  readonly layout: SumsPlace
  readonly range: ColumnRange
  readonly field: Field
}

interface Fetch {
  readonly path: string
  readonly reader: BlockReader
  readonly gathering: Gathering<Column>
  readonly done: (column: Column) => void
}

/** Maximum number of rows that are gathered in one step, so that no step blocks the event loop for long. */
const rowsAtOnce = 1024
/** Consecutive rows may be more than `rowsAtOnce` in one step, up to this many bytes. */
const runBytes = 1024 * 1024
/** Maximum cost (`blockCost`) of the rows that are gathered in one step. Rows with long values take more steps. */
const costAtOnce = 8 * 1024 * 1024
/** Maximum bytes of adjacent blocks that one read joins. */
const joinedBytes = 64 * 1024

/**
 * Estimate the cost of reading rows block by block. The unit is one byte of a long read: reading the whole column costs
 * its size. `rows`: the row numbers in the batch, in any order.
 */
export function blockCost(
  { nodes, buffers, blocks, bytes, firstSum }: ColumnRange,
  rows: Uint32Array,
): number {
  if (firstSum === null || rows.length === 0) return bytes
  let [least, greatest] = [rows[0]!, rows[0]!]
  /** The number of runs of consecutive rows. */
  let runs = 1
  for (let i = 1; i < rows.length; i++) {
    const row = rows[i]!
    if (row < least) least = row
    if (row > greatest) greatest = row
    if (row !== rows[i - 1]! + 1) runs++
  }
  let cost = 0
  for (const [i, block] of blocks.entries()) {
    const perRow = buffers[2 * i + 1]! / nodes[0]!
    const following = perRow * (rows.length - runs)
    const within = perRow * (greatest - least + 1)
    const touched = Math.min(runs + Math.ceil(following / block), Math.ceil(within / block) + 1)
    const reads = Math.min(touched, runs + Math.ceil(following / joinedBytes))
    if (within > 0) cost += touched * block + reads * readCost
  }
  return cost
}

/** Collects requests for rows of stored columns, and reads their blocks together. */
export class RowFetcher {
  readonly #source: TableSource
  readonly #pacer: Pacer
  readonly #readers = new Map<string, BlockReader>()
  #tasks: Fetch[] = []
  /** The fill level of the rows that the next `finish` reads, from 0 to 1 (full). */
  #filled = 0
  /** The cost (`blockCost`) of these rows. */
  #cost = 0

  constructor(source: TableSource, pacer: Pacer) {
    this.#source = source
    this.#pacer = pacer
  }

  /**
   * Request some rows of a column. Calls `done` with these rows when they are read. They are read by `finish`, or
   * earlier when enough rows are requested.
   */
  *fetch(
    { path, layout, range, field }: StoredColumn,
    rows: Uint32Array,
    done: (column: Column) => void,
  ): Task<void> {
    const dictionaries = yield* wait(readDictionaries(this.#source, path, range))
    let reader = this.#readers.get(path)
    if (reader === undefined) {
      reader = new BlockReader(this.#source, path, layout)
      this.#readers.set(path, reader)
    }
    const bytes = reader.buffersOf(range)
    const pieces: Column[] = []
    let requested = 0
    let received = 0
    let isComplete = false
    const most = Math.max(rowsAtOnce, Math.floor((runBytes * range.nodes[0]!) / range.bytes))
    let from = 0
    do {
      const to = endOfPiece(rows, from, most)
      const some = to - from === rows.length ? rows : rows.subarray(from, to)
      const number = requested++
      isComplete = to === rows.length
      const arrived = (column: Column) => {
        pieces[number] = column
        received++
        if (isComplete && received === requested) done(pieces.length === 1 ? column : concatColumns(pieces))
      }
      const gathering = gatherRows(field, range, some, bytes, dictionaries)
      this.#tasks.push({ path, reader, gathering, done: arrived })
      this.#filled += some.length / (some.length > rowsAtOnce ? most : rowsAtOnce)
      this.#cost += blockCost(range, some)
      if (this.#filled >= 1 || this.#cost >= costAtOnce) yield* this.finish()
      from = to
    } while (!isComplete)
  }

  /** Read all requested rows that are not read yet. */
  *finish(): Task<void> {
    let running = this.#tasks
    this.#tasks = []
    this.#filled = 0
    this.#cost = 0
    for (;;) {
      running = running.filter(advanced)
      if (running.length === 0) return
      yield* this.#readBlocks()
      if (this.#pacer.due()) yield this.#pacer.pause()
    }
  }

  /** Read and check the blocks that the requests for rows need next. */
  *#readBlocks(): Task<void> {
    const fetching: Promise<void>[] = []
    for (const reader of this.#readers.values()) {
      // The store may read synchronously for about a millisecond per file.
      if (this.#pacer.due()) yield this.#pacer.pause()
      const fetched = reader.fetch(this.#pacer.signal)
      if (!(fetched instanceof Promise)) continue
      fetched.catch(() => {})
      fetching.push(fetched)
    }
    if (fetching.length > 0) yield Promise.all(fetching)
    for (const reader of this.#readers.values()) yield* reader.check(this.#pacer)
  }
}

/**
 * Return the end of the piece that begins at `from`. A piece of consecutive rows has at most `most` rows; any other
 * piece has at most `rowsAtOnce` rows.
 */
function endOfPiece(rows: Uint32Array, from: number, most: number): number {
  let to = from + 1
  while (to < rows.length && to - from < most && rows[to] === rows[to - 1]! + 1) to++
  return Math.min(rows.length, Math.max(to, from + rowsAtOnce))
}

/** Advance a request for rows. Returns false when the request is complete. */
function advanced({ path, gathering, done }: Fetch): boolean {
  const { done: isDone, value } = next(path, gathering)
  if (isDone === true) done(value)
  return isDone !== true
}

/**
 * Advance a generator of `gatherRows`. Adds the path to its errors, except to `ColumnTooLarge`, because then the file
 * is not damaged.
 */
function next(path: string, gathering: Gathering<Column>): IteratorResult<void, Column> {
  try {
    return gathering.next()
  } catch (error) {
    if (error instanceof ColumnTooLarge) throw error
    return inFile(path, () => {
      throw error
    })
  }
}
