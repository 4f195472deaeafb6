/** Makes row ids and offsets of dead rows ready for a commit: few bytes ride in the slot, more go into a file. */
import type { StoredRuns } from '../manifest/change.js'
import { crc32 } from '../primitives/checksum.js'
import type { NumberRuns } from '../primitives/number-runs.js'
import { newFileName, type StageTarget } from './stage.js'

/** As for rows (STORAGE S11). */
const inlineBytes = 64 * 1024

/** Numbers that no commit refers to yet. */
export interface RunsDraft {
  readonly runs: NumberRuns
  readonly content: { readonly blob: Uint8Array } | StoredRuns
}

export async function stageRuns(
  runs: NumberRuns,
  target: StageTarget,
  signal?: AbortSignal,
): Promise<RunsDraft> {
  const bytes = runs.encode()
  if (bytes.length <= inlineBytes) return { runs, content: { blob: bytes } }
  const file = newFileName(target)
  await target.store.put(`${target.location}/rows/${file}.runs`, bytes, signal)
  return { runs, content: { file, bytes: bytes.length, crc: crc32(bytes) } }
}
