/** The log as the job runner needs it, whatever else its state holds. */
import type { Committed, Propose } from '../commit/machine.js'
import type { PersistentMap } from '../primitives/persistent-map.js'
import type { JobOp, OpenJob } from './job-op.js'

/** `S`: the state of the log; `Op`: its operations besides those of jobs. */
export interface JobLog<S, Op = unknown> {
  /** Return the open jobs of a state, by id. States between which no job changed return the same map. */
  jobs(state: S): PersistentMap<OpenJob>
  /** Return a state with everything that was committed before the call. */
  refresh(signal?: AbortSignal): Promise<S>
  /** Commit, as `Committer.commit` does. */
  commit(propose: Propose<S, Op | JobOp, null>): Promise<Committed<S, Op | JobOp> | null>
}
