/** Upper bounds of the buckets of histograms of durations, in seconds. */
export const durationBounds: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
]

/** A histogram of durations. */
export interface Durations {
  /**
   * Number of durations per bucket. A bucket counts durations above the bound before it, up to its own bound
   * (`durationBounds`). The last bucket counts durations above all bounds.
   */
  readonly counts: readonly number[]
  /** Sum of the durations in seconds. */
  readonly sum: number
}

/** Counts durations in buckets. */
export class DurationHistogram implements Durations {
  readonly counts: number[] = [...durationBounds, 0].map(() => 0)
  sum = 0

  add(ms: number): void {
    const seconds = ms / 1000
    const at = durationBounds.findIndex(bound => seconds <= bound)
    this.counts[at === -1 ? durationBounds.length : at]!++
    this.sum += seconds
  }
}
