/** Old slots, for reading what an entry or an inline blob said: the recent ones from memory. */
import { corrupted, ErrorCode, SheafError } from '../errors.js'
import { orAborted } from '../primitives/abort.js'
import { Memory, type Partition } from '../primitives/memory.js'
import { slotKey } from './blob-log.js'
import type { CommitLog } from './commit-log.js'
import type { Packs } from './packs.js'
import { decodeSlot, type Slot } from './slot.js'

/** A slot was trimmed from the log, and nothing that exists needed it. */
export class SlotTrimmed extends SheafError {
  constructor(number: number) {
    super(ErrorCode.Internal, `slot ${number} is gone: nothing that exists needed it`)
  }
}

/** Where slots are read whose numbers are known. */
export interface SlotReader {
  get(number: number, signal?: AbortSignal): Promise<Pick<Slot, 'header' | 'blob'>>
}

/** What slots that share no memory with anything else may take. */
const ownBytes = 128 * 1024 * 1024

/** Slots that are not in the log any more, and how to learn of those that were taken out since. */
export interface TrimmedSlots {
  readonly packs: Packs
  /** Looks for packs that newer checkpoints name. */
  readonly lookAgain: () => Promise<void>
}

export class Slots implements SlotReader {
  readonly #log: CommitLog
  readonly #features: ReadonlySet<string>
  readonly #room: Partition<Slot>
  readonly #trimmed: TrimmedSlots | undefined

  /** `trimmed`: absent where the log is whole. */
  constructor(
    log: CommitLog,
    features: ReadonlySet<string>,
    memory = new Memory(ownBytes),
    trimmed?: TrimmedSlots,
  ) {
    this.#log = log
    this.#features = features
    this.#room = memory.partition('slots', 'places', slot => slot.memory)
    this.#trimmed = trimmed
  }

  /**
   * Slot `number`, which the caller knows to have been written. Throws `SlotTrimmed` when nobody needed it any more, corrupted
   * when it is lost or damaged.
   */
  get(number: number, signal?: AbortSignal): Promise<Slot> {
    return orAborted(
      this.#room.get(slotKey(number), () => this.#read(number)),
      signal,
    )
  }

  /** Keeps a slot that was just written or applied. */
  keep(slot: Slot): void {
    this.#room.keep(slotKey(slot.header.slot), slot)
  }

  /** The checksum of a slot that was, or may have been, trimmed; null for one that certainly was not. */
  async crcOfTrimmed(number: number): Promise<number | null> {
    if (this.#trimmed === undefined) return null
    const { packs, lookAgain } = this.#trimmed
    if (packs.covered < number) await lookAgain()
    return this.#inPacks(() => packs.crcOf(number))
  }

  /** Reads packs. Those that are known here may have been replaced. */
  async #inPacks<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof SheafError)) throw error
      await this.#trimmed!.lookAgain()
      return read()
    }
  }

  async #read(number: number): Promise<Slot> {
    const packs = this.#trimmed?.packs
    if (packs !== undefined && number <= packs.covered) return this.#readCovered(number, packs)
    const bytes = await this.#log.read(number)
    if (bytes !== null) return decodeSlot(bytes, number, this.#features)
    await this.#trimmed?.lookAgain()
    if (packs !== undefined && number <= packs.covered) return this.#readCovered(number, packs)
    throw corrupted(`slot ${number} is missing`)
  }

  /** A slot that may be gone from the log; what lies there may be somebody's mistake since (commit/committer). */
  async #readCovered(number: number, packs: Packs): Promise<Slot> {
    const packed = await this.#inPacks(() => packs.read(number))
    if (packed !== null) {
      try {
        return decodeSlot(packed, number, this.#features)
      } catch (error) {
        throw inPack(error, packs.keyOf(number))
      }
    }
    const bytes = await this.#log.read(number)
    const slot = bytes === null ? null : decodeSlot(bytes, number, this.#features)
    if (slot === null || slot.crc !== (await this.#inPacks(() => packs.crcOf(number))))
      throw new SlotTrimmed(number)
    return slot
  }
}

/** Says in which pack a damaged slot lies. */
function inPack(error: unknown, key: string | null): unknown {
  if (!(error instanceof SheafError) || error.code !== ErrorCode.Internal) return error
  return corrupted(`${error.message}, in ${key}`, { cause: error })
}
