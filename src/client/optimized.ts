/** The result of `optimize`: what keeps old files from being deleted. */

/** A reader of an old state of the root: a snapshot, a verification, a job. */
export interface Reader {
  readonly kind: 'reader'
  /** The reader keeps what the root had at this slot or later. */
  readonly slot: number
  /**
   * The pin file of the reader, relative to the root; null for a reader of this process. It may be deleted if the
   * reader no longer exists.
   */
  readonly file: string | null
  /** The id of the reader's process, if it runs on this machine. */
  readonly process: number | null
  /** Milliseconds without a heartbeat, as observed. After ten minutes, the reader no longer keeps files. */
  readonly stillMs: number
}

/** A job that is queued or running. */
export interface JobUnderWay {
  readonly kind: 'job'
  /** The job keeps what the root had at this slot or later. */
  readonly slot: number
  /** Id of the job. `ns.cancelJob(id)` ends it. */
  readonly id: string
  readonly status: 'Queued' | 'Running'
}

/** What keeps old files from being deleted. */
export type Holder = Reader | JobUnderWay

/** The result of `optimize`. */
export interface Optimized {
  /** Readers and jobs that keep files which are old enough to be deleted. The one that keeps most comes first. */
  readonly held: readonly Holder[]
}
