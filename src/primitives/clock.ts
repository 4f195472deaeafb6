/**
 * The only source of time and randomness. All other modules get a `Clock` as an argument, so that a test can repeat a
 * whole run from one seed.
 */
import { randomUUID } from 'node:crypto'

/** A source of time, random numbers and UUIDs. Tests pass their own clock. */
export interface Clock {
  /** Return the wall time in milliseconds since 1970. It may jump forwards and backwards. */
  now(): number
  /** Return milliseconds since an arbitrary start. The value never decreases, so use it for durations and deadlines. */
  elapsed(): number
  /** Return a new version 4 UUID. */
  uuid(): string
  /** Return a uniform random number in [0, 1). Use it for jitter, never for ids. */
  random(): number
  /**
   * Wait for `ms` milliseconds. Rejects with `signal.reason` when the signal aborts. `awaited`: whether the timer keeps
   * the process running (default false). Pass true for a pause inside a call that a caller awaits. Pass false for
   * maintenance, so that a process without other work can exit.
   */
  sleep(ms: number, signal?: AbortSignal, awaited?: boolean): Promise<void>
  /** Wait until all other work that is ready in the event loop has run. */
  yield(): Promise<void>
}

/** The clock of the operating system. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // The first use of `performance` takes a millisecond, in which Node loads the module.
  elapsed: () => Number(process.hrtime.bigint()) / 1e6,
  uuid: randomUUID,
  random: () => Math.random(),
  sleep(ms, signal, awaited = false) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const aborted = () => {
        clearTimeout(timer)
        reject(signal!.reason)
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', aborted)
        resolve()
      }, ms)
      if (!awaited) timer.unref()
      signal?.addEventListener('abort', aborted, { once: true })
    })
  },
  yield: () => new Promise(resolve => setImmediate(resolve)),
}
