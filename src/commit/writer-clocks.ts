/**
 * Estimates by how much the clock of this process is ahead of other writers' clocks. Each slot contains the time of its
 * writer's clock. A new slot was written after this process last saw the end of the log. So that moment, measured with
 * the clock of this process, must be before the time in the slot. If it is later, this clock is ahead.
 */
import type { Clock } from '../primitives/clock.js'
import type { SlotHeader } from './machine.js'

/** Maximum number of other writers whose clocks are remembered. */
const otherClocksMax = 16

/** The clocks of the writers of recent slots. */
export class WriterClocks {
  readonly #clock: Clock
  /** The random id of this process's committer. */
  readonly #by: string
  /** The last time, on the monotonic clock, at which the newest noted slot was the end of the log. */
  #lookedAt: number
  /**
   * By writer, the most recent writer last. `slot`: the writer's newest slot. `ahead`: a lower bound of the monotonic
   * clock of this process minus the writer's clock, in milliseconds.
   */
  readonly #others = new Map<string, { readonly slot: number; readonly ahead: number }>()

  constructor(clock: Clock, by: string) {
    this.#clock = clock
    this.#by = by
    this.#lookedAt = clock.elapsed()
  }

  /** Record that the newest noted slot is currently the end of the log. */
  noteEnd(): void {
    this.#lookedAt = this.#clock.elapsed()
  }

  /** Compare the clock of a slot's writer with the clock of this process. Call this in the order of slots. */
  note({ by, slot, ts, clock = ts }: SlotHeader): void {
    if (by === this.#by) {
      this.noteEnd()
      return
    }
    this.#others.delete(by)
    this.#others.set(by, { slot, ahead: this.#lookedAt - clock })
    if (this.#others.size > otherClocksMax) this.#others.delete(this.#others.keys().next().value!)
  }

  /** Forget all other writers' clocks. */
  forget(): void {
    this.#others.clear()
  }

  /**
   * The maximum estimate in milliseconds by which this process's clock is ahead of another writer's clock, and the slot
   * that shows it. Null if no other writer wrote a slot.
   */
  get ahead(): { readonly ms: number; readonly slot: number } | null {
    let most: { ms: number; slot: number } | null = null
    for (const { slot, ahead } of this.#others.values()) {
      const ms = this.#clock.now() - this.#clock.elapsed() + ahead
      if (most === null || ms > most.ms) most = { ms, slot }
    }
    return most
  }
}
