/** Shows the progress of an import: a bar, the rate and the rest of the time. */
import { systemClock } from '../../src/primitives/clock.js'
import { progressLine } from './progress.js'
import { showCount, showCounted, showTime } from './quantities.js'

const barWidth = 20
/** Time before the rest of the time is estimated, in milliseconds. */
const firstEstimateMs = 1000

export class ImportProgress {
  /** Bytes of the sources that were read. */
  bytes = 0
  /** Rows that were read. */
  rows = 0
  readonly #total: number
  readonly #line = progressLine()
  readonly #begun = systemClock.elapsed()

  /** `total`: bytes of all sources. */
  constructor(total: number) {
    this.#total = total
  }

  show(): void {
    const elapsed = systemClock.elapsed() - this.#begun
    this.#line.show(progressText(this, this.#total, elapsed))
  }

  clear(): void {
    this.#line.clear()
  }
}

/** Return the text of a progress line after `elapsed` milliseconds. `total`: bytes of all sources. */
export function progressText(
  { bytes, rows }: { readonly bytes: number; readonly rows: number },
  total: number,
  elapsed: number,
): string {
  const share = total === 0 ? 1 : Math.min(1, bytes / total)
  const filled = Math.round(share * barWidth)
  const rate = elapsed === 0 ? 0 : (1000 * rows) / elapsed
  const isEarly = elapsed < firstEstimateMs || share === 0
  const left = isEarly ? '' : `, ${showTime((elapsed * (1 - share)) / share)} left`
  const bar = `${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}`
  return `[${bar}] ${Math.floor(100 * share)} %  ${showCounted(rows, 'row')}, ${showCount(rate)} rows/s${left}`
}
