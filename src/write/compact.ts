/**
 * Writes the live rows of fragments into fewer fragments. The rows keep their order and ids. The compaction reads one
 * version. If the table has a newer version at the commit, `carriedOver` adapts the result to it.
 */
import type { Batch } from '../arrow/column.js'
import { asBytes, batchBytes } from '../arrow/layout.js'
import { withOwnDictionary } from '../arrow/own-dictionary.js'
import { takeBatch } from '../arrow/take.js'
import { type Change, type FoldedDead, fragmentsLeaving } from '../manifest/change.js'
import { fragmentsById } from '../manifest/index-cover.js'
import { type Fragment, fileKey, type Layout, onlyLostRows, runsKey } from '../manifest/layout.js'
import type { RecentChange } from '../manifest/recent-changes.js'
import { arrowSchema } from '../manifest/table-schema.js'
import type { Bitset } from '../primitives/bitset.js'
import { joinNumbers } from '../primitives/join-numbers.js'
import { NumberRuns } from '../primitives/number-runs.js'
import type { Pacer } from '../primitives/pacer.js'
import { RowSource } from '../query/source.js'
import type { TableReader } from '../table/table-reader.js'
import type { MovedDraft, MovePart } from './build-change.js'
import { InlineRoom } from './inline-room.js'
import { inlineBytes, type StageTarget, stageIntoFiles } from './stage.js'
import { offsetsIn } from './stage-deletions.js'
import { type RunsDraft, stageIds, stageRuns, storeRuns } from './stage-runs.js'

/** Maximum number of rows, and of bytes, that are copied without a pause. */
const rowsAtOnce = 8 * 1024
const bytesAtOnce = 1024 * 1024

/** The result of a compaction. */
export interface Compacted {
  /** The old fragments. */
  readonly from: readonly Fragment[]
  /** For each old fragment: offsets of its live rows. */
  readonly survivors: readonly Bitset[]
  /** The new fragments. */
  readonly moved: readonly MovedDraft[]
}

/** Write the live rows of `from`, which are adjacent fragments of the reader's version, into new fragments. */
export async function compactFragments(
  reader: TableReader,
  from: readonly Fragment[],
  target: StageTarget,
  pacer: Pacer,
): Promise<Compacted> {
  const survivors: Bitset[] = []
  const ids: Float64Array[] = []
  async function* batches(): AsyncGenerator<Batch> {
    const source = new RowSource(reader, pacer)
    for (const fragment of from) {
      survivors.push((await reader.liveIn(fragment, pacer)).asBits())
      yield* liveBatches(source, fragment, ids, pacer)
    }
  }
  const { drafts } = await stageIntoFiles(batches(), arrowSchema(reader.schema), target, pacer)
  const all = joinNumbers(Float64Array, ids)
  const moved: MovedDraft[] = []
  // Store row ids only in files, because inline row ids would keep the slot of this commit in use.
  const room = new InlineRoom(inlineBytes)
  let first = 0
  for (const draft of drafts) {
    const own = all.subarray(first, first + draft.rows)
    moved.push({ draft, ids: await stageIds(own, room, target, pacer.signal) })
    first += draft.rows
  }
  return { from, survivors, moved }
}

async function* liveBatches(
  source: RowSource,
  fragment: Fragment,
  ids: Float64Array[],
  pacer: Pacer,
): AsyncGenerator<Batch> {
  const { reader } = source
  const inline = await reader.inlineBatch(fragment, pacer.signal)
  if (inline !== null) {
    const own = new Float64Array(inline.length)
    const runs = await reader.rowIds(fragment, pacer.signal)
    runs.copy(0, own.length, own)
    ids.push(own)
    yield inline
    return
  }
  const names = reader.schema.fields.map(({ name }) => name)
  const schema = arrowSchema(reader.schema)
  for (const part of await reader.partsOf(fragment, pacer.signal)) {
    const { rows } = part
    const offsets = (await reader.live(part, pacer.signal))?.toIndices() ?? null
    if (offsets?.length === 0) continue
    const columns = await source.partBatch(part, names)
    if (offsets === null) {
      ids.push(await source.rowIds(part, null))
      yield { schema, length: rows, columns: columns.columns }
      continue
    }
    ids.push(await source.rowIds(part, offsets))
    const width = batchBytes(columns) / Math.max(1, rows)
    const step = Math.max(1, Math.min(rowsAtOnce, Math.floor(bytesAtOnce / Math.max(1, width))))
    for (let from = 0; from < offsets.length; from += step) {
      const some = offsets.subarray(from, from + step)
      const taken = takeBatch(columns, some)
      yield { schema, length: some.length, columns: taken.columns.map(withOwnDictionary) }
      await pacer.turn()
    }
  }
}

