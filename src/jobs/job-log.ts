/** The log as the job runner needs it, whatever else its state holds. */
import type { Committed, Propose } from '../commit/machine.js'
import type { PersistentMap } from '../primitives/persistent-map.js'
import type { OpenJob } from './job-op.js'

export interface JobLog<S> {
  /** Return the open jobs of a state, by id. States between which no job changed return the same map. */
  jobs(state: S): PersistentMap<OpenJob>
  /** Return a state with everything that was committed before the call. */
  refresh(signal?: AbortSignal): Promise<S>
  /** Commit, as `Committer.commit` does. */
  commit(propose: Propose<S, null>): Promise<Committed<S> | null>
}
