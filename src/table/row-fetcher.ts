/**
 * Reads some rows of stored columns without loading the columns. Reads the blocks of all columns and files at once, in
 * as many dependent rounds as the most deeply nested column needs.
 */
import type { Column } from '../arrow/column.js'
import { ColumnTooLarge } from '../arrow/column-too-large.js'
import { concatColumns } from '../arrow/concat.js'
import type { ColumnRange } from '../arrow/file-layout.js'
import type { FileLayout } from '../arrow/file-reader.js'
import { type Gathering, gatherRows } from '../arrow/gather-rows.js'
import type { Field } from '../arrow/types.js'
import type { Pacer } from '../primitives/pacer.js'
import { type Task, wait } from '../primitives/task.js'
import { BlockReader } from './block-reader.js'
import { readDictionaries } from './data-file.js'
import { readCost } from './read-cost.js'
import type { TableSource } from './table-source.js'
import { inFile } from './verified-range.js'

/** A column of one batch of a file. */
export interface StoredColumn {
  readonly path: string
  readonly layout: FileLayout
  readonly range: ColumnRange
  readonly field: Field
}

interface Fetch {
  readonly path: string
  readonly reader: BlockReader
  readonly gathering: Gathering<Column>
  readonly done: (column: Column) => void
}

/** Rows that are gathered at once, so that no step blocks the event loop for long. */
const rowsAtOnce = 1024
/** Bytes of consecutive rows that are gathered at once, if these are more rows than `rowsAtOnce`. */
const runBytes = 1024 * 1024
/** Cost limit of rows that are gathered at once, as in `blockCost`: rows of long values are gathered a few at a time. */
const costAtOnce = 8 * 1024 * 1024
/** Bytes of neighbouring blocks that one read takes. */
const joinedBytes = 64 * 1024

/** Estimate the cost of reading rows block by block, in bytes of a read of the whole column. */
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
  /** How far the next group of rows is filled (1: full), and its cost. */
  #filled = 0
  #cost = 0

  constructor(source: TableSource, pacer: Pacer) {
    this.#source = source
    this.#pacer = pacer
  }

  /** Request some rows of a column: `done` is called with them once they are read. Reads if enough rows were requested. */
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
    let asked = 0
    let came = 0
    let isAll = false
    const most = Math.max(rowsAtOnce, Math.floor((runBytes * range.nodes[0]!) / range.bytes))
    let from = 0
    do {
      const to = endOfPiece(rows, from, most)
      const some = rows.subarray(from, to)
      const number = asked++
      isAll = to === rows.length
      const arrived = (column: Column) => {
        pieces[number] = column
        came++
        if (isAll && came === asked) done(pieces.length === 1 ? column : concatColumns(pieces))
      }
      const gathering = gatherRows(field, range, some, bytes, dictionaries)
      this.#tasks.push({ path, reader, gathering, done: arrived })
      this.#filled += some.length / (some.length > rowsAtOnce ? most : rowsAtOnce)
      this.#cost += blockCost(range, some)
      if (this.#filled >= 1 || this.#cost >= costAtOnce) yield* this.finish()
      from = to
    } while (!isAll)
  }

  /** Read all rows that were requested. */
  *finish(): Task<void> {
    let left = this.#tasks
    this.#tasks = []
    this.#filled = 0
    this.#cost = 0
    while (left.length > 0) {
      left = left.filter(advanced)
      const readers = new Set(left.map(({ reader }) => reader))
      const fetching: Promise<void>[] = []
      try {
        for (const reader of readers) {
          const fetched = reader.fetch(this.#pacer.signal)
          if (fetched instanceof Promise) fetching.push(fetched)
        }
      } catch (error) {
        for (const fetched of fetching) fetched.catch(() => {})
        throw error
      }
      if (fetching.length > 0) yield Promise.all(fetching)
      for (const reader of readers) yield* reader.check(this.#pacer)
      if (this.#pacer.due()) yield this.#pacer.pause()
    }
  }
}

/** Return the end of the next piece: at most `most` consecutive rows, or `rowsAtOnce` others. */
function endOfPiece(rows: Uint32Array, from: number, most: number): number {
  let to = from + 1
  while (to < rows.length && to - from < most && rows[to] === rows[to - 1]! + 1) to++
  return Math.min(rows.length, Math.max(to, from + rowsAtOnce))
}

/** Advance a task. Returns false when the task has ended. */
function advanced({ path, gathering, done }: Fetch): boolean {
  const { done: isDone, value } = next(path, gathering)
  if (isDone === true) done(value)
  return isDone !== true
}

/** Advance a gathering. `ColumnTooLarge` is not an error of the file, so it does not name the file. */
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
