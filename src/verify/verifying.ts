/** What all steps of a verification share. */
import type { CatalogState } from '../catalog/state.js'
import type { Checkpoints, FoundCheckpoint } from '../commit/checkpoints.js'
import type { CommitLog } from '../commit/commit-log.js'
import type { Packs } from '../commit/packs.js'
import type { Slots } from '../commit/slots.js'
import type { Analyzers } from '../indexes/text/analysis/analyzers.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { Findings } from './findings.js'

export interface Verifying {
  readonly store: BlobStore
  /** The newest slot to read; Infinity: all slots. */
  readonly last: number
  /** The slots that are still in the log, without those in packs. */
  readonly log: CommitLog
  /** All slots, in the log or in packs. */
  readonly slots: Slots
  /** The packs that the newest checkpoint among `found` names. */
  readonly packs: Packs
  readonly checkpoints: Checkpoints<CatalogState>
  /** The checkpoints up to `last`, the newest first. */
  readonly found: readonly FoundCheckpoint<CatalogState>[]
  /** The analyzers that are available here. */
  readonly analyzers: Analyzers
  readonly findings: Findings
  readonly signal: AbortSignal | undefined
}

/** Maintenance has deleted what the verification looks for: it starts again. */
export class Overtaken extends Error {}

/**
 * Throw `Overtaken` if a checkpoint was written meanwhile. Call this before reporting a file as missing that a checkpoint names or makes
 * dispensable: maintenance deletes such a file only after it wrote another checkpoint.
 */
export async function mustBeThere({ checkpoints, found, signal }: Verifying): Promise<void> {
  const known = new Set(found.map(({ key }) => key))
  const added = (await checkpoints.keys(signal)).find(({ key }) => !known.has(key))
  if (added !== undefined) throw new Overtaken(`${added.key} was written meanwhile`)
}
