/** The result of `optimize`: the readers and jobs because of which old files were not deleted. */

/** A reader of an old state of the root, for example a snapshot or a verification. */
export interface Reader {
  readonly kind: 'reader'
  /** Slot of the state that the reader needs. Files that the root needed at this slot or later are not deleted. */
  readonly slot: number
  /**
   * Path of the reader's pin file, relative to the root. Null for a reader of this process. You may delete the file if
   * the reader no longer exists.
   */
  readonly file: string | null
  /** Id of the reader's process if it runs on this machine, otherwise null. */
  readonly process: number | null
  /** Time in milliseconds since this process saw the reader's last heartbeat. After ten minutes, the pin is ignored. */
  readonly stillMs: number
}

/** A job that is queued or running. */
export interface JobUnderWay {
  readonly kind: 'job'
  /** Slot of the state that the job needs. Files that the root needed at this slot or later are not deleted. */
  readonly slot: number
  /** Id of the job. `ns.cancelJob(id)` ends it. */
  readonly id: string
  readonly status: 'Queued' | 'Running'
}

/** A reader or job because of which old files are not deleted. */
export type Holder = Reader | JobUnderWay

/** The result of `optimize`. */
export interface Optimized {
  /** Readers and jobs that still need files which are old enough to be deleted, in ascending order of their slots. */
  readonly held: readonly Holder[]
}
