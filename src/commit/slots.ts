/** Reads slots by number: entries and inline blobs of old commits. Recently used slots come from the cache. */
import { corrupted, ErrorCode, SheafError } from '../errors.js'
import { orAborted } from '../primitives/abort.js'
import { Memory, type Partition } from '../primitives/memory.js'
import { slotKey } from './blob-log.js'
import type { CommitLog } from './commit-log.js'
import type { Packs } from './packs.js'
import { decodeSlot, type Slot } from './slot.js'

/** Thrown for a slot that was trimmed because no version or index needs it any more. */
export class SlotTrimmed extends SheafError {
  constructor(number: number) {
    super(ErrorCode.Internal, `slot ${number} was trimmed from the log: nothing needed it any more`)
  }
}

/** Reads slots by number. */
export interface SlotReader {
  get(number: number, signal?: AbortSignal): Promise<Pick<Slot, 'header' | 'blob'>>
}

/** Cache size for slots that have a `Memory` of their own. */
const ownBytes = 128 * 1024 * 1024

/** The packs with the slots that were trimmed from the log, and a way to update the list of packs. */
interface TrimmedSlots {
  readonly packs: Packs
  /** Adopt the packs that newer checkpoints name. */
  readonly lookAgain: () => Promise<void>
}

/** Reads slots from the cache, the log or packs. */
export class Slots implements SlotReader {
  readonly #log: CommitLog
  readonly #features: ReadonlySet<string>
  readonly #cache: Partition<Slot>
  readonly #trimmed: TrimmedSlots | undefined

  /** `trimmed`: absent if no slot was ever trimmed from the log. */
  constructor(
    log: CommitLog,
    features: ReadonlySet<string>,
    memory = new Memory(ownBytes),
    trimmed?: TrimmedSlots,
  ) {
    this.#log = log
    this.#features = features
    this.#cache = memory.partition('slots', 'places', slot => slot.memory)
    this.#trimmed = trimmed
  }

  /**
   * Return a slot that was certainly written. Throws `SlotTrimmed` when it was trimmed because nothing needed it, and
   * Internal ("corrupted") when the slot is lost or damaged.
   */
  get(number: number, signal?: AbortSignal): Promise<Slot> {
    return orAborted(
      this.#cache.get(slotKey(number), () => this.#read(number)),
      signal,
    )
  }

  /** Cache a slot that was just written or applied. */
  keep(slot: Slot): void {
    this.#cache.keep(slotKey(slot.header.slot), slot)
  }

  /** Return the checksum of a slot that was or may have been trimmed; null for a slot that certainly was not. */
  async crcOfTrimmed(number: number): Promise<number | null> {
    if (this.#trimmed === undefined) return null
    const { packs, lookAgain } = this.#trimmed
    if (packs.covered < number) await lookAgain()
    return this.#inPacks(() => packs.crcOf(number))
  }

  /**
   * Read from packs. A pack that is known here may have been replaced, so after an error the list of packs is updated
   * once.
   */
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

  /**
   * Read a slot that packs cover. A blob of that number in the log may be a slot that a late writer wrote after the
   * trim (commit/appender.ts): the checksum tells.
   */
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

/** Add the name of the pack to the error of a damaged slot. */
function inPack(error: unknown, key: string | null): unknown {
  if (!(error instanceof SheafError) || error.code !== ErrorCode.Internal) return error
  return corrupted(`${error.message}, in ${key}`, { cause: error })
}
