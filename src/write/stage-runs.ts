/** Makes row ids and offsets of dead rows ready for a commit: few bytes ride in the slot, more go into a file. */
import type { StoredRuns } from '../manifest/change.js'
import { crc32 } from '../primitives/checksum.js'
import type { NumberRuns } from '../primitives/number-runs.js'
import type { InlineRoom } from './inline-room.js'
import { newFileName, type StageTarget } from './stage.js'

/** Numbers that no commit refers to yet. */
export interface RunsDraft {
  readonly runs: NumberRuns
  readonly content: { readonly blob: Uint8Array } | StoredRuns
}

/** `inline`: what stands for them in a slot, where there is room for it. */
export async function stageRuns(
  runs: NumberRuns,
  inline: Uint8Array,
  room: InlineRoom,
  target: StageTarget,
  signal?: AbortSignal,
): Promise<RunsDraft> {
  if (room.takes(inline.length)) return { runs, content: { blob: inline } }
  const bytes = runs.encode()
  const file = newFileName(target)
  await target.store.put(`${target.location}/rows/${file}.runs`, bytes, signal)
  return { runs, content: { file, bytes: bytes.length, crc: crc32(bytes) } }
}
