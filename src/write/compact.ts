/**
 * Writes the live rows of fragments into fewer fragments. The rows keep their order and ids. The compaction reads one
 * version. If the table has a newer version at the commit, `carriedOver` adapts the result to it.
 */
import type { Batch } from '../arrow/column.js'
import { asBytes, batchBytes } from '../arrow/layout.js'
import { withOwnDictionary } from '../arrow/own-dictionary.js'
import { takeBatch } from '../arrow/take.js'
import type { FoldedDead } from '../manifest/change.js'
import { type Fragment, fileKey, type Layout, onlyLostRows, runsKey } from '../manifest/layout.js'
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

/**
 * Adapt a compaction to a newer version, in which more of its rows may be deleted. Returns null if the old fragments
 * are gone, are no longer adjacent, or have other columns. Then the caller must discard the compaction.
 */
export async function carriedOver(
  { from, survivors, moved }: Compacted,
  newer: TableReader,
  target: StageTarget,
  pacer: Pacer,
): Promise<MovePart | null> {
  const now = new Map(newer.layout.fragments.map(fragment => [fragment.id, fragment]))
  const gone = from.map(({ id }) => id).filter(id => !now.has(id))
  // The new fragments take the positions of the old fragments, so there must not be more of them, and the old fragments
  // must be adjacent. A restore may have brought back a fragment between them.
  if (gone.length === from.length || moved.length > from.length - gone.length) return null
  const positions = new Map(newer.layout.fragments.map(({ id }, place) => [id, place]))
  const left = from.map(({ id }) => positions.get(id)).filter(place => place !== undefined)
  if (left.some((place, i) => i > 0 && place !== left[i - 1]! + 1)) return null
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
      const ranks = live.ranks()
      died.push(lost.map(offset => before + live.rank(offset, ranks)))
    }
    before += live.count()
  }
  const dead = await deadByDraft(joinNumbers(Uint32Array, died), moved, target, pacer)
  return { from, gone, moved, dead }
}

/** Stage the deleted rows of each new fragment. `died`: numbers of the deleted rows, counted over all new fragments. */
async function deadByDraft(
  died: Uint32Array,
  moved: readonly MovedDraft[],
  target: StageTarget,
  pacer: Pacer,
): Promise<ReadonlyMap<MovedDraft, RunsDraft>> {
  const dead = new Map<MovedDraft, RunsDraft>()
  const room = new InlineRoom()
  let [first, at] = [0, 0]
  for (const each of moved) {
    const end = first + each.draft.rows
    let to = at
    while (to < died.length && died[to]! < end) to++
    if (to > at) {
      const own = died.subarray(at, to).map(offset => offset - first)
      dead.set(each, await stageRuns(NumberRuns.of(own), asBytes(own), room, target, pacer.signal))
    }
    at = to
    first = end
  }
  return dead
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
  const earlier = new Map(before.fragments.map(fragment => [fragment.id, fragment]))
  const later = new Map(now.fragments.map(fragment => [fragment.id, fragment]))
  return folded.filter(([id, count]) => {
    const parts = later.get(id)?.dead.parts ?? []
    const known = earlier.get(id)!.dead.parts
    const [last, same] = [known[count - 1]!, parts[count - 1]]
    return same !== undefined && runsKey(same) === runsKey(last)
  })
}
