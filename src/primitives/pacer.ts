/**
 * Keeps long work from holding the event loop: call `due` inside the loop, and `pause` when it says so.
 * A caller promises to check at least once per few thousand rows.
 */
import type { Activity } from './activity.js'
import { type Clock, systemClock } from './clock.js'

/** Milliseconds of work between two pauses; well under the promised 20 ms gap. */
const sliceMs = 6
/** The same for who works in the background. */
const backgroundMs = 2
/** How long the background lets the foreground go on before it takes a slice in between. */
const patienceMs = 8

export class Pacer {
  /** What the caller gives up by. */
  readonly signal: AbortSignal | undefined
  readonly #clock: Clock
  readonly #foreground: Activity | undefined
  readonly #sliceMs: number
  #until: number
  /** Milliseconds that others had in the pauses so far. */
  #paused = 0

  /** `foreground`: what to give way to; slices are shorter then. */
  constructor(signal?: AbortSignal, clock: Clock = systemClock, foreground?: Activity) {
    signal?.throwIfAborted()
    this.#clock = clock
    this.#foreground = foreground
    this.#sliceMs = foreground === undefined ? sliceMs : backgroundMs
    this.signal = signal
    this.#until = clock.elapsed() + this.#sliceMs
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
    await this.#foreground?.giveWay(patienceMs, this.signal)
    this.signal?.throwIfAborted()
    const now = this.#clock.elapsed()
    this.#paused += now - begun
    this.#until = now + this.#sliceMs
  }

  /** `pause` if due. */
  async turn(): Promise<void> {
    if (this.due()) await this.pause()
  }
}
