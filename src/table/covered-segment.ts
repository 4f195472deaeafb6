/**
 * Maps the ordinals of a vector or text index segment to the rows of the fragments of one version, and rows to
 * ordinals.
 */
import { filePath } from '../manifest/file-names.js'
import type { FragmentsById } from '../manifest/fragments-by-id.js'
import type { CoveredSegment } from '../manifest/index-cover.js'
import type { Fragment, Layout } from '../manifest/layout.js'
import { type CoverItem, type IndexSegment, rowsOfItem } from '../manifest/table-index.js'
import { Bitset } from '../primitives/bitset.js'
import { NumberRuns } from '../primitives/number-runs.js'
import { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import type { RowSet } from '../primitives/row-set.js'
import { type MaybePromise, runTask, type Task, wait, whenResolved } from '../primitives/task.js'
import { arrived, waitedFor } from './arrived.js'
import { itemsByFragment, rowsOfItems } from './index-cover.js'
import { readStoredRuns } from './stored-runs.js'
import type { TableSource } from './table-source.js'

/** Some rows of a fragment. */
interface PlacedRows {
  readonly fragment: Fragment
  /** Offsets of the rows in the fragment, ascending. */
  readonly offsets: Uint32Array
}

/** Some rows of a segment, by ordinal. */
export interface AllowedRows {
  readonly bits: Bitset
  /** The number of rows in `bits`. */
  readonly count: number
}

/** Reads the live rows of fragments. */
interface LiveRowsReader {
  liveIn(fragment: Fragment, pacer: Pacer): Promise<RowSet>
}

/** Returns a set of rows of a fragment, for example its live rows. */
type RowsOf = (fragment: Fragment) => MaybePromise<RowSet>

/** The version that the segments of an index belong to. */
export interface IndexedVersion {
  readonly source: TableSource
  readonly location: string
  readonly layout: Layout
  readonly fragments: Pick<FragmentsById, 'get'>
}

/** Opens the file of a segment, or returns the cached segment. */
export type OpenSegment<S> = (path: string, segment: IndexSegment) => MaybePromise<S>

/** A segment of an index at one version. `S`: the decoded segment file. */
export class SegmentReader<S> {
  /** The number of rows in the segment. */
  readonly rows: number
  /** The path of the segment's file. */
  readonly path: string
  /** Whether all rows of the segment are live rows of the version. */
  readonly isWhole: boolean
  readonly #version: IndexedVersion
  readonly #covered: CoveredSegment
  readonly #items: ReadonlyMap<number, readonly CoverItem[]>
  readonly #open: OpenSegment<S>
  /** The number of live rows. Undefined until `liveOrdinals` has counted them. */
  #liveCount: number | undefined
  #isById: boolean | undefined

  /** `path`: default is the path of a file of Sheaf. For a segment of LanceDB, it is a key that only this segment has. */
  constructor(version: IndexedVersion, covered: CoveredSegment, open: OpenSegment<S>, path?: string) {
    const { segment, items } = covered
    this.rows = segment.rows
    this.#version = version
    this.path = path ?? `${version.location}/${filePath('indexes', segment.file)}`
    this.#covered = covered
    this.#open = open
    this.#items = itemsByFragment(items)
    const left = items.reduce((sum, item) => sum + rowsOfItem(item), 0)
    this.isWhole = left === segment.rows && this.fragments.every(({ dead }) => dead.count === 0)
  }

  /**
   * True if ascending ordinals have ascending row ids. False if the version's manifest does not show it, because it
   * stores the ids of a fragment in a file.
   */
  get isById(): boolean {
    this.#isById ??= areById(
      this.#covered.items.map(item => ({
        fragment: this.#version.fragments.get(item.fragment)!,
        from: item.at,
        to: item.at + rowsOfItem(item),
      })),
    )
    return this.#isById
  }

  /** Bytes of the segment's file. */
  get fileBytes(): number {
    return this.#covered.segment.bytes
  }

  /** The fragments with rows in the segment. */
  get fragments(): readonly Fragment[] {
    return [...this.#items.keys()].map(id => this.#version.fragments.get(id)!)
  }

  /** Return the rows of a fragment that the segment covers. Reads nothing. */
  covered({ id, rows }: Fragment): RowSet {
    return rowsOfItems(this.#items.get(id) ?? [], rows)
  }

  /** Return the open segment. If it is not open yet, read its file. */
  open(signal?: AbortSignal): MaybePromise<S> {
    return arrived(this.#version, this.#open(this.path, this.#covered.segment), signal)
  }

  /** Return the ordinals of live rows, or null if all rows are live. `reader`: a table reader of the same version. */
  liveOrdinals(reader: LiveRowsReader, signal?: AbortSignal): MaybePromise<AllowedRows | null> {
    if (this.isWhole) return null
    const { source, layout } = this.#version
    const key = `${this.path}@${layout.version}`
    // Other callers may share this load, so the signal of this caller must not end it.
    const make = async () => {
      const pacer = new Pacer()
      return this.ordinalsOf(fragment => reader.liveIn(fragment, pacer), pacer)
    }
    return whenResolved(arrived(this.#version, source.live.get(key, make, this.path), signal), bits => {
      this.#liveCount ??= bits.count()
      return { bits, count: this.#liveCount }
    })
  }

  /** Call `rowsOf` for each fragment of the segment, and return the ordinals of the returned rows. */
  ordinalsOf(rowsOf: RowsOf, pacer: Pacer): MaybePromise<Bitset> {
    return runTask(this.#ordinalsOf(rowsOf, pacer))
  }

  *#ordinalsOf(rowsOf: RowsOf, pacer: Pacer): Task<Bitset> {
    const bits = new Bitset(this.rows)
    for (const item of this.#covered.items) {
      const rows = yield* wait(rowsOf(this.#version.fragments.get(item.fragment)!))
      if (rows.isNone) continue
      const own = rows.slice(item.at, item.at + rowsOfItem(item))
      const gone = yield* wait(this.#gone(item))
      if (gone === null) own.addTo(bits, item.first)
      else addBetween(own, gone, bits, item.first)
      if (pacer.due()) yield pacer.pause()
    }
    return bits
  }

  /** Return the rows of `ordinals`, which must be ascending. Omits rows that are not in this version. */
  place(ordinals: Uint32Array): MaybePromise<readonly PlacedRows[]> {
    return runTask(this.#place(ordinals))
  }

  *#place(ordinals: Uint32Array): Task<readonly PlacedRows[]> {
    const { items } = this.#covered
    const placed: PlacedRows[] = []
    for (let from = 0, to: number; from < ordinals.length; from = to) {
      const item = itemFrom(items, ordinals[from]!)
      if (item === undefined) break
      const end = item.first + item.count
      while (from < ordinals.length && ordinals[from]! < item.first) from++
      for (to = from; to < ordinals.length && ordinals[to]! < end; ) to++
      const gone = item.gone === undefined ? null : yield* wait(this.#gone(item))
      const offsets = new Uint32Array(to - from)
      let count = 0
      for (let i = from; i < to; i++) {
        const row = ordinals[i]! - item.first
        if (gone === null) offsets[count++] = item.at + row
        else if (!gone.has(row)) offsets[count++] = item.at + row - gone.rankOf(row)
      }
      if (count === 0) continue
      const fragment = this.#version.fragments.get(item.fragment)!
      placed.push({ fragment, offsets: count === offsets.length ? offsets : offsets.subarray(0, count) })
    }
    return placed
  }

  #gone({ gone }: CoverItem): MaybePromise<NumberRuns | null> {
    if (gone === undefined) return null
    const { source, location } = this.#version
    return arrived(this.#version, readStoredRuns(source, location, gone, NumberRuns.decode), undefined)
  }

  /**
   * Run a task that may read more of the segment's file. If a read fails, throw the explanation of the source
   * (`TableSource.explain`).
   */
  *on<T>(work: Task<T>, signal: AbortSignal | undefined): Task<T> {
    try {
      for (let next = work.next(); ; next = work.next()) {
        if (next.done === true) return next.value
        yield waitedFor(this.#version, next.value, signal)
      }
    } finally {
      work.return(undefined as never)
    }
  }
}

/**
 * Return whether the row ids ascend over all `pieces`. A piece is the rows `from .. to - 1` of a fragment. Return false
 * if the version's manifest stores the ids of a fragment in a file: the ids may then ascend, but the file is not read.
 */
export function areById(
  pieces: Iterable<{ readonly fragment: Fragment; readonly from: number; readonly to: number }>,
): boolean {
  let next = 0
  for (const { fragment, from, to } of pieces) {
    if (!('row0' in fragment.ids) || fragment.ids.row0 + from < next) return false
    next = fragment.ids.row0 + to
  }
  return true
}

/** Return the first item of a row mapping whose end is greater than `ordinal`. Undefined: there is none. */
function itemFrom(items: readonly CoverItem[], ordinal: number): CoverItem | undefined {
  return items[partitionPoint(items.length, i => items[i]!.first + items[i]!.count <= ordinal)]
}

/**
 * Add rows to `bits`, shifted by `by`. A compaction may have removed rows of the segment: `starts` and `ranks` are the
 * runs of these removed rows. The numbers in `rows` do not count the removed rows; the numbers in `bits` count them.
 */
function addBetween(rows: RowSet, { starts, ranks }: NumberRuns, bits: Bitset, by: number): void {
  let run = 0
  for (const row of rows.toIndices()) {
    // Skip the runs of removed rows before this row. `ranks[run]` is the number of removed rows in the skipped runs.
    while (run < starts.length && starts[run]! - ranks[run]! <= row) run++
    bits.add(by + row + ranks[run]!)
  }
}
