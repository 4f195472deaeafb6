/**
 * Keeps the newest changes of tables in memory. A commit that was prepared on an older state needs the changes since
 * that state. It gets them from here without waiting.
 */
import type { EntriesWithBlobs, Entry } from '../commit/machine.js'
import type { Slot } from '../commit/slot.js'
import type { Change } from './change.js'

/** A change and its slot. */
export interface RecentChange {
  readonly change: Change
  readonly slot: Pick<Slot, 'blob'>
}

/** Maximum number of remembered slots, and maximum of the sum of their sizes in bytes. */
const slotsMax = 256
const bytesMax = 4 * 1024 * 1024

/** The changes of the newest slots. See the head of this file. */
export class RecentChanges {
  /** The remembered slots, the oldest slot first. */
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
   * Return the changes of a table that made the versions from `after` + 1 to `last`, in order. Returns null if one of
   * them is not remembered.
   *
   * `earlier`: entries of the next slot of the log, whose changes are returned too.
   */
  between(
    table: string,
    after: number,
    last: number,
    earlier?: EntriesWithBlobs,
  ): readonly RecentChange[] | null {
    if (last === after) return []
    const found: RecentChange[] = []
    const collect = (entries: readonly Entry[], slot: RecentChange['slot']) => {
      const own: RecentChange[] = []
      for (const { ops } of entries) {
        for (const op of ops as readonly Change[]) {
          if (op.op === 'change' && op.t === table && op.v > after && op.v <= last)
            own.push({ change: op, slot })
        }
      }
      found.unshift(...own)
    }
    if (earlier !== undefined) collect(earlier.entries, earlier)
    // Search from the end: the changes are nearly always in the newest slots.
    for (let i = this.#slots.length - 1; i >= 0 && found.length < last - after; i--) {
      const slot = this.#slots[i]!
      collect(slot.header.entries, slot)
    }
    return found.length === last - after ? found : null
  }
}
