/**
 * Counts the bytes of one commit that are inline in the slot, in addition to its rows (STORAGE S11). The rest goes into
 * files.
 */
import { inlineBytes } from './stage.js'

/** The inline bytes that one commit has left. */
export class InlineRoom {
  #left: number

  /** `taken`: bytes that are used already. */
  constructor(taken = 0) {
    this.#left = inlineBytes - taken
  }

  /** Reserve space; return whether there was enough. */
  takes(bytes: number): boolean {
    if (bytes > this.#left) return false
    this.#left -= bytes
    return true
  }
}
