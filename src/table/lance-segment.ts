/** Opens segments of vector indexes of LanceDB, and finds the rows of the table that they have. */
import { invalidInput, unsupported } from '../errors.js'
import type { LanceSegment } from '../indexes/vector/lance-lists.js'
import type { LanceFile } from '../lance/file.js'
import type { IvfPq, LanceIndexHead } from '../lance/ivf-pq.js'
import { lazyImport } from '../lazy-import.js'
import type { Fragment } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import type { Claim } from '../primitives/memory.js'
import { Pacer } from '../primitives/pacer.js'
import { RowSet } from '../primitives/row-set.js'
import type { BlobStore } from '../storage/blob-store.js'
import { openLance } from './lance-columns.js'
import { LanceRowPlaces, noRow } from './lance-row-places.js'
import type { TableReader } from './table-reader.js'
import type { TableSource } from './table-source.js'
import type { VectorField } from './vector-column.js'

/** The rows that a segment should have. */
interface LanceSegmentRows {
  readonly source: TableSource
  /** A reader of the version. */
  readonly reader: TableReader
  readonly field: VectorField
  /** The fragments of the version that the segment covers. */
  readonly fragments: readonly Fragment[]
}

const importFiles = lazyImport(() => import('../lance/ivf-pq.js'))
const importLists = lazyImport(() => import('../indexes/vector/lance-lists.js'))

/** Maximum number of rows that a segment may miss: this number, or this share of its rows. */
const missingMax = 1000
const missingShare = 0.01
/** Number of rows of a file whose ids are read together. */
const idsAtOnce = 512 * 1024
/** Number of ids that are looked up between two checks of the clock. */
const idsPerTurn = 16 * 1024

/** Return the bytes of the files of a segment. `folder`: the folder of the segment. */
export async function lanceSegmentBytes(store: BlobStore, folder: string): Promise<number> {
  const sizes = filesOf(folder).map(async path => (await store.stat(path))?.size ?? 0)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** Return the kind and the metric of the index of a segment. Throws InvalidInput if they are damaged, Internal if one is missing. */
export async function lanceSegmentHead(source: TableSource, folder: string): Promise<LanceIndexHead> {
  const [path] = filesOf(folder)
  const { readIndexHead } = await importFiles()
  return readIndexHead(await openLance(source, path, 0))
}

/**
 * Read a segment into memory.
 * @throws InvalidInput if its files are damaged. Internal if one is missing. Unsupported if Sheaf cannot use it.
 */
export async function openLanceSegment(
  folder: string,
  rows: LanceSegmentRows,
  claim: Claim,
): Promise<LanceSegment> {
  const { source, fragments } = rows
  const files = filesOf(folder).map((path): Promise<LanceFile> => openLance(source, path, 0))
  const [index, auxiliary] = (await Promise.all(files)) as [LanceFile, LanceFile]
  const { IvfPq } = await importFiles()
  const { lanceLists, lanceListBytes } = await importLists()
  const opened = await IvfPq.open(index, auxiliary)
  const pacer = new Pacer()
  const places = new LanceRowPlaces(fragments)
  const bytes = lanceListBytes(opened.plan, places.rows)
  if (!source.memory.canHold(bytes))
    throw unsupported(`the index takes ${bytes} bytes of memory, which are too many for the cache`, {
      hint: 'connect with a greater cacheBytes',
    })
  claim(bytes)
  const { ordinals, held } = await ordinalsIn(opened, places, pacer)
  const missing = await missingRows(rows, places, held, pacer)
  const segment = await lanceLists(opened, { rows: places.rows, ordinals }, pacer)
  return { segment, plan: opened.plan, missing }
}

function filesOf(folder: string): readonly [index: string, auxiliary: string] {
  return [`${folder}/index.idx`, `${folder}/auxiliary.idx`]
}

/** The rows of a file. */
interface FileRows {
  /** By row of the file: its ordinal, or `leftOut`. */
  readonly ordinals: Uint32Array
  /** The ordinals of the rows that are not left out. */
  readonly held: Bitset
}

/**
 * Find the row of the table for each row of the file. Rows that no fragment has any more are left out. If the file has a
 * row of the table twice, as with an old and a new vector, both are left out.
 */
async function ordinalsIn(index: IvfPq, places: LanceRowPlaces, pacer: Pacer): Promise<FileRows> {
  const { leftOut } = await importLists()
  const rows = index.plan.counts.reduce((sum, count) => sum + count, 0)
  const ordinals = new Uint32Array(rows).fill(leftOut)
  const held = new Bitset(places.rows)
  const twice = new Set<number>()
  for (let from = 0; from < rows; from += idsAtOnce) {
    const ids = await index.readIds(from, Math.min(rows, from + idsAtOnce))
    // Numbers are faster than bigints. No row has an id above 2^53, so rounding does not matter.
    const words = new Uint32Array(ids.buffer, ids.byteOffset, 2 * ids.length)
    for (let i = 0; i < ids.length; i++) {
      if (i % idsPerTurn === 0) await pacer.turn()
      const ordinal = places.ordinalOf(words[2 * i + 1]! * 2 ** 32 + words[2 * i]!)
      if (ordinal === noRow) continue
      if (held.has(ordinal)) twice.add(ordinal)
      held.add(ordinal)
      ordinals[from + i] = ordinal
    }
  }
  if (twice.size === 0) return { ordinals, held }
  if (twice.size > mostMissing(places.rows))
    throw invalidInput(`the index has ${twice.size} rows of the table twice`)
  for (const ordinal of twice) held.remove(ordinal)
  for (let i = 0; i < rows; i++) if (twice.has(ordinals[i]!)) ordinals[i] = leftOut
  return { ordinals, held }
}

/**
 * Return the ordinals of live rows that have a vector and are not in `held`. Reads the vectors of all live rows that are
 * not in `held`: nearly all of them are null, because LanceDB leaves out rows without a vector.
 */
async function missingRows(
  { reader, field, fragments }: LanceSegmentRows,
  { firsts, rows }: LanceRowPlaces,
  held: Bitset,
  pacer: Pacer,
): Promise<Uint32Array> {
  const missing: number[] = []
  const all = RowSet.ofBits(held)
  for (const [f, fragment] of fragments.entries()) {
    const first = firsts[f]!
    const live = await reader.liveIn(fragment, pacer)
    const absent = live.andNot(all.slice(first, first + fragment.rows))
    if (absent.isNone) continue
    for (const part of await reader.partsOf(fragment)) {
      const offsets = absent.slice(part.first, part.first + part.rows).toIndices()
      if (offsets.length === 0) continue
      const [found] = await reader.vectorsOf([{ part, offsets }], field, pacer)
      const { present } = found!.vectors
      for (const [i, row] of found!.rows.entries())
        if (present === null || present.has(row)) missing.push(first + part.first + offsets[i]!)
      if (missing.length > mostMissing(rows))
        throw unsupported(`the index does not have ${missing.length} or more rows of its fragments`)
      await pacer.turn()
    }
  }
  return Uint32Array.from(missing)
}

function mostMissing(rows: number): number {
  return Math.max(missingMax, missingShare * rows)
}
