/** What `optimize` gives: who keeps what is old from going. */

/** Somebody reads the root as it was: a snapshot, a check, a job. */
export interface Reader {
  readonly kind: 'reader'
  /** What the root had at this slot, or later, stays. */
  readonly slot: number
  /** The file that says so, relative to the root; null for a reader of this process. Where nobody reads any more it may be deleted. */
  readonly file: string | null
  /** The id of its process, where that is one of this machine. */
  readonly process: number | null
  /** For how long it was seen to give no sign of life, milliseconds. After ten minutes it is let go. */
  readonly stillMs: number
}

/** A job that is queued or running. */
export interface JobUnderWay {
  readonly kind: 'job'
  /** What the root had at this slot, or later, stays. */
  readonly slot: number
  /** `ns.cancelJob` ends it. */
  readonly id: string
  readonly status: 'Queued' | 'Running'
}

export type Holder = Reader | JobUnderWay

/** What `optimize` could not do. */
export interface Optimized {
  /** Readers and jobs that keep files which are old enough to be deleted; the one that keeps most comes first. */
  readonly held: readonly Holder[]
}
