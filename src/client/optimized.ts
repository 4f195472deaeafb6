/** The result of `optimize`: the readers and jobs that keep old files from being deleted. */

/** A reader of an old state of the root: a snapshot, a verification, a job. */
export interface Reader {
  readonly kind: 'reader'
  /** The reader keeps all files that the root needed at this slot or later. */
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
  /** The job keeps all files that the root needed at this slot or later. */
  readonly slot: number
  /** Id of the job. `ns.cancelJob(id)` ends it. */
  readonly id: string
  readonly status: 'Queued' | 'Running'
}

/** A reader or job that keeps old files from being deleted. */
export type Holder = Reader | JobUnderWay

/** The result of `optimize`. */
export interface Optimized {
  /** Readers and jobs that keep files which are old enough to be deleted, sorted by how much they keep, most first. */
  readonly held: readonly Holder[]
}
