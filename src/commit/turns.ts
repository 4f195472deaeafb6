/**
 * Whose turn it is when several writers want the next slot: that of the one who has gone longest without. Every writer
 * reads the order off the log, so all agree without a word; it is a courtesy, and the log's put-if-absent decides.
 */

/** A writer without any of this many slots is not waited for. */
const remembered = 16

export class Turns {
  /** The newest slot of each writer, oldest first. */
  readonly #newest = new Map<string, number>()

  /** Slot `slot` is `writer`'s. Told in the order of the log. */
  note(writer: string, slot: number): void {
    this.#newest.delete(writer)
    this.#newest.set(writer, slot)
    for (const [oldest, its] of this.#newest) {
      if (its > slot - remembered) break
      this.#newest.delete(oldest)
    }
  }

  /** How many writers have a slot among the newest ones. */
  get writers(): number {
    return this.#newest.size
  }

  /** How many of them come before `writer`: all who have gone longer without. */
  before(writer: string): number {
    if (!this.#newest.has(writer)) return 0
    let count = 0
    for (const other of this.#newest.keys()) {
      if (other === writer) break
      count++
    }
    return count
  }
}
