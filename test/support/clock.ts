/**
 * A clock for tests that replays a whole history from one seed.
 *
 * Nothing waits for real: whenever everything else has come to rest, one waiter is woken, chosen by the seed among
 * those that only yielded; when there is none, time jumps to the next sleeper. So two tasks that yield now and
 * then meet in every order, and each order has its seed.
 *
 * So a root that is left open, as one whose process died, goes through its hours as fast as the machine can, for as long as the
 * clock turns: who leaves one behind stops its clock.
 */
import type { Clock } from '../../src/primitives/clock.js'

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

/** Clocks at which somebody waits. */
const turning = new Set<SeededClock>()

/** Stops every clock there is. */
export function stopClocks(): void {
  for (const clock of turning) clock.stop()
}

export class SeededClock implements Clock {
  readonly #start: number
  readonly #random: () => number
  #time = 0
  #yielded: (() => void)[] = []
  #sleepers: Sleeper[] = []
  #stopped = false

  /** `start`: wall time of the first moment, milliseconds since 1970. */
  constructor(seed: number, start = 1_700_000_000_000) {
    this.#start = start
    this.#random = randomFrom(seed)
  }

  now(): number {
    return this.#start + Math.floor(this.#time)
  }

  elapsed(): number {
    return this.#time
  }

  uuid(): string {
    const hex = Array.from({ length: 32 }, () => Math.floor(this.#random() * 16).toString(16)).join('')
    const variant = '89ab'[Math.floor(this.#random() * 4)]
    const groups = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`]
    return [...groups, `${variant}${hex.slice(17, 20)}`, hex.slice(20)].join('-')
  }

  random(): number {
    return this.#random()
  }

  /** Moves time without waking anybody, as a suspended machine does. */
  advance(ms: number): void {
    this.#time += ms
  }

  /** Wakes nobody any more: who waits, or will, waits for ever. */
  stop(): void {
    this.#stopped = true
    this.#yielded = []
    this.#sleepers = []
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const sleeper: Sleeper = {
        until: this.#time + ms,
        wake: () => {
          signal?.removeEventListener('abort', abort)
          resolve()
        },
      }
      const abort = () => {
        this.#sleepers = this.#sleepers.filter(other => other !== sleeper)
        reject(signal!.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#sleepers.push(sleeper)
      this.#turn()
    })
  }

  yield(): Promise<void> {
    return new Promise(resolve => {
      this.#yielded.push(resolve)
      this.#turn()
    })
  }

  #turn(): void {
    if (this.#stopped || turning.has(this)) return
    turning.add(this)
    setImmediate(() => {
      turning.delete(this)
      this.#wakeOne()
      if (this.#yielded.length > 0 || this.#sleepers.length > 0) this.#turn()
    })
  }

  #wakeOne(): void {
    if (this.#yielded.length > 0) {
      const [wake] = this.#yielded.splice(Math.floor(this.#random() * this.#yielded.length), 1)
      wake!()
      return
    }
    let next: Sleeper | undefined
    for (const sleeper of this.#sleepers) if (next === undefined || sleeper.until < next.until) next = sleeper
    if (next === undefined) return
    this.#sleepers = this.#sleepers.filter(other => other !== next)
    this.#time = Math.max(this.#time, next.until)
    next.wake()
  }
}

/** mulberry32: uniform in [0, 1). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}
