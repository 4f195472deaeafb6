/**
 * The only source of time and randomness. All other code takes a `Clock`, so that a test can replay a whole history
 * from one seed.
 */
import { randomUUID } from 'node:crypto'

/** A source of time, random numbers and UUIDs. Tests pass their own clock. */
export interface Clock {
  /** Wall time, milliseconds since 1970. May jump. */
  now(): number
  /** Milliseconds from an arbitrary start; never goes back. For durations and deadlines. */
  elapsed(): number
  /** A version 4 UUID. */
  uuid(): string
  /** Uniform in [0, 1). For jitter, never for identity. */
  random(): number
  /**
   * Resolves after `ms` milliseconds. Rejects with `signal.reason` when aborted. The timer keeps the process alive only
   * if `awaited` is true (default: false). Pass true for a pause inside a call that a caller awaits, never for
   * maintenance.
   */
  sleep(ms: number, signal?: AbortSignal, awaited?: boolean): Promise<void>
  /** Let all other ready work run first. */
  yield(): Promise<void>
}

/** The clock of the operating system. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  uuid: () => randomUUID(),
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
