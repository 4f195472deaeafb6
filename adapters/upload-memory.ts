/** The memory that decoding uploads may take: one budget for all calls of a server. */
import type { SharedMemory } from '../src/arrow/budget.js'
import { ErrorCode, invalidInput, SheafError } from '../src/errors.js'

/** The default budget, bytes: 1 GiB. */
export const uploadBytesDefault = 2 ** 30

interface Waiter {
  readonly bytes: number
  readonly enter: () => void
}

export class UploadMemory {
  readonly #limit: number
  /** In the order of arrival. */
  readonly #waiting = new Set<Waiter>()
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Open an account for one call; its memory is freed by `close`. */
  account(): UploadAccount {
    return new UploadAccount(this, this.#limit)
  }

  get used(): number {
    return this.#used
  }

  /** Take bytes, in the order of arrival. Rejects with `signal.reason`. */
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

  /** Take bytes if they are left, without waiting. Returns whether they were. */
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
 * The memory of one call. A call that has none yet waits for memory. A call that has some already is refused when there is no more, since
 * two such calls would wait for each other forever.
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
    // A message that is larger than the whole budget takes the whole budget.
    const taken = Math.min(bytes, this.#limit)
    await this.#memory.enter(taken, signal)
    this.#held += taken
  }

  add(bytes: number): void {
    if (this.#held + bytes > this.#limit) {
      throw invalidInput(
        `the decoded rows take more than ${this.#limit} bytes, the limit of all uploads of the server together`,
        { status: 413, hint: 'send fewer rows at a time' },
      )
    }
    if (!this.#memory.tryEnter(bytes)) {
      throw new SheafError(
        ErrorCode.ServiceUnavailable,
        'the memory for uploads is in use by other uploads',
        {
          hint: 'try again later, or send fewer rows at a time',
        },
      )
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
