/** Handles the signals that ask the program to end. */
import { constants } from 'node:os'

/** Thrown if a signal stopped the command. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  /** The exit code that shells report for a program that a signal ended. */
  readonly exitCode: number

  constructor(signal: StoppingSignal) {
    super(`stopped by ${signal}`)
    this.exitCode = 128 + constants.signals[signal]
  }
}

/** SIGHUP: the terminal was closed; also on Windows. SIGBREAK: Ctrl+Break, on Windows only. */
const stoppingSignals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGBREAK'] as const

type StoppingSignal = (typeof stoppingSignals)[number]

/**
 * Call `stop` at the first stopping signal. The next signal ends the process immediately, because the handlers are
 * removed.
 */
export function onStop(stop: (signal: StoppingSignal) => void): void {
  const first = (signal: NodeJS.Signals) => {
    for (const each of stoppingSignals) process.off(each, first)
    stop(signal as StoppingSignal)
  }
  for (const signal of stoppingSignals) process.on(signal, first)
}

/** Return an AbortSignal that aborts at the first stopping signal. Its reason is a `Stopped`. */
export function untilStopped(): AbortSignal {
  const controller = new AbortController()
  onStop(signal => controller.abort(new Stopped(signal)))
  return controller.signal
}