/** A compaction that was adapted to a version. */
export interface CarriedMove extends MovePart {
  /** Numbers of the deleted rows, ascending, counted over all new fragments. `dead` has the same rows. */
  readonly died: Uint32Array
}

/**
 * Adapt a compaction to a newer version, in which more of its rows may be deleted. Returns null if the old fragments
 * are gone, are no longer adjacent, or have other columns. Then the caller must discard the compaction.
 */
export async function carriedOver(
  { from, survivors, moved }: Compacted,
  newer: TableReader,
  target: StageTarget,
  pacer: Pacer,
): Promise<CarriedMove | null> {
  const now = fragmentsById(newer.layout)
  const left = from.map(({ id }) => now.positionOf(id)).filter(place => place !== undefined)
  const gone = from.map(({ id }) => id).filter(id => now.get(id) === undefined)
  // The old fragments must be adjacent. A restore may have brought back a fragment between them.
  if (!hasPlaces(from, gone, moved) || left.some((place, i) => i > 0 && place !== left[i - 1]! + 1))
    return null
  const died: Uint32Array[] = []
  let before = 0
  for (const [i, fragment] of from.entries()) {
    const live = survivors[i]!
    const later = now.get(fragment.id)
    if (later !== undefined && !(sameFiles(fragment, later) && onlyLostRows(fragment, later))) return null
    // A fragment that is gone has no live rows.
    if (later === undefined || later.dead.count !== fragment.dead.count) {
      const still = later === undefined ? null : (await newer.liveIn(later, pacer)).asBits()
      const lost = (still === null ? live.clone() : live.clone().andNot(still)).toIndices()
      died.push(numbersOf(lost, { live, before }))
    }
    before += live.count()
  }
  const all = joinNumbers(Uint32Array, died)
  const dead = new Map<MovedDraft, RunsDraft>()
  const room = new InlineRoom()
  for (const [draft, own] of diedByDraft(all, moved))
    dead.set(draft, await stageRuns(NumberRuns.of(own), asBytes(own), room, target, pacer.signal))
  return { from, gone, moved, dead, died: all }
}

/**
 * Adapt a compaction to the changes after the version of `carriedOver`, without waiting. So writers of single rows,
 * which never wait, cannot make it lose each commit. Returns null if a change did more to the old fragments than delete
 * a few rows.
 *
 * `move`: the result of `carriedOver`. `room`: the inline bytes that the commit may still use.
 */
export function withLaterDeletions(
  { from, survivors }: Compacted,
  move: CarriedMove,
  later: readonly RecentChange[],
  room: InlineRoom,
): MovePart | null {
  const places = new Map<number, RowPlaces>()
  let rows = 0
  for (const [i, { id }] of from.entries()) {
    places.set(id, { live: survivors[i]!, before: rows })
    rows += survivors[i]!.count()
  }
  const died = new Set(move.died)
  const gone = new Set(move.gone)
  for (const { change, slot } of later) {
    if (!touches(change, places)) continue
    if (!deletesOnly(change)) return null
    for (const [id, offsets] of change.dead) {
      const place = places.get(id)
      if (place === undefined) continue
      if (!('blob' in offsets)) return null
      for (const number of numbersOf(offsetsIn(slot.blob(offsets.blob)), place)) died.add(number)
    }
    for (const id of change.drop) {
      const place = places.get(id)
      if (place === undefined) continue
      gone.add(id)
      for (const number of numbersOf(place.live.toIndices(), place)) died.add(number)
    }
  }
  if (died.size === move.died.length && gone.size === move.gone.length) return move
  const dead = new Map<MovedDraft, RunsDraft>()
  for (const [draft, own] of diedByDraft(Uint32Array.from(died).sort(), move.moved)) {
    const blob = asBytes(own)
    if (!room.takes(blob.length)) return null
    dead.set(draft, { runs: NumberRuns.of(own), content: { blob } })
  }
  return hasPlaces(from, [...gone], move.moved) ? { from, gone: [...gone], moved: move.moved, dead } : null
}

