/**
 * The states of this process at the slots of checkpoints. The writer of a checkpoint writes the difference to such a
 * state, so that it need not read the earlier checkpoint.
 *
 * A checkpoint is named by a later slot than its own, perhaps by another process. So the states of the newest slots are
 * kept until it is known which of them have a checkpoint. States share what did not change, so they need little memory.
 */
import type { CatalogState } from '../catalog/state.js'
import type { EarlierState } from '../commit/machine.js'

type KnownState = EarlierState<CatalogState>

/** Maximum number of the newest slots whose states are kept. */
const newestMax = 512

export class KnownStates {
  /** By slot: the states at checkpoints. */
  readonly #fixed = new Map<number, CatalogState>()
  /** The states after the newest slots, the oldest first. */
  #newest: KnownState[] = []

  /** Keep the state after a slot. The newest call for a slot counts. If the state names a new checkpoint, keep its state. */
  note(slot: number, state: CatalogState): void {
    if (this.#newest.at(-1)?.slot === slot) this.#newest.pop()
    this.#newest.push({ slot, state })
    const named = state.checkpoints.at(-1)
    if (named?.at === slot) this.#fix(named.slot)
    else if (this.#newest.length > newestMax) this.#newest = this.#newest.slice(newestMax / 2)
  }

  /** Keep these states: those of a checkpoint that was read, or of one that is being written. */
  add(states: readonly KnownState[]): void {
    for (const { slot, state } of states) this.#fixed.set(slot, state)
  }

  /** Forget all states. The log continues from a checkpoint with these states. */
  reset(states: readonly KnownState[]): void {
    this.#fixed.clear()
    this.#newest = []
    this.add(states)
  }

  /** Return the state after a slot; null if it is not known. */
  at(slot: number): CatalogState | null {
    return this.#fixed.get(slot) ?? null
  }

  /** Forget the states at checkpoints of other slots. */
  retain(slots: ReadonlySet<number>): void {
    for (const slot of this.#fixed.keys()) if (!slots.has(slot)) this.#fixed.delete(slot)
  }

  #fix(slot: number): void {
    const found = this.#newest.find(each => each.slot === slot)
    if (found !== undefined) this.#fixed.set(slot, found.state)
    this.#newest = this.#newest.filter(each => each.slot > slot)
  }
}
