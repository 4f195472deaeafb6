/**
 * Keeps the newest state of a root in the disk cache, so that a process that starts again opens the root without a request.
 *
 * A file has everything that opening the root reads: `_ckpt/newest`, slot 0, the slot of the checkpoint and the slots
 * after it, files of `_moves/`, and files of `_ckpt/` that the hint does not have.
 *
 *     time      f64: when the last of these slots was certainly the newest one, in milliseconds since 1970
 *               u32: checksum of the time and the name of the file; u32: 0
 *     line      {"f":1,"address":<address of the store>,"head":<last slot>,"objects":[[key,bytes],...]}
 *     objects   back to back
 *     checksum  crc32 of line and objects, eight hex digits, and "\n"
 *
 * - The name of the file has the address, the root and the last slot with its checksum. So the time can be changed in place,
 *   also by another process, and always belongs to the content.
 * - A state is used only if it is fresh enough (`maxStalenessMs`). Before the process reads the log for the first time, or
 *   writes anything, it reads slot 0 and the last slot again, and looks for a later move of the log. If a slot differs, the
 *   root was replaced meanwhile.
 */
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { slotKey, slotOfKey } from '../commit/blob-log.js'
import { checkpointKey, slotOfCheckpoint } from '../commit/checkpoints.js'
import { moveKey } from '../commit/log-moves.js'
import { decodeHint, newestKey } from '../commit/newest-checkpoint.js'
import { isCount, isRecord, statedChecksum } from '../commit/slot.js'
import { ErrorCode, SheafError } from '../errors.js'
import { isDataFile } from '../manifest/file-names.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import type { CacheDirectory } from '../storage/cache-directory.js'
import { withMethods } from '../storage/with-methods.js'

const folder = 'states'
const timeBytes = 16
const checksumBytes = 9
/** A state with more bytes is not stored. */
const bytesMax = 16 * 1024 * 1024
/** If the slots since the checkpoint have more bytes, a newer checkpoint is looked for, at most once in `storeMs`. */
const bytesToLook = 2 * 1024 * 1024
/** A state is stored at most once in this time, in milliseconds, and when the root is closed. */
const storeMs = 30_000
/** The time of a stored state is updated at most once in this time, in milliseconds. */
const confirmMs = 1000

/** Thrown by a read of something that a kept state does not have. No caller gets it. */
class NotKept extends SheafError {
  constructor(what: string) {
    super(ErrorCode.ServiceUnavailable, `the state in the disk cache does not have ${what}`)
  }
}

/** A kept state, as it is in its file. */
interface Kept {
  readonly head: number
  readonly objects: ReadonlyMap<string, Uint8Array>
  /** Milliseconds since the state was certainly the newest one. */
  readonly ageMs: number
}

/** The place of the states of one root. */
export interface StatePlace {
  readonly directory: CacheDirectory
  /** The address of the store. */
  readonly address: string
  readonly clock: Clock
}

export class KeptState {
  /** The store of the root. While the root is opened, it answers from the kept state, or records what is read. */
  readonly store: BlobStore
  /** Milliseconds since the kept state was certainly the newest one; null if the root is opened from the store. */
  readonly ageMs: number | null
  readonly #place: StatePlace
  readonly #base: BlobStore
  readonly #objects: Map<string, Uint8Array>
  /** The last slot of the kept state; -1: none. */
  readonly #keptHead: number
  #bytes = 0
  #isOpening = true
  #lookedAt = Number.NEGATIVE_INFINITY
  #checked: Promise<void> | null = null
  /** The path of the file with the newest state, and the slot of that state. */
  #stored: { readonly path: string; readonly head: number } | null = null
  /** The state that was confirmed last, and the time when it was the newest one, on the monotonic clock and since 1970. */
  #last: { readonly head: number; readonly at: number; readonly time: number } | null = null
  #storedAt = Number.NEGATIVE_INFINITY
  #confirmedAt = Number.NEGATIVE_INFINITY

