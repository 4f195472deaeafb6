/** Limits the memory that decoding allocates in addition to its input. */
import { ErrorCode, quote, SheafError } from '../errors.js'

/** 1 GiB. */
export const defaultMaxBytes = 2 ** 30

/**
 * Memory that several decoders share. A decoder returns what it took; at the end of a call the rest is returned for it.
 */
export interface SharedMemory {
  /**
   * Wait until `bytes` are available, then take them. Rejects with `signal.reason`, and with the errors of `add` if the
   * decoder already holds some memory.
   */
  take(bytes: number, signal: AbortSignal | undefined): Promise<void>
  /**
   * Take bytes without waiting.
   * @throws ServiceUnavailable if other decoders hold the memory; InvalidInput with status 413 if the limit is smaller.
   */
  add(bytes: number): void
  give(bytes: number): void
}

/** Counts the bytes that decoding allocates, up to a limit. */
export class Budget {
  readonly #limit: number
  readonly #memory: SharedMemory | undefined
  #left: number
  #paid: number
  #taken: number

  /** `memory`: shared memory from which allocations are taken. `paid`: bytes already taken from it. */
  constructor(limit: number, memory?: SharedMemory, paid = 0) {
    this.#limit = limit
    this.#memory = memory
    this.#left = limit
    this.#paid = paid
    this.#taken = paid
  }

  /** Bytes taken from the shared memory. */
  get taken(): number {
    return this.#taken
  }

  /**
   * Charge `bytes` that are about to be allocated for a column. @throws InvalidInput with status 413 if the limit is
   * exceeded.
   */
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

/** Create the error for input that exceeds the limit of a decoder: `InvalidInput` with status 413. */
export function tooLarge(what: string, limit: number): SheafError {
  return new SheafError(ErrorCode.InvalidInput, `${what} larger than ${limit} bytes when decoded`, {
    status: 413,
    hint: 'send fewer rows at a time',
  })
}
