/**
 * Opens the units of a text search in one column. A unit is a segment of the column's index, or a temporary segment of
 * the unindexed rows. Each unit numbers its rows from 0. The frequency of a term is computed over all units.
 */
import type { Analyzer } from '../indexes/text/analysis/analyzer.js'
import { type ScannedTerms, type ScannedTexts, scannedSegment } from '../indexes/text/search/scan.js'
import type { TextFacts, TextSegment } from '../indexes/text/segment.js'
import type { Fragment } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import type { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { RowSet } from '../primitives/row-set.js'
import { type MaybePromise, type Task, type TaskStream, wait, whenResolved } from '../primitives/task.js'
import { columnAt } from '../sql/batch-columns.js'
import { areById, type SegmentReader } from '../table/covered-segment.js'
import type { Part, TableReader } from '../table/table-reader.js'
import type { TextIndexReader, TextSegmentReader } from '../table/text-index.js'
import { knownCover, partialCover } from './probed-rows.js'
import type { RowSource } from './source.js'
import type { TextColumn, TextNode } from './text-plan.js'
import { rowPlace } from './text-rows.js'
import { exactTerms, wantedTerms } from './wanted-terms.js'

/** By fragment: the live rows that pass the filter. */
export type Passing = ReadonlyMap<Fragment, RowSet>

/**
 * Statistics of the live rows of a segment at a version: the number of rows that have a term, and the total number of
 * terms.
 */
type LiveTexts = Pick<TextFacts, 'docs' | 'tokens'>

/** One unit of a text search: a segment, and its rows at a version. */
export interface TextUnit {
  readonly segment: TextSegment
  readonly live: LiveTexts
  /** The ordinals of the rows that may be returned. Null: all rows of the segment. */
  readonly allowed: Bitset | null
  /** Whether ordinals ascend with row ids. Then rows with equal scores can be sorted by ordinal. */
  readonly isById: boolean
  /**
   * Run a task that reads the segment. Translates its errors, for example if the file was deleted because the version
   * expired.
   */
  on<T>(work: Task<T>): Task<T>
  /** Return the positions of rows, as encoded by `rowPlace`. `ordinals` must be ascending. */
  places(ordinals: Uint32Array): MaybePromise<Float64Array>
}

/** The column that a search reads, and its query. */
interface Wanted {
  readonly query: TextNode
  /** Index of the column in `TextSearch.columns`. */
  readonly column: number
}

/** Selects units of a search. */
interface WhichUnits {
  /** Whether to skip unindexed rows. */
  readonly fast: boolean
  /** The only unit to open: the number of a segment, or the number of segments for the unindexed rows. Null: all units. */
  readonly unit: number | null
}

/**
 * Open the units of a search in a column. `wanted`: the query, and the number of the column in it. `passing`: the rows
 * that may be returned; null: all live rows.
 */
export function* unitsOf(
  { index: name, path, analyzer }: TextColumn,
  wanted: Wanted,
  passing: Passing | null,
  { fast, unit }: WhichUnits,
  source: RowSource,
  pacer: Pacer,
): Task<readonly TextUnit[]> {
  const { reader } = source
  const units: TextUnit[] = []
  const index = name === null ? null : reader.textIndexes.find(known => known.name === name)!
  if (index !== null) {
    const segments = unit === null ? index.segments : index.segments.slice(unit, unit + 1)
    const openings = segments.map(segment => opening(segment, wanted, pacer.signal))
    for (const [i, segment] of segments.entries()) {
      const opened = openings[i]!
      units.push(
        passing === null && segment.isWhole && !(opened instanceof Promise)
          ? new IndexedUnit(segment, opened, opened.facts, null, reader, pacer.signal)
          : yield* indexed(segment, opened, passing, source, pacer),
      )
    }
  }
  if (fast || (unit !== null && unit !== index?.segments.length)) return units
  const covered = (index && knownCover(index)) ?? (yield* coverOf(index, source, pacer))
  if (covered.size === 0) return units
  const scan = new Scanned(path, covered, passing, source, pacer)
  const segment = yield* scan.segment(analyzer, wantedTerms(wanted.query, wanted.column))
  if (segment.rows > 0) units.push(scan.unit(segment))
  return units
}

/** Begin to open a segment, so that the segments of an index are read at the same time. */
function opening(
  segment: TextSegmentReader,
  { query, column }: Wanted,
  signal: AbortSignal | undefined,
): MaybePromise<TextSegment> {
  signal?.throwIfAborted()
  const opened = segment.known() ?? segment.openFor(exactTerms(query, column), signal)
  // If another segment fails first, nothing waits for this one.
  if (opened instanceof Promise) opened.catch(() => {})
  return opened
}

function* indexed(
  segment: SegmentReader<TextSegment>,
  opening: MaybePromise<TextSegment>,
  passing: Passing | null,
  { reader }: RowSource,
  pacer: Pacer,
): Task<TextUnit> {
  const { signal } = pacer
  const opened = yield* wait(opening)
  const alive = (yield* wait(segment.liveOrdinals(reader, signal)))?.bits ?? null
  const live = alive === null ? opened.facts : yield* liveTexts(segment, opened, alive, pacer)
  let allowed = alive
  if (passing !== null) {
    const rowsOf = (fragment: Fragment) => passing.get(fragment) ?? RowSet.none(fragment.rows)
    allowed = yield* wait(segment.ordinalsOf(rowsOf, pacer))
  }
  return new IndexedUnit(segment, opened, live, allowed, reader, signal)
}

/**
 * Computed statistics by segment reader, because every search needs them. They do not change, because a segment reader
 * belongs to one version.
 */
const countedTexts = new WeakMap<SegmentReader<TextSegment>, LiveTexts>()
/** Number of rows that are counted between two checks whether to let the event loop run. */
const countedAtOnce = 256 * 1024

function* liveTexts(
  segment: SegmentReader<TextSegment>,
  { rows, lengths }: TextSegment,
  alive: Bitset,
  pacer: Pacer,
): Task<LiveTexts> {
  let live = countedTexts.get(segment)
  if (live !== undefined) return live
  let docs = 0
  let tokens = 0
  for (let from = 0; from < rows; from += countedAtOnce) {
    const to = Math.min(rows, from + countedAtOnce)
    for (let row = from; row < to; row++) {
      if (lengths[row] === 0 || !alive.has(row)) continue
      docs++
      tokens += lengths[row]!
    }
    if (pacer.due()) yield pacer.pause()
  }
  live = { docs, tokens }
  countedTexts.set(segment, live)
  return live
}

/**
 * A segment of an index as a unit. This is a class, because creating an object literal with a generator method takes
 * longer than running the method.
 */
class IndexedUnit implements TextUnit {
  readonly segment: TextSegment
  readonly live: LiveTexts
  readonly allowed: Bitset | null
  readonly #from: SegmentReader<TextSegment>
  readonly #reader: TableReader
  readonly #signal: AbortSignal | undefined

  constructor(
    from: SegmentReader<TextSegment>,
    segment: TextSegment,
    live: LiveTexts,
    allowed: Bitset | null,
    reader: TableReader,
    signal: AbortSignal | undefined,
  ) {
    this.segment = segment
    this.live = live
    this.allowed = allowed
    this.#from = from
    this.#reader = reader
    this.#signal = signal
  }

  get isById(): boolean {
    return this.#from.isById
  }

  on<T>(work: Task<T>): Task<T> {
    return this.#from.on(work, this.#signal)
  }

  places(ordinals: Uint32Array): MaybePromise<Float64Array> {
    return whenResolved(this.#from.place(ordinals), placed => {
      const places = new Float64Array(ordinals.length)
      let count = 0
      for (const { fragment, offsets } of placed) {
        const number = this.#reader.positionOf(fragment.id)!
        for (let i = 0; i < offsets.length; i++) places[count++] = rowPlace(number, offsets[i]!)
      }
      return places
    })
  }
}

