/** Chooses the checkpoint on which a process builds: the newest whole one of those that the log names. */
import type { CatalogState } from '../catalog/state.js'
import type { CheckpointNote, Checkpoints } from '../commit/checkpoints.js'

/**
 * Return the note of the newest whole checkpoint that `state` names. If the log names none, or none that is whole, returns the note of the
 * newest whole checkpoint in the root.
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
