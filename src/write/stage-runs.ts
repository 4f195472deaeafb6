/** Stages row ids and offsets of deleted rows: few bytes are stored inline in the slot, more in a file. */
import type { ConsecutiveIds, IdBounds } from '../manifest/change.js'
import type { StoredRuns } from '../manifest/stored-runs.js'
import { crc32 } from '../primitives/checksum.js'
import type { NumberRuns } from '../primitives/number-runs.js'
import { runSequence } from '../primitives/unordered-runs.js'
import type { InlineRoom } from './inline-room.js'
import { newFileName, type StageTarget } from './stage.js'

/** Numbers that a commit can refer to. */
export type RunsContent = { readonly blob: Uint8Array } | StoredRuns

/** Numbers that no commit refers to yet. */
export interface RunsDraft {
  readonly runs: NumberRuns
  readonly content: RunsContent
}

/** Row ids that no commit refers to yet. */
export type IdsDraft = ConsecutiveIds | (IdBounds & { readonly content: RunsContent })

/** Stage a deletion vector. `inline`: its encoding in a slot, used if there is space. */
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

/** Stage the row ids of a fragment. `ids`: by offset; at least one. */
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

/** Write encoded runs of numbers to a file of their own. */
export async function storeRuns(
  bytes: Uint8Array,
  target: StageTarget,
  signal?: AbortSignal,
): Promise<StoredRuns> {
  const file = newFileName(target)
  await target.store.put(`${target.location}/rows/${file}.runs`, bytes, signal)
  return { file, bytes: bytes.length, crc: crc32(bytes) }
}
