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
  /** The newest slot that is looked at; infinity: all there are. */
  readonly last: number
  /** As it is, without what packs stand for. */
  readonly log: CommitLog
  /** Where slots are, whatever they lie in by now. */
  readonly slots: Slots
  /** Those that the newest checkpoint among `found` names. */
  readonly packs: Packs
  readonly checkpoints: Checkpoints<CatalogState>
  /** The checkpoints there are up to `last`, the newest first. */
  readonly found: readonly FoundCheckpoint<CatalogState>[]
  /** What cuts texts into terms, as far as that is known here. */
  readonly analyzers: Analyzers
  readonly findings: Findings
  readonly signal: AbortSignal | undefined
}

/** Maintenance went on meanwhile, and took away what is looked for: a verification begins again. */
export class Overtaken extends Error {}

/**
 * To be asked before anything is called missing that checkpoints tell of, or make dispensable. Whoever takes it away wrote
 * another checkpoint first: where there is one, throws `Overtaken`.
 */
export async function mustBeThere({ checkpoints, found, signal }: Verifying): Promise<void> {
  const known = new Set(found.map(({ key }) => key))
  const added = (await checkpoints.keys(signal)).find(({ key }) => !known.has(key))
  if (added !== undefined) throw new Overtaken(`${added.key} was written meanwhile`)
}
