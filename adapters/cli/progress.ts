/** How far something is, as one line at the end of a terminal. In a pipe or a file there is nothing of it. */
import { type Clock, systemClock } from '../../src/primitives/clock.js'

/** What of a stream is needed: `process.stderr` is one. */
export interface Terminal {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

export interface ProgressLine {
  /** Shows another text in place of the one before, unless that was a moment ago. */
  show(text: string): void
  /** Takes the line away: before anything else is written to the terminal, and at the end. */
  clear(): void
}

/** Milliseconds for which a line stays. */
const shownMs = 100
/** To the beginning of the line, and away with it. */
const erase = '\r\x1b[K'

export function progressLine(
  terminal: Terminal = process.stderr,
  clock: Pick<Clock, 'elapsed'> = systemClock,
): ProgressLine {
  if (terminal.isTTY !== true) return { show() {}, clear() {} }
  let shownAt = Number.NEGATIVE_INFINITY
  let isShown = false
  return {
    show(text) {
      if (clock.elapsed() - shownAt < shownMs) return
      shownAt = clock.elapsed()
      isShown = true
      // A line that is wrapped could not be taken away. Some terminals say that they have no columns.
      terminal.write(`${erase}${text.slice(0, (terminal.columns || 80) - 1)}`)
    },
    clear() {
      if (isShown) terminal.write(erase)
      isShown = false
    },
  }
}
