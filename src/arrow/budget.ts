/** Limits the memory that decoding allocates in addition to its input. */
import { ErrorCode, quote, SheafError } from '../errors.js'

/** Default limit of a decoder: 1 GiB. */
export const defaultMaxBytes = 2 ** 30

/**
 * A limited amount of memory that several decoders share. A decoder gives back the bytes that it took. At the end of a
 * call, its caller gives back the bytes that the decoder has not given back.
 */
export interface SharedMemory {
  /**
   * Wait until `bytes` are available, then take them. Rejects with `signal.reason` if `signal` is aborted.
   *
   * A decoder that already has some memory does not wait. Instead the call rejects with the errors of `add`, because
   * two waiting decoders could block each other forever.
   */
  take(bytes: number, signal: AbortSignal | undefined): Promise<void>
  /**
   * Take bytes without waiting.
   * @throws ServiceUnavailable if other decoders use the memory. InvalidInput with status 413 if the decoder would have
   * more bytes than the whole limit.
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

  /**
   * `limit`: maximum bytes. `memory`: shared memory from which the budget takes the bytes; default: none. `paid`: bytes
   * that the caller already took from `memory` for this budget.
   */
  constructor(limit: number, memory?: SharedMemory, paid = 0) {
    this.#limit = limit
    this.#memory = memory
    this.#left = limit
    this.#paid = paid
    this.#taken = paid
  }

  /** Bytes taken from the shared memory, including those that the caller paid. */
  get taken(): number {
    return this.#taken
  }

  /**
   * Count `bytes` before they are allocated for a column. `path`: name of the column, for the message.
   * @throws InvalidInput with status 413 if the limit is exceeded.
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