  private constructor(base: BlobStore, place: StatePlace, kept: Kept | null) {
    this.#base = base
    this.#place = place
    this.#objects = new Map(kept?.objects)
    this.#keptHead = kept?.head ?? -1
    this.ageMs = kept?.ageMs ?? null
    for (const bytes of this.#objects.values()) this.#bytes += bytes.length
    this.#checked = kept === null ? Promise.resolve() : null
    this.store = this.#wrap()
  }

  /** Return the newest kept state that is fresh enough; null if there is none. */
  static async newest(base: BlobStore, place: StatePlace, maxStalenessMs: number): Promise<KeptState | null> {
    const { directory, clock } = place
    const prefix = prefixOf(place)
    let newest: { readonly name: string; readonly time: number } | null = null
    for (const name of directory.filesOf(folder)) {
      if (!name.startsWith(prefix)) continue
      const bytes = await directory.bytesOf(directory.pathOf(folder, name), 0, timeBytes)
      const time = bytes === null ? null : decodeTime(bytes, name)
      if (time !== null && time > (newest?.time ?? Number.NEGATIVE_INFINITY)) newest = { name, time }
    }
    if (newest === null) return null
    // The clock may have been set back meanwhile.
    const age = clock.now() - newest.time
    if (age < 0 || age > maxStalenessMs) return null
    const path = directory.pathOf(folder, newest.name)
    const bytes = await directory.bytesOf(path, timeBytes)
    const decoded = bytes === null ? null : decode(bytes, place.address)
    if (decoded === null) {
      if (bytes !== null) directory.discard(path)
      return null
    }
    const kept = new KeptState(base, place, { ...decoded, ageMs: age })
    kept.#stored = { path, head: decoded.head }
    return kept
  }

  /** Return a state that records what is read from `base`. */
  static recording(base: BlobStore, place: StatePlace): KeptState {
    return new KeptState(base, place, null)
  }

  /** Use the store from now on: the root is open. */
  opened(): void {
    this.#isOpening = false
  }

  /** Note that slot `head` was certainly the newest one `ageMs` milliseconds ago. */
  confirmed(head: number, ageMs: number): void {
    if (head < (this.#last?.head ?? 0)) return
    const now = this.#place.clock.elapsed()
    this.#last = { head, at: now - ageMs, time: this.#place.clock.now() - ageMs }
    const isStored = this.#stored?.head === head
    if (isStored ? now - this.#confirmedAt >= confirmMs : now - this.#storedAt >= storeMs) this.#store()
  }

  /** Store what was confirmed last, because the root is closed. */
  finish(): void {
    if (this.#last !== null) this.#store()
  }

  #store(): void {
    const { directory, clock } = this.#place
    const { head, at, time: since1970 } = this.#last!
    // The monotonic clock stops while the machine is suspended, and the other one may be set.
    const time = Math.min(clock.now() - (clock.elapsed() - at), since1970)
    this.#confirmedAt = clock.elapsed()
    const stored = this.#stored
    if (stored?.head === head) directory.changeLater(stored.path, encodeTime(time, basename(stored.path)))
    else this.#save(head, time)
  }

  #save(head: number, time: number): void {
    const { directory, address, clock } = this.#place
    const last = this.#objects.get(slotKey(head))
    const objects = [...this.#objects].filter(([key]) => (slotOfKey(key) ?? 0) <= head)
    // A slot is unknown if its commit had no answer.
    if (last === undefined || this.#bytes > bytesMax) return
    this.#storedAt = clock.elapsed()
    const line = { f: 1, address, head, objects: objects.map(([key, bytes]) => [key, bytes.length]) }
    const content = Buffer.concat([
      Buffer.from(`${JSON.stringify(line)}\n`),
      ...objects.map(([, bytes]) => bytes),
    ])
    const crcs = [slotKey(0), slotKey(head)].map(key => statedChecksum(this.#objects.get(key)!) ?? 0)
    const prefix = prefixOf(this.#place)
    const name = `${prefix}${head}-${crcs.map(crcHex).join('-')}.state`
    const path = directory.pathOf(folder, name)
    directory.replaceLater(
      path,
      Buffer.concat([encodeTime(time, name), content, Buffer.from(`${crcHex(crc32(content))}\n`)]),
    )
    this.#stored = { path, head }
    // Other processes may have stored newer states. Then this one is not used.
    for (const other of directory.filesOf(folder)) {
      if (other.startsWith(prefix) && headOf(other, prefix) < head)
        directory.discard(directory.pathOf(folder, other))
    }
  }

  #wrap(): BlobStore {
    const base = this.#base
    const { abortUploads } = base
    const { clock } = this.#place
    const reading = async <T>(key: string, read: () => Promise<T> | T): Promise<T> => {
      if (this.#isOpening && this.ageMs !== null) throw new NotKept(key)
      if (isDataFile(key)) return read()
      // The check takes as long as the read.
      const [result] = await Promise.all([read(), this.#check()])
      return result
    }
    const writing = async <T>(write: () => Promise<T>): Promise<T> => {
      await this.#check()
      return write()
    }
    return withMethods(base, {
      get: async (key, signal) => {
        if (this.#isOpening && this.ageMs !== null) return this.#keptBytes(key)
        const bytes = await reading(key, () => base.get(key, signal))
        if (bytes !== null) this.#note(key, bytes)
        return bytes
      },
      getRange: (key, ...range) => reading(key, () => base.getRange(key, ...range)),
      readInto: (key, ...range) => reading(key, () => base.readInto(key, ...range)),
      readRanges: (key, ...ranges) => {
        if (!this.#isOpening && isDataFile(key)) return base.readRanges(key, ...ranges)
        return reading(key, () => base.readRanges(key, ...ranges))
      },
      stat: (key, signal) => reading(key, () => base.stat(key, signal)),
      list: (...call) => this.#list(...call),
      put: (...call) => writing(() => base.put(...call)),
      putStream: (...call) => writing(() => base.putStream(...call)),
      putIfAbsent: (key, bytes, signal) =>
        writing(async () => {
          const begun = clock.elapsed()
          const outcome = await base.putIfAbsent(key, bytes, signal)
          if (outcome === 'taken') return outcome
          this.#note(key, bytes)
          // The slot was the last one when it was written.
          if (isSlotKey(key)) this.confirmed(slotOfKey(key)!, clock.elapsed() - begun)
          return outcome
        }),
      replace: (key, bytes, signal) =>
        writing(async () => {
          await base.replace!(key, bytes, signal)
          this.#note(key, bytes)
        }),
      delete: (...call) => writing(() => base.delete(...call)),
      ...(abortUploads !== undefined && {
        abortUploads: (...call) => writing(() => abortUploads.apply(base, call)),
      }),
    })
  }

  async *#list(...call: Parameters<BlobStore['list']>) {
    if (this.#isOpening && this.ageMs !== null) throw new NotKept(`a listing of ${call[0]}`)
    await this.#check()
    yield* this.#base.list(...call)
  }

  #keptBytes(key: string): Uint8Array | null {
    const bytes = this.#objects.get(key)
    if (bytes !== undefined) return bytes.slice()
    if ((slotOfKey(key) ?? 0) > this.#keptHead) return null
    // A move after the state is found with its fence, by the first look at the log.
    if (key.startsWith('_moves/')) return null
    throw new NotKept(key)
  }

  /** Keep what opening the root needs. */
  #note(key: string, bytes: Uint8Array): void {
    const isSlot = isSlotKey(key) && bytes.length > 0
    if (isSlot || (this.#isOpening && /^_(?:ckpt|moves)\//.test(key))) this.#keep(key, bytes)
    else if (key === newestKey) this.#adopt(bytes)
    const { clock } = this.#place
    if (!isSlot || this.#bytes < bytesToLook || clock.elapsed() - this.#lookedAt < storeMs) return
    this.#lookedAt = clock.elapsed()
    // Only the size of the next stored state depends on this.
    this.store.get(newestKey).catch(() => {})
  }

  #keep(key: string, bytes: Uint8Array): void {
    if (this.#bytes > bytesMax) return
    this.#drop(key)
    this.#bytes += bytes.length
    this.#objects.set(key, bytes.slice())
  }

  #drop(key: string): void {
    this.#bytes -= this.#objects.get(key)?.length ?? 0
    this.#objects.delete(key)
  }

  /** Begin with a newer checkpoint. `bytes`: the hint that leads to it. */
  #adopt(bytes: Uint8Array): void {
    const hint = decodeHint(bytes)
    const slot = hint === null ? null : slotOfCheckpoint(hint.name)
    // Without a copy of the checkpoint, opening the root would need another file.
    if (hint === null || slot === null || !hint.pieces.some(({ key }) => key === checkpointKey(hint.name)))
      return
    if (!this.#objects.has(slotKey(slot))) return
    for (const key of [...this.#objects.keys()]) {
      const number = slotOfKey(key)
      if (number === null || (number > 0 && number < slot)) this.#drop(key)
    }
    this.#keep(newestKey, bytes)
  }

  /** Check that the log still has the slots of the kept state, and was not moved. Rejects otherwise. */
  #check(): Promise<void> {
    this.#checked ??= this.#compare().catch(error => {
      if (!(error instanceof RootReplaced)) this.#checked = null
      throw error
    })
    return this.#checked
  }

  /** Discard the states of all processes. They may be as old as this one. */
  #discardAll(): void {
    const { directory } = this.#place
    const prefix = prefixOf(this.#place)
    for (const name of directory.filesOf(folder))
      if (name.startsWith(prefix)) directory.discard(directory.pathOf(folder, name))
  }

  async #compare(): Promise<void> {
    const moves = [...this.#objects.keys()].filter(key => key.startsWith('_moves/')).length
    const keys = [...new Set([slotKey(0), slotKey(this.#keptHead)])]
    // After a move away and back, the files have the fence of the first move, and the log continues after it.
    const [move, ...found] = await Promise.all([moveKey(moves + 1), ...keys].map(key => this.#base.get(key)))
    // A slot that was trimmed has no bytes. It may have had others than the kept one, if the root was restored from a copy.
    const isSame = keys.every((key, i) => {
      const bytes = found[i] ?? null
      return bytes !== null && Buffer.compare(bytes, this.#objects.get(key)!) === 0
    })
    if (isSame && move === null) return
    this.#discardAll()
    throw new RootReplaced(this.#place.address)
  }
}

/** The error of calls on a root that was opened from a kept state, and is another one now. */
class RootReplaced extends SheafError {
  constructor(address: string) {
    super(
      ErrorCode.ServiceUnavailable,
      `the root in ${address} was deleted or replaced, or its log was moved or trimmed, after its state was stored in the disk cache`,
      { hint: 'connect again' },
    )
  }
}

/** Return whether a key is that of a slot, and not of its tail. */
function isSlotKey(key: string): boolean {
  const slot = slotOfKey(key)
  return slot !== null && key === slotKey(slot)
}

function prefixOf({ address }: StatePlace): string {
  return `${createHash('sha256').update(address).digest('hex').slice(0, 32)}-`
}

/** Return the last slot of the state of a file. */
function headOf(name: string, prefix: string): number {
  return Number.parseInt(name.slice(prefix.length), 10)
}

function encodeTime(time: number, name: string): Uint8Array {
  const bytes = Buffer.alloc(timeBytes)
  bytes.writeDoubleLE(time)
  bytes.writeUInt32LE(sumOfTime(bytes, name), 8)
  return bytes
}

/** Return the time of a state; null if it is damaged. */
function decodeTime(bytes: Uint8Array, name: string): number | null {
  const found = Buffer.from(bytes)
  if (found.length < timeBytes || found.readUInt32LE(8) !== sumOfTime(found, name)) return null
  return found.readDoubleLE()
}

function sumOfTime(bytes: Uint8Array, name: string): number {
  return crc32(bytes.subarray(0, 8), crc32(Buffer.from(name)))
}

function decode(bytes: Uint8Array, address: string): Pick<Kept, 'head' | 'objects'> | null {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const last = bytes.length - checksumBytes
  if (last < 0 || text.toString('latin1', last) !== `${crcHex(crc32(bytes.subarray(0, last)))}\n`) return null
  const end = bytes.indexOf(0x0a)
  const line: unknown = JSON.parse(text.toString('utf8', 0, end))
  if (!isRecord(line) || line.f !== 1 || line.address !== address || !isCount(line.head)) return null
  const objects = new Map<string, Uint8Array>()
  let at = end + 1
  for (const [key, length] of line.objects as readonly (readonly [string, number])[]) {
    objects.set(key, bytes.subarray(at, at + length))
    at += length
  }
  return { head: line.head, objects }
}
