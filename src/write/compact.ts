/**
 * Writes the living rows of fragments into fewer ones, in the order and under the ids they have; and brings what was written
 * up to date with what the rows' table has become meanwhile.
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

/** Rows, and bytes, that are copied in one go. */
const rowsAtOnce = 8 * 1024
const bytesAtOnce = 1024 * 1024

/** What fragments give way to. */
export interface Compacted {
  readonly from: readonly Fragment[]
  /** Rows of each that were alive, by offset. */
  readonly survivors: readonly Bitset[]
  readonly moved: readonly MovedDraft[]
}

/** Writes the living rows of `from`, fragments of the version, following each other. */
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
      yield* livingRows(source, fragment, ids, pacer)
    }
  }
  const { drafts } = await stageIntoFiles(batches(), arrowSchema(reader.schema), target, pacer)
  const all = joinNumbers(Float64Array, ids)
  const moved: MovedDraft[] = []
  // No part of it may ride in the slot: a compaction is there so that slots can be let go.
  const room = new InlineRoom(inlineBytes)
  let first = 0
  for (const draft of drafts) {
    const own = all.subarray(first, first + draft.rows)
    moved.push({ draft, ids: await stageIds(own, room, target, pacer.signal) })
    first += draft.rows
  }
  return { from, survivors, moved }
}

async function* livingRows(
  source: RowSource,
  fragment: Fragment,
  ids: Float64Array[],
  pacer: Pacer,
): AsyncGenerator<Batch> {
  const { reader } = source
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
 * What `compacted` comes to on a newer version: the same rows, of which some may have died since. Null: its fragments are no
 * longer there, or have other columns, and the work was in vain.
 */
export async function carriedOver(
  { from, survivors, moved }: Compacted,
  newer: TableReader,
  target: StageTarget,
  pacer: Pacer,
): Promise<MovePart | null> {
  const now = new Map(newer.layout.fragments.map(fragment => [fragment.id, fragment]))
  const gone = from.map(({ id }) => id).filter(id => !now.has(id))
  // There must be a place for every new fragment, and nothing between them: a restore may have brought something back.
  if (gone.length === from.length || moved.length > from.length - gone.length) return null
  const places = new Map(newer.layout.fragments.map(({ id }, place) => [id, place]))
  const left = from.map(({ id }) => places.get(id)).filter(place => place !== undefined)
  if (left.some((place, i) => i > 0 && place !== left[i - 1]! + 1)) return null
  const died: Uint32Array[] = []
  let before = 0
  for (const [i, fragment] of from.entries()) {
    const living = survivors[i]!
    const later = now.get(fragment.id)
    if (later !== undefined && !(sameFiles(fragment, later) && onlyLostRows(fragment, later))) return null
    // One that is gone has lost all its rows.
    if (later === undefined || later.dead.count !== fragment.dead.count) {
      const still = later === undefined ? null : (await newer.liveIn(later, pacer)).asBits()
      const lost = (still === null ? living.clone() : living.clone().andNot(still)).toIndices()
      const ranks = living.ranks()
      died.push(lost.map(offset => before + living.rank(offset, ranks)))
    }
    before += living.count()
  }
  const dead = await deadByDraft(joinNumbers(Uint32Array, died), moved, target, pacer)
  return { from, gone, moved, dead }
}

/** Dead rows, counted through all drafts, by draft. */
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

/** Whether `lazy-import` has no columns that `fragment` has not. */
function sameFiles(fragment: Fragment, later: Fragment): boolean {
  if (later.files === fragment.files) return true
  const known = new Set(fragment.files.map(fileKey))
  return later.files.every(file => known.has(fileKey(file)))
}

/** The dead parts of a fragment as one. */
export async function foldDead(
  reader: TableReader,
  fragment: Fragment,
  target: StageTarget,
  pacer: Pacer,
): Promise<FoldedDead> {
  const dead = (await reader.liveIn(fragment, pacer)).toBits().not()
  const bytes = NumberRuns.of(dead.toIndices()).encode()
  return [fragment.id, fragment.dead.parts.length, await storeRuns(bytes, target, pacer.signal)]
}

/** Those of `folded` that hold on a newer version. */
export function stillFolded(
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