/** Where the live rows of an old fragment are among all rows of the new fragments: from number `before` on. */
interface RowPlaces {
  readonly live: Bitset
  readonly before: number
}

/** Return the numbers of rows of an old fragment among all rows of the new fragments. `offsets`: offsets of live rows. */
function numbersOf(offsets: Uint32Array, { live, before }: RowPlaces): Uint32Array {
  const ranks = live.ranks()
  return offsets.map(offset => before + live.rank(offset, ranks))
}

/** Return whether a change affects one of `fragments`. */
export function touches(change: Change, fragments: Pick<ReadonlySet<number>, 'has'>): boolean {
  const { dead, columns = [], folded = [] } = change
  return (
    fragmentsLeaving(change).some(id => fragments.has(id)) ||
    [...dead, ...folded].some(([id]) => fragments.has(id)) ||
    columns.some(({ fragment }) => fragments.has(fragment))
  )
}

/**
 * Return whether the new fragments can take the positions of the old fragments: there must not be more of them than of
 * the old fragments that are left. `gone`: the ids of the other old fragments.
 */
function hasPlaces(
  from: readonly Fragment[],
  gone: readonly number[],
  moved: readonly MovedDraft[],
): boolean {
  return gone.length < from.length && moved.length <= from.length - gone.length
}

/** Yield the deleted rows of each new fragment, as offsets. `died`: their numbers, counted over all new fragments. */
function* diedByDraft(
  died: Uint32Array,
  moved: readonly MovedDraft[],
): Generator<readonly [MovedDraft, Uint32Array]> {
  let [first, at] = [0, 0]
  for (const each of moved) {
    const end = first + each.draft.rows
    let to = at
    while (to < died.length && died[to]! < end) to++
    if (to > at) yield [each, died.subarray(at, to).map(offset => offset - first)]
    at = to
    first = end
  }
}

/** Return whether a change does nothing to the fragments before it, except for deletions of rows. */
function deletesOnly({ restore, moves, folded, columns, schema }: Change): boolean {
  return schema === null && [restore, moves, folded, columns].every(part => part === undefined)
}

/** Return whether all data files of `later` are also data files of `fragment`. */
function sameFiles(fragment: Fragment, later: Fragment): boolean {
  if (later.files === fragment.files) return true
  const known = new Set(fragment.files.map(fileKey))
  return later.files.every(file => known.has(fileKey(file)))
}

/** Merge all parts of a fragment's deletion vector into one part, and store it. */
export async function mergeDeletionVectors(
  reader: TableReader,
  fragment: Fragment,
  target: StageTarget,
  pacer: Pacer,
): Promise<FoldedDead> {
  const dead = (await reader.liveIn(fragment, pacer)).toBits().not()
  const bytes = NumberRuns.of(dead.toIndices()).encode()
  return [fragment.id, fragment.dead.parts.length, await storeRuns(bytes, target, pacer.signal)]
}

/**
 * Return the merged deletion vectors that are still valid for a newer version. `before`: manifest of the version on
 * which they were merged. `now`: manifest of the newer version.
 */
export function stillMerged(
  folded: readonly FoldedDead[],
  before: Layout,
  now: Layout,
): readonly FoldedDead[] {
  if (folded.length === 0) return folded
  const earlier = new Map(before.fragments.map(fragment => [fragment.id, fragment]))
  const later = new Map(now.fragments.map(fragment => [fragment.id, fragment]))
  return folded.filter(([id, count]) => {
    const parts = later.get(id)?.dead.parts ?? []
    const known = earlier.get(id)!.dead.parts
    const [last, same] = [known[count - 1]!, parts[count - 1]]
    return same !== undefined && runsKey(same) === runsKey(last)
  })
}
