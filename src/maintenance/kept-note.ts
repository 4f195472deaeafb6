/** Which checkpoint a process builds on: of those that the log names, the newest that is whole. */
import type { CatalogState } from '../catalog/state.js'
import type { CheckpointNote, Checkpoints } from '../commit/checkpoints.js'

/**
 * What the newest whole checkpoint says that `state` knows of; of a root whose log names none, or none that is whole, what the newest
 * whole one says that lies there.
 */
export async function keptNote(
  checkpoints: Checkpoints<CatalogState>,
  state: CatalogState,
  signal?: AbortSignal,
): Promise<CheckpointNote | null> {
  for (const { name } of [...state.checkpoints].reverse()) {
    const note = await checkpoints.note(name, signal)
    if (note !== null) return note
  }
  return checkpoints.newestNote(signal)
}
