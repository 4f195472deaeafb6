/**
 * A time slicer that keeps long work from blocking the event loop. Call `due` inside a loop, and `pause` when `due`
 * returns true. Callers must check at least once per few thousand rows.
 */
import type { Activity } from './activity.js'
import { type Clock, systemClock } from './clock.js'

/** Milliseconds of work between two pauses. Well below the guaranteed event-loop delay of 20 ms. */
const sliceMs = 6
/** The same for background work. */
const backgroundMs = 2
/** Milliseconds that background work waits for foreground calls before it takes its next slice. */
const backgroundWaitMs = 8

/** Tells a long loop when to pause. Create one per call. */
export class Pacer {
  /** The signal by which the caller cancels the work. */
  readonly signal: AbortSignal | undefined
  readonly #clock: Clock
  readonly #foreground: Activity | undefined
  readonly #sliceMs: number
  #until: number
  /** Milliseconds spent in pauses so far. */
  #paused = 0

  /** `foreground`: the calls for which this work backs off; slices are shorter then. */
  constructor(signal?: AbortSignal, clock: Clock = systemClock, foreground?: Activity) {
    signal?.throwIfAborted()
    this.#clock = clock
    this.#foreground = foreground
    this.#sliceMs = foreground === undefined ? sliceMs : backgroundMs
    this.signal = signal
    this.#until = clock.elapsed() + this.#sliceMs
  }

  /** Return a time stamp in milliseconds that does not advance during pauses. To measure how long a step took. */
  worked(): number {
    return this.#clock.elapsed() - this.#paused
  }

  /** Return whether the slice is over, so that the caller should pause. */
  due(): boolean {
    return this.#clock.elapsed() >= this.#until
  }

  /** Let the event loop turn once. Throws `signal.reason` if the caller has canceled. */
  async pause(): Promise<void> {
    const begun = this.#clock.elapsed()
    await this.#clock.yield()
    await this.#foreground?.waitUntilIdle(backgroundWaitMs, this.signal)
    this.signal?.throwIfAborted()
    const now = this.#clock.elapsed()
    this.#paused += now - begun
    this.#until = now + this.#sliceMs
  }

  /** Pause if `due`. */
  async turn(): Promise<void> {
    if (this.due()) await this.pause()
  }
}
