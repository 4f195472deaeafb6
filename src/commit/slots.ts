/** Old slots, for reading what an entry or an inline blob said: the recent ones from memory. */
import { ErrorCode, SheafError } from '../errors.js'
import { orAborted } from '../primitives/abort.js'
import { ByteCache } from '../primitives/byte-cache.js'
import type { CommitLog } from './commit-log.js'
import { decodeSlot, type Slot } from './slot.js'

/** A slot is not in the log: it was trimmed, or lost. */
export class SlotGone extends SheafError {
  constructor(number: number) {
    super(ErrorCode.Internal, `slot ${number} is missing`)
  }
}

/** Where slots are read whose numbers are known. */
export interface SlotReader {
  get(number: number, signal?: AbortSignal): Promise<Pick<Slot, 'header' | 'blob'>>
}

const budgetBytes = 32 * 1024 * 1024

export class Slots implements SlotReader {
  readonly #log: CommitLog
  readonly #features: ReadonlySet<string>
  readonly #cache = new ByteCache<Slot>(budgetBytes, slot => slot.memory)

  constructor(log: CommitLog, features: ReadonlySet<string>) {
    this.#log = log
    this.#features = features
  }

  /** Slot `number`, which the caller knows to have been written. Throws corrupted when it is damaged, `SlotGone` when it is gone. */
  get(number: number, signal?: AbortSignal): Promise<Slot> {
    return orAborted(
      this.#cache.get(String(number), () => this.#read(number)),
      signal,
    )
  }

  /** Keeps a slot that was just written or applied. */
  keep(slot: Slot): void {
    this.#cache.get(String(slot.header.slot), async () => slot)
  }

  async #read(number: number): Promise<Slot> {
    const bytes = await this.#log.read(number)
    if (bytes === null) throw new SlotGone(number)
    return decodeSlot(bytes, number, this.#features)
  }
}
