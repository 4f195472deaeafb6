/** Signals that ask the program to end. */
import { constants } from 'node:os'

/** The user ended it. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  /** As shells tell of programs that a signal ended. */
  readonly exitCode: number

  constructor(signal: StoppingSignal) {
    super(`stopped by ${signal}`)
    this.exitCode = 128 + constants.signals[signal]
  }
}

export type StoppingSignal = 'SIGTERM' | 'SIGINT'

/** Calls `stop` at the first such signal; the next one ends the process at once, as if nobody listened. */
export function onStop(stop: (signal: StoppingSignal) => void): void {
  const first = (signal: NodeJS.Signals) => {
    for (const each of stoppingSignals) process.off(each, first)
    stop(signal as StoppingSignal)
  }
  for (const signal of stoppingSignals) process.on(signal, first)
}

const stoppingSignals: readonly StoppingSignal[] = ['SIGTERM', 'SIGINT']

/** Aborted by such a signal, for `Stopped`. */
export function untilStopped(): AbortSignal {
  const controller = new AbortController()
  onStop(signal => controller.abort(new Stopped(signal)))
  return controller.signal
}
