/** What all steps of a verification share. */
import type { CatalogState } from '../../catalog/state.js'
import type { Checkpoints } from '../../commit/checkpoints.js'
import type { Slots } from '../../commit/slots.js'
import type { BlobStore } from '../../storage/blob-store.js'
import type { Findings } from './findings.js'

export interface Verifying {
  readonly store: BlobStore
  /** The newest slot that is looked at; infinity: all there are. */
  readonly last: number
  /** Any slot of the log, wherever it lies by now. */
  readonly slots: Slots
  readonly checkpoints: Checkpoints<CatalogState>
  readonly findings: Findings
  readonly signal: AbortSignal | undefined
}
