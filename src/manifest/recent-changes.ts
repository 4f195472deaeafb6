/**
 * Keeps the newest changes of tables in memory. A commit that was prepared on an older state reads without waiting
 * which changes came since.
 */
import type { Slot } from '../commit/slot.js'
import type { Change } from './change.js'

/** A change and its slot. */
export interface RecentChange {
  readonly change: Change
  readonly slot: Pick<Slot, 'header' | 'blob'>
}

/** Number of remembered slots, and the limit of their size together, bytes. */
const slotsMax = 256
const bytesMax = 4 * 1024 * 1024

/** The changes of the newest slots. See the head of this file. */
export class RecentChanges {
  /** Oldest first. */
  readonly #slots: Slot[] = []
  #bytes = 0

  /** Add the next slot of the log. */
  note(slot: Slot): void {
    this.#slots.push(slot)
    this.#bytes += slot.bytes
    while (this.#slots.length > slotsMax || (this.#bytes > bytesMax && this.#slots.length > 1)) {
      this.#bytes -= this.#slots.shift()!.bytes
    }
  }

  /**
   * Return the changes of a table that made the versions after `after` up to `last`, in order; null if not all of them
   * are remembered.
   */
  between(table: string, after: number, last: number): readonly RecentChange[] | null {
    const found: RecentChange[] = []
    // They are nearly always in the very last slots.
    for (let i = this.#slots.length - 1; i >= 0 && found.length < last - after; i--) {
      const slot = this.#slots[i]!
      const own: RecentChange[] = []
      for (const { ops } of slot.header.entries) {
        for (const op of ops as readonly Change[]) {
          if (op.op === 'change' && op.t === table && op.v > after && op.v <= last)
            own.push({ change: op, slot })
        }
      }
      found.unshift(...own)
    }
    return found.length === last - after ? found : null
  }
}
