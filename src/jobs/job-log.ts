/** What running jobs needs of a log, whatever else its state holds. */
import type { Committed, Propose } from '../commit/machine.js'
import type { PersistentMap } from '../primitives/persistent-map.js'
import type { OpenJob } from './job-op.js'

export interface JobLog<S> {
  /** The open jobs of a state, by id: the very same map in states between which no job changed. */
  jobs(state: S): PersistentMap<OpenJob>
  /** The state with everything in it that was committed before the call. */
  refresh(signal?: AbortSignal): Promise<S>
  /** As `Committer.commit`. */
  commit(propose: Propose<S>): Promise<Committed<S>>
}
