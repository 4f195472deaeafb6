/** A vector index of a table at one version: its segments, and which rows of fragments their ordinals are. */

import type { VectorKind } from '../indexes/vector/kind.js'
import { openSegment } from '../indexes/vector/open.js'
import type { VectorIndexSegment } from '../indexes/vector/segment.js'
import type { Metric } from '../kernels/metric.js'
import { findFieldById } from '../manifest/field-node.js'
import { filePath } from '../manifest/file-names.js'
import { type CoveredSegment, fragmentsById } from '../manifest/index-cover.js'
import type { Fragment, Layout } from '../manifest/layout.js'
import { type CoverItem, rowsOfItem, vectorSpecOf } from '../manifest/table-index.js'
import { orAborted } from '../primitives/abort.js'
import { Bitset } from '../primitives/bitset.js'
import { NumberRuns } from '../primitives/number-runs.js'
import { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import type { RowSet } from '../primitives/row-set.js'
import { arrival, begun, type Soon, type Waits, whenThere } from '../primitives/soon.js'
import { IndexCover, itemsByFragment, rowsOfItems } from './index-cover.js'
import { openSectionFile } from './section-file.js'
import { readStoredRuns } from './stored-runs.js'
import type { TableSource } from './table-source.js'

export interface VectorIndexReader {
  readonly name: string
  readonly kind: VectorKind
  /** By which it tells near from far. */
  readonly metric: Metric
  /** Id of the column it is of. */
  readonly field: number
  /** Those that number rows of this version. */
  readonly segments: readonly SegmentReader[]
  /** The rows of a fragment of this version that it covers. Reads nothing. */
  covered(fragment: Fragment): RowSet
}

/** Rows of a fragment, by offset, ascending. */
export interface PlacedRows {
  readonly fragment: Fragment
  readonly offsets: Uint32Array
}

/** Rows of a segment, by ordinal. */
export interface AllowedRows {
  readonly bits: Bitset
  /** How many they are. */
  readonly count: number
}

/** What is known of the rows of a fragment. */
export type RowsOf = (fragment: Fragment) => Soon<RowSet>

/** Readers of those of a version's indexes that are of vectors. */
export function vectorIndexReaders(
  source: TableSource,
  location: string,
  layout: Layout,
): readonly VectorIndexReader[] {
  if (layout.indexes.length === 0) return []
  const fragments = fragmentsById(layout)
  return layout.indexes.flatMap(index => {
    const spec = vectorSpecOf(index)
    if (spec === null) return []
    const { name, field } = index
    const { kind, metric } = spec
    const { type } = findFieldById(layout.schema, field)!.at(-1)!
    const dim = type.kind === 'fixed_size_list' ? type.size : 0
    const cover = new IndexCover(index, layout, fragments)
    const version: Version = { source, location, layout, fragments, dim }
    const segments = cover.segments.map(covered => new SegmentReader(version, covered))
    return [{ name, kind, metric, field, segments, covered: fragment => cover.covered(fragment) }]
  })
}

/** What the segments of an index share. */
interface Version {
  readonly source: TableSource
  readonly location: string
  readonly layout: Layout
  readonly fragments: ReadonlyMap<number, Fragment>
  readonly dim: number
}

/** A segment at one version. */
export class SegmentReader {
  /** How many rows it numbers. */
  readonly rows: number
  readonly #version: Version
  readonly #path: string
  readonly #covered: CoveredSegment
  readonly #items: ReadonlyMap<number, readonly CoverItem[]>
  readonly #isWhole: boolean
  /** How many of its rows live; from the first time on that somebody asks. */
  #living: number | undefined

  constructor(version: Version, covered: CoveredSegment) {
    const { segment, items } = covered
    this.rows = segment.rows
    this.#version = version
    this.#path = `${version.location}/${filePath('indexes', segment.file)}`
    this.#covered = covered
    this.#items = itemsByFragment(items)
    const left = items.reduce((sum, item) => sum + rowsOfItem(item), 0)
    this.#isWhole = left === segment.rows && this.fragments.every(({ dead }) => dead.count === 0)
  }

  /** Those it numbers rows of. */
  get fragments(): readonly Fragment[] {
    return [...this.#items.keys()].map(id => this.#version.fragments.get(id)!)
  }

  /** The rows of a fragment that it numbers. Reads nothing. */
  covered({ id, rows }: Fragment): RowSet {
    return rowsOfItems(this.#items.get(id) ?? [], rows)
  }

  /** Reads it as a whole, unless it is in memory. */
  open(signal?: AbortSignal): Soon<VectorIndexSegment> {
    const { source, dim } = this.#version
    const { bytes, crc, rows } = this.#covered.segment
    const opening = source.segments.get(this.#path, async claim => {
      claim(bytes)
      const file = await openSectionFile(source.store, this.#path, { bytes, crc })
      return openSegment(file, rows, dim)
    })
    return this.#arrived(opening, signal)
  }

  /** The ordinals whose rows live; null: all. `liveIn`: the living rows of a fragment. */
  living(liveIn: RowsOf, signal?: AbortSignal): Soon<AllowedRows | null> {
    if (this.#isWhole) return null
    const { source, layout } = this.#version
    const key = `${this.#path}@${layout.version}`
    // Whoever else waits for it does not give up with the first.
    const make = async () => this.ordinalsOf(liveIn, new Pacer())
    return whenThere(this.#arrived(source.live.get(key, make, this.#path), signal), bits => {
      this.#living ??= bits.count()
      return { bits, count: this.#living }
    })
  }

  /** The ordinals of the rows that `rowsOf` gives for the fragments it numbers rows of. */
  ordinalsOf(rowsOf: RowsOf, pacer: Pacer): Soon<Bitset> {
    return begun(this.#ordinalsOf(rowsOf, pacer))
  }

  *#ordinalsOf(rowsOf: RowsOf, pacer: Pacer): Waits<Bitset> {
    const bits = new Bitset(this.rows)
    for (const item of this.#covered.items) {
      const rows = yield* arrival(rowsOf(this.#version.fragments.get(item.fragment)!))
      if (rows.isNone) continue
      const own = rows.slice(item.at, item.at + rowsOfItem(item))
      const gone = yield* arrival(this.#gone(item))
      if (gone === null) own.addTo(bits, item.first)
      else addBetween(own, gone, bits, item.first)
      if (pacer.due()) yield pacer.pause()
    }
    return bits
  }

  /** Where the rows with some ordinals are; `ordinals`: ascending. What is no more is left out. */
  place(ordinals: Uint32Array): Soon<readonly PlacedRows[]> {
    return begun(this.#place(ordinals))
  }

  *#place(ordinals: Uint32Array): Waits<readonly PlacedRows[]> {
    const { items } = this.#covered
    const placed: PlacedRows[] = []
    for (let from = 0, to: number; from < ordinals.length; from = to) {
      // The first item that reaches beyond the next ordinal.
      const next = partitionPoint(items.length, i => items[i]!.first + items[i]!.count <= ordinals[from]!)
      const item = items[next]
      if (item === undefined) break
      const end = item.first + item.count
      while (from < ordinals.length && ordinals[from]! < item.first) from++
      for (to = from; to < ordinals.length && ordinals[to]! < end; ) to++
      const gone = yield* arrival(this.#gone(item))
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

  #gone({ gone }: CoverItem): Soon<NumberRuns | null> {
    if (gone === undefined) return null
    const { source, location } = this.#version
    return this.#arrived(readStoredRuns(source, location, gone, NumberRuns.decode), undefined)
  }

  /** What is being loaded, once it is there. */
  #arrived<T>(loading: Soon<T>, signal: AbortSignal | undefined): Soon<T> {
    if (loading instanceof Promise) return this.#waitedFor(loading, signal)
    signal?.throwIfAborted()
    return loading
  }

  /** Files of a version that ceased to exist meanwhile may be gone. */
  async #waitedFor<T>(loading: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    try {
      return await orAborted(loading, signal)
    } catch (error) {
      signal?.throwIfAborted()
      const { source, layout } = this.#version
      throw (await source.explain?.(layout.table, layout.version, error)) ?? error
    }
  }
}

/** Adds rows that are counted without those which are gone, counted with them, each `by` further on. */
function addBetween(rows: RowSet, { starts, ranks }: NumberRuns, bits: Bitset, by: number): void {
  let run = 0
  for (const row of rows.toIndices()) {
    // Before each run of rows that are gone, how many are gone already.
    while (run < starts.length && starts[run]! - ranks[run]! <= row) run++
    bits.add(by + row + ranks[run]!)
  }
}
