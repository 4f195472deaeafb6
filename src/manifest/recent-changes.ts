/**
 * The newest changes of tables, at hand without a wait: for who decides a commit on a state and wants to know what came
 * since the one it was worked out on.
 */
import type { Slot } from '../commit/slot.js'
import type { Change } from './change.js'

/** A change, and the slot it stands in. */
export interface RecentChange {
  readonly change: Change
  readonly slot: Pick<Slot, 'header' | 'blob'>
}

/** Slots that are remembered, as long as they are together no larger than so many bytes. */
const slotsMax = 256
const bytesMax = 4 * 1024 * 1024

export class RecentChanges {
  /** Oldest first. */
  readonly #slots: Slot[] = []
  #bytes = 0

  /** Takes in the next slot of the log. */
  note(slot: Slot): void {
    this.#slots.push(slot)
    this.#bytes += slot.bytes
    while (this.#slots.length > slotsMax || (this.#bytes > bytesMax && this.#slots.length > 1)) {
      this.#bytes -= this.#slots.shift()!.bytes
    }
  }

  /** The changes of a table that made the versions after `after` up to `last`, in order; null when not all are known. */
  between(table: string, after: number, last: number): readonly RecentChange[] | null {
    const found: RecentChange[] = []
    // Nearly always they are in the very last slots.
    for (let i = this.#slots.length - 1; i >= 0 && found.length < last - after; i--) {
      const slot = this.#slots[i]!
      const own: RecentChange[] = []
      for (const { ops } of slot.header.entries) {
        for (const op of ops as unknown as readonly Change[]) {
          if (op.op === 'change' && op.t === table && op.v > after && op.v <= last)
            own.push({ change: op, slot })
        }
      }
      found.unshift(...own)
    }
    return found.length === last - after ? found : null
  }
}