/**
 * Return the rows that the index covers, for each fragment that it does not cover completely. Without an index, it
 * covers no rows.
 */
function* coverOf(
  index: TextIndexReader | null,
  { reader }: RowSource,
  pacer: Pacer,
): Task<ReadonlyMap<Fragment, RowSet>> {
  if (index !== null) return yield* partialCover(index, reader, pacer)
  return new Map(reader.layout.fragments.map(fragment => [fragment, RowSet.none(fragment.rows)]))
}

/** Rows of a part that were added to the temporary segment. */
interface Piece {
  readonly part: Part
  /** Offsets of the rows in the part. Null: all rows of the part. */
  readonly rows: Uint32Array | null
  /** Ordinal of the first row in the segment. */
  readonly first: number
}

/** Reads the unindexed live rows, and builds a temporary segment of them. */
class Scanned {
  readonly #path: readonly string[]
  readonly #covered: ReadonlyMap<Fragment, RowSet>
  readonly #passing: Passing | null
  readonly #source: RowSource
  readonly #pacer: Pacer
  readonly #pieces: Piece[] = []
  #rows = 0

  constructor(
    path: readonly string[],
    covered: ReadonlyMap<Fragment, RowSet>,
    passing: Passing | null,
    source: RowSource,
    pacer: Pacer,
  ) {
    this.#path = path
    this.#covered = covered
    this.#passing = passing
    this.#source = source
    this.#pacer = pacer
  }

