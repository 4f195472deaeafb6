/**
 * Estimates how far the clock of this process is ahead of other writers' clocks. A slot names the time of its writer's
 * clock, and the slot did not exist when this process last looked at the end of the log.
 */
import type { Clock } from '../primitives/clock.js'
import type { SlotHeader } from './machine.js'

/** Number of other writers whose clocks are remembered. */
const otherClocksMax = 16

/** The clocks of the writers that were heard from most recently. */
export class WriterClocks {
  readonly #clock: Clock
  /** The nonce of this process's writer. */
  readonly #by: string
  /** The last time (`elapsed`) when the log had no slot after the newest one noted. */
  #lookedAt: number
  /** By writer, the most recent last: its newest slot, and at most how far `elapsed` was ahead of the writer's clock. */
  readonly #others = new Map<string, { readonly slot: number; readonly ahead: number }>()

  constructor(clock: Clock, by: string) {
    this.#clock = clock
    this.#by = by
    this.#lookedAt = clock.elapsed()
  }

  /** Note that the log has no slot after the newest one noted. */
  noteEnd(): void {
    this.#lookedAt = this.#clock.elapsed()
  }

  /** Note what a slot tells about its writer's clock. Call it in log order. */
  note({ by, slot, ts, clock = ts }: SlotHeader): void {
    if (by === this.#by) {
      this.noteEnd()
      return
    }
    this.#others.delete(by)
    this.#others.set(by, { slot, ahead: this.#lookedAt - clock })
    if (this.#others.size > otherClocksMax) this.#others.delete(this.#others.keys().next().value!)
  }

  /** Forget what slots told so far. */
  forget(): void {
    this.#others.clear()
  }

  /** The largest lead of this process's clock, milliseconds, and the slot that shows it. Null if no other writer wrote. */
  get ahead(): { readonly ms: number; readonly slot: number } | null {
    let most: { ms: number; slot: number } | null = null
    for (const { slot, ahead } of this.#others.values()) {
      const ms = this.#clock.now() - this.#clock.elapsed() + ahead
      if (most === null || ms > most.ms) most = { ms, slot }
    }
    return most
  }
}
