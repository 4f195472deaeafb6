/** Reads slots by number, to get entries and inline blobs of old commits. Recently used slots come from the cache. */
import { corrupted, ErrorCode, SheafError } from '../errors.js'
import { orAborted } from '../primitives/abort.js'
import { Memory, type Partition } from '../primitives/memory.js'
import { slotKey } from './blob-log.js'
import type { CommitLog } from './commit-log.js'
import type { Packs } from './packs.js'
import { decodeSlot, type Slot } from './slot.js'

/** The error for a slot that was trimmed because no version or index needed it. */
export class SlotTrimmed extends SheafError {
  constructor(number: number) {
    super(
      ErrorCode.Internal,
      `slot ${number} was trimmed from the log, because no version and no index needed it`,
    )
  }
}

/** Reads slots by number. */
export interface SlotReader {
  get(number: number, signal?: AbortSignal): Promise<Pick<Slot, 'header' | 'blob'>>
}

/** Size in bytes of the cache of slots if the caller passes no `Memory`. */
const ownBytes = 128 * 1024 * 1024

/** The packs with the slots that were trimmed from the log, and a function that updates the list of packs. */
interface TrimmedSlots {
  readonly packs: Packs
  /** Adopt the packs that the newest checkpoint lists. */
  readonly lookAgain: () => Promise<void>
}

/** Reads slots from the cache, the log or packs. */
export class Slots implements SlotReader {
  readonly #log: CommitLog
  readonly #features: ReadonlySet<string>
  readonly #cache: Partition<Slot>
  readonly #trimmed: TrimmedSlots | undefined

  /** `trimmed`: the packs. Absent for a log that is never trimmed. */
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
   * Return a slot. The caller must know that the slot was written. Throws `SlotTrimmed` if the slot was trimmed and is
   * in no pack, and Internal ("corrupted") if it is lost or damaged.
   */
  get(number: number, signal?: AbortSignal): Promise<Slot> {
    return orAborted(
      this.#cache.get(slotKey(number), () => this.#read(number)),
      signal,
    )
  }

  /** Put a slot in the cache, because it was just written or applied. */
  keep(slot: Slot): void {
    this.#cache.keep(slotKey(slot.header.slot), slot)
  }

  /**
   * Return the checksum of a slot in the range of a pack. Returns null for any other slot: such a slot was certainly
   * not trimmed.
   */
  async crcOfTrimmed(number: number): Promise<number | null> {
    if (this.#trimmed === undefined) return null
    const { packs, lookAgain } = this.#trimmed
    if (packs.covered < number) await lookAgain()
    return this.#inPacks(() => packs.crcOf(number))
  }

  /**
   * Call `read`, which reads from packs. A pack in the known list may have been replaced and deleted. So after an
   * error, update the list of packs and call `read` again.
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
   * Read a slot in the range of a pack. If no pack contains it, the log may still have it. But the blob in the log may
   * be a slot that a writer wrote by mistake after the trim (commit/appender.ts). So compare its checksum with the one
   * in the pack.
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
    // A root that was copied from object storage has empty files for trimmed slots.
    const slot = bytes === null || bytes.length === 0 ? null : decodeSlot(bytes, number, this.#features)
    if (slot === null || slot.crc !== (await this.#inPacks(() => packs.crcOf(number))))
      throw new SlotTrimmed(number)
    return slot
  }
}

/** Add the key of the pack to the message of a "corrupted" error. */
function inPack(error: unknown, key: string | null): unknown {
  if (!(error instanceof SheafError) || error.code !== ErrorCode.Internal) return error
  return corrupted(`${error.message}, in ${key}`, { cause: error })
}
