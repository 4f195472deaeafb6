/** Chooses the checkpoint from which a process takes the lists of pages and packs. */
import type { CatalogState } from '../catalog/state.js'
import type { CheckpointNote, Checkpoints } from '../commit/checkpoints.js'

/**
 * Return the newest undamaged checkpoint that `state` names, without its state. If there is none, return the newest
 * undamaged checkpoint in the root, or null.
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
