/**
 * Orders writers that compete for the next slot. The writer that has waited longest is the first. Every writer computes
 * the same order from the log, so writers exchange no messages. A writer that ignores the order does no harm, because
 * the put-if-absent of the log decides who gets the slot.
 */

/** A writer is forgotten if it wrote none of this many newest slots. */
const rememberedSlots = 16

/** The order of the writers of the newest slots. */
export class Turns {
  /** By writer: the writer's newest slot. The writer with the oldest of these slots comes first. */
  readonly #newest = new Map<string, number>()
  #last = ''
  #run = 0

  /** Record that `writer` wrote `slot`. Call this in the order of slots. */
  note(writer: string, slot: number): void {
    this.#run = writer === this.#last ? this.#run + 1 : 1
    this.#last = writer
    this.#newest.delete(writer)
    this.#newest.set(writer, slot)
    for (const [oldest, newestSlot] of this.#newest) {
      if (newestSlot > slot - rememberedSlots) break
      this.#newest.delete(oldest)
    }
  }

  /** Return how many of the newest slots `writer` wrote in a row. */
  runOf(writer: string): number {
    return writer === this.#last ? this.#run : 0
  }

  /** The number of writers that wrote one of the newest slots. */
  get writers(): number {
    return this.#newest.size
  }

  /**
   * Return how many of these writers come before `writer`, because their newest slot is older. Returns 0 for a writer
   * that wrote none of the newest slots.
   */
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
