/** The part of the commit log that the job runner needs. */
import type { Committed, Propose } from '../commit/machine.js'
import type { PersistentMap } from '../primitives/persistent-map.js'
import type { JobOp, OpenJob } from './job-op.js'

/** The commit log. `S`: type of the catalog state. `Op`: type of the operations other than those of jobs. */
export interface JobLog<S, Op = unknown> {
  /** Return the open jobs of a state, by id. If no job changed between two states, returns the same map for both. */
  jobs(state: S): PersistentMap<OpenJob>
  /** Return a state that includes all commits before the call. */
  refresh(signal?: AbortSignal): Promise<S>
  /** Commit a proposal. Same as `Committer.commit`. */
  commit(propose: Propose<S, Op | JobOp, null>): Promise<Committed<S, Op | JobOp> | null>
}
