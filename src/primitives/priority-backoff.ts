/**
 * Who is urgent is given way to, for a while: waits that nobody depends on for being right. So they are bounded, and who
 * waits for itself in a roundabout way goes on too.
 */
import { orAborted } from './abort.js'
import type { Clock } from './clock.js'

/** Longest time to give way, milliseconds: some hundred times what an urgent call takes. */
const patienceMs = 200

export class PriorityBackoff {
  readonly #clock: Clock
  /** By key: until the last one who is urgent is done. */
  readonly #busy = new Map<string, Promise<unknown>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Gives way to those who are urgent under `key`. Rejects with `signal.reason`. */
  async yield(key: string, signal?: AbortSignal): Promise<void> {
    const busy = this.#busy.get(key)
    if (busy !== undefined) await this.#waitFor(busy, signal)
  }

  /**
   * Runs `work` as urgent under `key`, after those who came before. Who had nobody to give way to by then is still at work;
   * so `work` that loses to it tries again before it returns. Rejects with `signal.reason` while it waits.
   */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#busy.get(key)
    let release!: () => void
    const done = new Promise<void>(resolve => {
      release = resolve
    })
    const busy = before === undefined ? done : Promise.all([before, done])
    this.#busy.set(key, busy)
    try {
      if (before !== undefined) await this.#waitFor(before, signal)
      return await work()
    } finally {
      release()
      // Who lost patience may be done before those who came before.
      busy.then(() => {
        if (this.#busy.get(key) === busy) this.#busy.delete(key)
      })
    }
  }

  async #waitFor(busy: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
    const over = new AbortController()
    const patience = this.#clock.sleep(patienceMs, over.signal, true).catch(() => {})
    try {
      await orAborted(Promise.race([busy, patience]), signal)
    } finally {
      over.abort(null)
    }
  }
}
