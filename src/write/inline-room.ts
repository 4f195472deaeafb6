/** How much of one commit can ride in the slot besides its rows (STORAGE S11); what is over goes into files. */
import { inlineBytes } from './stage.js'

export class InlineRoom {
  #left: number

  /** `taken`: bytes that have their place already. */
  constructor(taken = 0) {
    this.#left = inlineBytes - taken
  }

  /** Whether there was room, which is taken now. */
  takes(bytes: number): boolean {
    if (bytes > this.#left) return false
    this.#left -= bytes
    return true
  }
}
