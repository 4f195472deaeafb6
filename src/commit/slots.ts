/** Old slots, for reading what an entry or an inline blob said: the recent ones from memory. */
import { corrupted } from '../errors.js'
import { orAborted } from '../primitives/abort.js'
import { Memory, type Room } from '../primitives/memory.js'
import type { CommitLog } from './commit-log.js'
import { decodeSlot, type Slot } from './slot.js'

/** Where slots are read whose numbers are known. */
export interface SlotReader {
  get(number: number, signal?: AbortSignal): Promise<Pick<Slot, 'header' | 'blob'>>
}

/** What slots that share no memory with anything else may take. */
const ownBytes = 128 * 1024 * 1024

export class Slots implements SlotReader {
  readonly #log: CommitLog
  readonly #features: ReadonlySet<string>
  readonly #room: Room<Slot>

  constructor(log: CommitLog, features: ReadonlySet<string>, memory = new Memory(ownBytes)) {
    this.#log = log
    this.#features = features
    this.#room = memory.room('slots', 'places', slot => slot.memory)
  }

  /** Slot `number`, which the caller knows to have been written. Throws corrupted when it is gone or damaged. */
  get(number: number, signal?: AbortSignal): Promise<Slot> {
    return orAborted(
      this.#room.get(String(number), () => this.#read(number)),
      signal,
    )
  }

  /** Keeps a slot that was just written or applied. */
  keep(slot: Slot): void {
    this.#room.keep(String(slot.header.slot), slot)
  }

  async #read(number: number): Promise<Slot> {
    const bytes = await this.#log.read(number)
    if (bytes === null) throw corrupted(`slot ${number} is missing`)
    return decodeSlot(bytes, number, this.#features)
  }
}
