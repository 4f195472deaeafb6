/** Limits the memory for decoding uploads. All calls of a server share one budget. */
import type { SharedMemory } from '../src/arrow/budget.js'
import { ErrorCode, invalidInput, SheafError } from '../src/errors.js'

/** Default of the budget: 1 GiB, in bytes. */
export const uploadBytesDefault = 2 ** 30

interface Waiter {
  readonly bytes: number
  readonly enter: () => void
}

export class UploadMemory {
  readonly #limit: number
  /** Calls that wait for memory, in the order in which they began to wait. */
  readonly #waiting = new Set<Waiter>()
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Open an account that counts the memory of one call. `close` of the account frees all its memory. */
  account(): UploadAccount {
    return new UploadAccount(this, this.#limit)
  }

  get used(): number {
    return this.#used
  }

  /**
   * Take bytes from the budget. If too few are free, wait behind earlier callers. Rejects with `signal.reason` if the
   * signal aborts.
   */
  async enter(bytes: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (this.#waiting.size === 0 && this.tryEnter(bytes)) return
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.delete(waiter)
        reject(signal!.reason)
        this.#next()
      }
      const enter = () => {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      const waiter = { bytes, enter }
      this.#waiting.add(waiter)
      signal?.addEventListener('abort', giveUp, { once: true })
    })
  }

  /** Take bytes if enough are free, without waiting. Returns whether the bytes were taken. */
  tryEnter(bytes: number): boolean {
    if (this.#used + bytes > this.#limit) return false
    this.#used += bytes
    return true
  }

  leave(bytes: number): void {
    this.#used -= bytes
    this.#next()
  }

  #next(): void {
    for (const waiter of this.#waiting) {
      if (!this.tryEnter(waiter.bytes)) return
      this.#waiting.delete(waiter)
      waiter.enter()
    }
  }
}

/**
 * Counts the memory of one call. If the budget is used up, the first request of a call waits for memory, and later
 * requests of the call fail. If later requests waited too, two calls could wait for each other forever.
 */
class UploadAccount implements SharedMemory {
  readonly #memory: UploadMemory
  readonly #limit: number
  #held = 0

  constructor(memory: UploadMemory, limit: number) {
    this.#memory = memory
    this.#limit = limit
  }

  async take(bytes: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#held > 0) return this.add(bytes)
    // A single message may be larger than the whole budget. It then takes the whole budget.
    const taken = Math.min(bytes, this.#limit)
    await this.#memory.enter(taken, signal)
    this.#held += taken
  }

  add(bytes: number): void {
    if (this.#held + bytes > this.#limit) {
      throw invalidInput(
        `the decoded rows take more than ${this.#limit} bytes, the limit for all uploads of the server together`,
        { status: 413, hint: 'send fewer rows at a time' },
      )
    }
    if (!this.#memory.tryEnter(bytes)) {
      throw new SheafError(ErrorCode.ServiceUnavailable, 'other uploads use all the memory for uploads', {
        hint: 'try again later, or send fewer rows at a time',
      })
    }
    this.#held += bytes
  }

  give(bytes: number): void {
    const given = Math.min(bytes, this.#held)
    this.#held -= given
    this.#memory.leave(given)
  }

  close(): void {
    this.give(this.#held)
  }
}
