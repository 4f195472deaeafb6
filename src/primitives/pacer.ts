/**
 * Keeps long work from holding the event loop: call `due` inside the loop, and `pause` when it says so.
 * A caller promises to check at least once per few thousand rows.
 */
import { type Clock, systemClock } from './clock.js'

/** Milliseconds of work between two pauses; well under the promised 20 ms gap. */
const sliceMs = 6

export class Pacer {
  /** What the caller gives up by. */
  readonly signal: AbortSignal | undefined
  readonly #clock: Clock
  #until: number
  /** Milliseconds that others had in the pauses so far. */
  #paused = 0

  constructor(signal?: AbortSignal, clock: Clock = systemClock) {
    signal?.throwIfAborted()
    this.#clock = clock
    this.signal = signal
    this.#until = clock.elapsed() + sliceMs
  }

  /** Milliseconds from an arbitrary start, pauses left out: for who wants to know what a step took. */
  worked(): number {
    return this.#clock.elapsed() - this.#paused
  }

  due(): boolean {
    return this.#clock.elapsed() >= this.#until
  }

  /** Lets the loop turn once; throws `signal.reason` if the caller has given up meanwhile. */
  async pause(): Promise<void> {
    const begun = this.#clock.elapsed()
    await this.#clock.yield()
    this.signal?.throwIfAborted()
    const now = this.#clock.elapsed()
    this.#paused += now - begun
    this.#until = now + sliceMs
  }

  /** `pause` if due. */
  async turn(): Promise<void> {
    if (this.due()) await this.pause()
  }
}
