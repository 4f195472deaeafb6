/** The services and data that all steps of a verification use. */
import type { CatalogState } from '../catalog/state.js'
import type { Checkpoints, FoundCheckpoint } from '../commit/checkpoints.js'
import type { ExternalLog } from '../commit/external-log.js'
import type { Packs } from '../commit/packs.js'
import type { Slots } from '../commit/slots.js'
import type { TailedLog } from '../commit/tailed-log.js'
import type { Analyzers } from '../indexes/text/analysis/analyzers.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { Findings } from './findings.js'

export interface Verifying {
  readonly store: BlobStore
  /** The newest slot to read. Infinity: all slots are read. */
  readonly last: number
  /** The slots that are still in the log, without those in packs. */
  readonly log: TailedLog | ExternalLog
  /** All slots, in the log and in packs. */
  readonly slots: Slots
  /** The packs that the newest checkpoint among `found` names. */
  readonly packs: Packs
  readonly checkpoints: Checkpoints<CatalogState>
  /** The checkpoints up to the slot `last`, in descending order of slots. */
  readonly found: readonly FoundCheckpoint<CatalogState>[]
  /** The text analyzers that are available in this process. */
  readonly analyzers: Analyzers
  readonly findings: Findings
  readonly signal: AbortSignal | undefined
}

/** Thrown if maintenance may have deleted files that the verification needs. The verification then starts again. */
export class Overtaken extends Error {}

/**
 * Throw `Overtaken` if a checkpoint was written after the verification began. The caller must call this function before
 * it reports that a slot, page or pack is missing. Maintenance may have deleted this file, but it writes a new
 * checkpoint before it deletes such files.
 */
export async function mustBeThere({ checkpoints, found, signal }: Verifying): Promise<void> {
  const known = new Set(found.map(({ key }) => key))
  const added = (await checkpoints.keys(signal)).find(({ key }) => !known.has(key))
  if (added !== undefined)
    throw new Overtaken(`the checkpoint ${added.key} was written during the verification`)
}
