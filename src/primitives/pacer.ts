/**
 * A time slicer that keeps long work from blocking the event loop. Call `due` inside a loop, and `pause` when `due`
 * returns true. Callers must check at least once per few thousand rows.
 */
import type { Activity } from './activity.js'
import { type Clock, systemClock } from './clock.js'

/** Milliseconds of work between two pauses. This is well below the guaranteed maximum event-loop delay of 20 ms. */
const sliceMs = 6
/** Milliseconds of background work between two pauses. */
const backgroundMs = 2
/** Maximum time in milliseconds that background work waits for foreground calls before its next slice. */
const backgroundWaitMs = 8

/** A time slicer. It tells a long loop when to pause. Create one for each call. */
export class Pacer {
  /** The signal by which the caller cancels the work. */
  readonly signal: AbortSignal | undefined
  readonly #clock: Clock
  readonly #foreground: Activity | undefined
  readonly #sliceMs: number
  #until: number
  /** Milliseconds spent in pauses so far. */
  #paused = 0

  /**
   * `foreground`: calls for which background work backs off, with shorter slices. Undefined: the work is not background
   * work.
   */
  constructor(signal?: AbortSignal, clock: Clock = systemClock, foreground?: Activity) {
    signal?.throwIfAborted()
    this.#clock = clock
    this.#foreground = foreground
    this.#sliceMs = foreground === undefined ? sliceMs : backgroundMs
    this.signal = signal
    this.#until = clock.elapsed() + this.#sliceMs
  }

  /**
   * Return a time in milliseconds that does not advance during pauses. The difference of two times is the time of work.
   */
  worked(): number {
    return this.#clock.elapsed() - this.#paused
  }

  /** Return whether the slice is over, so that the caller should pause. */
  due(): boolean {
    return this.#clock.elapsed() >= this.#until
  }

  /** Pause, so that the event loop runs other work. Throws `signal.reason` if the signal is aborted. */
  async pause(): Promise<void> {
    const begun = this.#clock.elapsed()
    await this.#clock.yield()
    await this.#foreground?.waitUntilIdle(backgroundWaitMs, this.signal)
    this.signal?.throwIfAborted()
    const now = this.#clock.elapsed()
    this.#paused += now - begun
    this.#until = now + this.#sliceMs
  }

  /** Pause if the slice is over. */
  async turn(): Promise<void> {
    if (this.due()) await this.pause()
  }
}
