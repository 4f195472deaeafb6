/**
 * Limits the bytes that one commit stores inline in the slot (STORAGE S11): row ids and deletion vectors. The limit
 * includes the commit's inline rows. Data that does not fit is written to files.
 */
import { inlineBytes } from './stage.js'

/** The number of inline bytes that one commit may still use. */
export class InlineRoom {
  #left: number

  /** `taken`: number of inline bytes that the commit already uses. Default: 0. */
  constructor(taken = 0) {
    this.#left = inlineBytes - taken
  }

  /** Reserve `bytes`. Returns false, and reserves nothing, if fewer bytes are left. */
  takes(bytes: number): boolean {
    if (bytes > this.#left) return false
    this.#left -= bytes
    return true
  }
}
