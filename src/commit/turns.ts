/**
 * Orders writers that compete for the next slot: the writer that has waited longest is first. Every writer derives the
 * same order from the log, without messages. The order is only a back-off: the log's put-if-absent decides.
 */

/** Writers that own none of this many newest slots are forgotten. */
const rememberedSlots = 16

/** The order of writers, from the newest slots of the log. */
export class Turns {
  /** The newest slot of each writer, oldest first. */
  readonly #newest = new Map<string, number>()

  /** Note that `writer` wrote `slot`. Call it in log order. */
  note(writer: string, slot: number): void {
    this.#newest.delete(writer)
    this.#newest.set(writer, slot)
    for (const [oldest, newestSlot] of this.#newest) {
      if (newestSlot > slot - rememberedSlots) break
      this.#newest.delete(oldest)
    }
  }

  /** The number of writers that own one of the newest slots. */
  get writers(): number {
    return this.#newest.size
  }

  /** Return how many of these writers come before `writer`, because they have waited longer. */
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
