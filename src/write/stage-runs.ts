/**
 * Stages row ids and offsets of deleted rows. They are stored inline in the slot if there is space, otherwise in a
 * file.
 */
import type { ConsecutiveIds, IdBounds } from '../manifest/change.js'
import type { StoredRuns } from '../manifest/stored-runs.js'
import { crc32 } from '../primitives/checksum.js'
import type { NumberRuns } from '../primitives/number-runs.js'
import { runSequence } from '../primitives/unordered-runs.js'
import type { InlineRoom } from './inline-room.js'
import { newFileName, type StageTarget } from './stage.js'

/** The storage of a sequence of numbers: an inline blob or a file. A commit can refer to it. */
export type RunsContent = { readonly blob: Uint8Array } | StoredRuns

/** A staged set of numbers. No commit refers to it yet. */
export interface RunsDraft {
  readonly runs: NumberRuns
  readonly content: RunsContent
}

/** The staged row ids of a fragment. No commit refers to them yet. */
export type IdsDraft = ConsecutiveIds | (IdBounds & { readonly content: RunsContent })

/** Stage a deletion vector. `inline`: its encoding for a slot, which is used if `room` has space. */
export async function stageRuns(
  runs: NumberRuns,
  inline: Uint8Array,
  room: InlineRoom,
  target: StageTarget,
  signal?: AbortSignal,
): Promise<RunsDraft> {
  if (room.takes(inline.length)) return { runs, content: { blob: inline } }
  return { runs, content: await storeRuns(runs.encode(), target, signal) }
}

/** Stage the row ids of a fragment. `ids`: the ids in the order of offsets, at least one. */
export async function stageIds(
  ids: Float64Array,
  room: InlineRoom,
  target: StageTarget,
  signal?: AbortSignal,
): Promise<IdsDraft> {
  const runs = runSequence(ids)
  if (runs.starts.length === 1) return { row0: ids[0]! }
  const [least, greatest] = runs.bounds()
  const bytes = runs.encode()
  const content = room.takes(bytes.length) ? { blob: bytes } : await storeRuns(bytes, target, signal)
  return { content, least, greatest, ...(!runs.isAscending && { ascending: false }) }
}

/** Write encoded runs of numbers to a new file. */
export async function storeRuns(
  bytes: Uint8Array,
  target: StageTarget,
  signal?: AbortSignal,
): Promise<StoredRuns> {
  const file = newFileName(target)
  await target.store.put(`${target.location}/rows/${file}.runs`, bytes, signal)
  return { file, bytes: bytes.length, crc: crc32(bytes) }
}