  segment(analyzer: Analyzer, wanted: ScannedTerms): Task<TextSegment> {
    return scannedSegment(this.#texts(), analyzer, wanted, this.#pacer)
  }

  *#texts(): TaskStream<ScannedTexts> {
    const { reader } = this.#source
    const { signal } = this.#pacer
    for (const [fragment, covered] of this.#covered) {
      for (const part of yield* wait(reader.partsOf(fragment, signal))) {
        const left = RowSet.all(part.rows).andNot(covered.slice(part.first, part.first + part.rows))
        const live = yield* wait(reader.live(part, signal))
        const rows = live === null ? left : left.within(live)
        if (rows.isNone) continue
        const piece = { part, rows: rows.isAll ? null : rows.toIndices(), first: this.#rows }
        this.#pieces.push(piece)
        this.#rows += rows.count
        const batch = yield* wait(this.#source.partBatch(part, [this.#path[0]!]))
        yield { column: columnAt(batch, this.#path), rows: piece.rows }
      }
    }
  }

  /** Return the temporary segment as a unit. The segment must be complete. */
  unit(segment: TextSegment): TextUnit {
    const allowed = this.#passing === null ? null : this.#allowed(this.#passing)
    return new ScannedUnit(segment, allowed, this.#pieces, this.#source.reader)
  }

  #allowed(passing: Passing): Bitset {
    const bits = new Bitset(this.#rows)
    for (const { part, rows, first } of this.#pieces) {
      const own = passing.get(part.fragment)?.slice(part.first, part.first + part.rows)
      if (own === undefined || own.isNone) continue
      if (rows === null) own.addTo(bits, first)
      else {
        const among = own.toBits()
        for (let i = 0; i < rows.length; i++) if (among.has(rows[i]!)) bits.add(first + i)
      }
    }
    return bits
  }
}

/** The temporary segment of the unindexed rows as a unit. */
class ScannedUnit implements TextUnit {
  readonly segment: TextSegment
  readonly allowed: Bitset | null
  readonly #pieces: readonly Piece[]
  readonly #reader: TableReader

  constructor(segment: TextSegment, allowed: Bitset | null, pieces: readonly Piece[], reader: TableReader) {
    this.segment = segment
    this.allowed = allowed
    this.#pieces = pieces
    this.#reader = reader
  }

  /** The statistics of all rows of the segment, because it has only live rows. */
  get live(): LiveTexts {
    return this.segment.facts
  }

  get isById(): boolean {
    return areById(
      this.#pieces.map(({ part: { fragment, first, rows } }) => ({
        fragment,
        from: first,
        to: first + rows,
      })),
    )
  }

  on<T>(work: Task<T>): Task<T> {
    return work
  }

  places(ordinals: Uint32Array): Float64Array {
    const pieces = this.#pieces
    return Float64Array.from(ordinals, ordinal => {
      const number = partitionPoint(pieces.length, i => pieces[i]!.first <= ordinal) - 1
      const { part, rows, first } = pieces[number]!
      const offset = rows === null ? ordinal - first : rows[ordinal - first]!
      return rowPlace(this.#reader.positionOf(part.fragment.id)!, part.first + offset)
    })
  }
}
