/** What decoding may allocate beyond the bytes it was given. */
import { ErrorCode, quote, SheafError } from '../errors.js'

/** 1 GiB. */
export const defaultMaxBytes = 2 ** 30

export class Budget {
  readonly #limit: number
  #left: number

  constructor(limit: number) {
    this.#limit = limit
    this.#left = limit
  }

  /** Says that `bytes` are about to be allocated for a column. @throws code 13, status 413, when over the limit. */
  charge(bytes: number, path: string): void {
    this.#left -= bytes
    if (this.#left < 0) throw tooLarge(`column ${quote(path)} makes the arrow body`, this.#limit)
  }
}

/** `what` is larger than a decoder may hold (code 13, status 413). */
export function tooLarge(what: string, limit: number): SheafError {
  return new SheafError(ErrorCode.InvalidInput, `${what} larger than ${limit} bytes when decoded`, {
    status: 413,
    hint: 'send fewer rows at a time',
  })
}
