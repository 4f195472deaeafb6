/** What decoding may allocate beyond the bytes it was given. */
import { ErrorCode, quote, SheafError } from '../errors.js'

/** 1 GiB. */
export const defaultMaxBytes = 2 ** 30

/** Memory that several decoders share. A decoder gives back what it takes; what it holds at the end of a call is given back for it. */
export interface SharedMemory {
  /**
   * Waits until there are so many bytes left, and takes them. Throws `signal.reason`, and what `add` throws where the decoder holds some
   * already.
   */
  take(bytes: number, signal: AbortSignal | undefined): Promise<void>
  /** Takes bytes at once. @throws code 17 where other decoders hold the memory; code 13, status 413, where the limit is smaller. */
  add(bytes: number): void
  give(bytes: number): void
}

export class Budget {
  readonly #limit: number
  readonly #memory: SharedMemory | undefined
  #left: number
  #paid: number
  #taken: number

  /** `memory`: what is allocated is taken of it, beyond the `paid` bytes that were taken before. */
  constructor(limit: number, memory?: SharedMemory, paid = 0) {
    this.#limit = limit
    this.#memory = memory
    this.#left = limit
    this.#paid = paid
    this.#taken = paid
  }

  /** Bytes taken of the memory. */
  get taken(): number {
    return this.#taken
  }

  /** Says that `bytes` are about to be allocated for a column. @throws code 13, status 413, when over the limit. */
  charge(bytes: number, path: string): void {
    this.#left -= bytes
    if (this.#left < 0) throw tooLarge(`column ${quote(path)} makes the arrow body`, this.#limit)
    if (this.#memory === undefined) return
    this.#paid -= bytes
    if (this.#paid >= 0) return
    this.#memory.add(-this.#paid)
    this.#taken -= this.#paid
    this.#paid = 0
  }
}

/** `what` is larger than a decoder may hold (code 13, status 413). */
export function tooLarge(what: string, limit: number): SheafError {
  return new SheafError(ErrorCode.InvalidInput, `${what} larger than ${limit} bytes when decoded`, {
    status: 413,
    hint: 'send fewer rows at a time',
  })
}
