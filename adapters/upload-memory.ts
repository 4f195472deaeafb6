/** The memory that uploads take while they are decoded: one amount for all calls of a server. */
import type { SharedMemory } from '../src/arrow/budget.js'
import { ErrorCode, invalidInput, SheafError } from '../src/errors.js'

/** Bytes, where nothing is said: 1 GiB. */
export const uploadBytesDefault = 2 ** 30

interface Waiter {
  readonly bytes: number
  readonly enter: () => void
}

export class UploadMemory {
  readonly #limit: number
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiter>()
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** What one call takes of it, until `close`. */
  account(): UploadAccount {
    return new UploadAccount(this, this.#limit)
  }

  get used(): number {
    return this.#used
  }

  /** Takes bytes, in turn. Rejects with `signal.reason`. */
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

  /** Takes bytes where they are left, without a turn. */
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
 * The memory of one call. A call that holds none waits for it, so that it keeps none from others meanwhile; one that holds some already is
 * refused where there is no more, since two such calls would wait for each other.
 */
export class UploadAccount implements SharedMemory {
  readonly #memory: UploadMemory
  readonly #limit: number
  #held = 0

  constructor(memory: UploadMemory, limit: number) {
    this.#memory = memory
    this.#limit = limit
  }

  async take(bytes: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#held > 0) return this.add(bytes)
    // A message that is larger than all there is has it for itself.
    const taken = Math.min(bytes, this.#limit)
    await this.#memory.enter(taken, signal)
    this.#held += taken
  }

  add(bytes: number): void {
    if (this.#held + bytes > this.#limit) {
      throw invalidInput(
        `the rows take more than the ${this.#limit} bytes that all uploads of the server have together, decoded`,
        { status: 413, hint: 'send fewer rows at a time' },
      )
    }
    if (!this.#memory.tryEnter(bytes)) {
      throw new SheafError(
        ErrorCode.ServiceUnavailable,
        'other uploads take the memory that these rows need',
        {
          hint: 'ask again later, or send fewer rows at a time',
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
