/** Shows progress as one line at the end of a terminal. Shows nothing if the stream is a pipe or a file. */
import { type Clock, systemClock } from '../../src/primitives/clock.js'

/** The members of `process.stderr` that a progress line uses. */
interface Terminal {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

interface ProgressLine {
  /** Replace the text. Does nothing within 100 ms after the last replacement. */
  show(text: string): void
  /** Remove the line. Call this before anything else is written to the terminal, and at the end. */
  clear(): void
}

/** Minimum time between two updates of the line, in milliseconds. */
const shownMs = 100
/** Terminal codes that move to the beginning of the line and erase the line. */
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
      // Cut the text to the width of the terminal: `erase` erases one line only. Some terminals report 0 columns.
      terminal.write(`${erase}${text.slice(0, (terminal.columns || 80) - 1)}`)
    },
    clear() {
      if (isShown) terminal.write(erase)
      isShown = false
    },
  }
}
