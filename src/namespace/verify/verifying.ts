/** What all steps of a verification share. */
import type { CatalogState } from '../../catalog/state.js'
import type { Checkpoints } from '../../commit/checkpoints.js'
import type { CommitLog } from '../../commit/commit-log.js'
import type { Slots } from '../../commit/slots.js'
import type { BlobStore } from '../../storage/blob-store.js'
import type { Findings } from './findings.js'

export interface Verifying {
  readonly store: BlobStore
  /** The newest slot that is looked at; infinity: all there are. */
  readonly last: number
  /** Where slots are, whatever they lie in by now. */
  readonly log: CommitLog
  readonly slots: Slots
  readonly checkpoints: Checkpoints<CatalogState>
  readonly findings: Findings
  readonly signal: AbortSignal | undefined
}
