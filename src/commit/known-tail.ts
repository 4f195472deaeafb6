/** A tail (commit/tail.ts) as far as this process has read it: where its records are, and its end. */
import { corrupted, quote } from '../errors.js'
import type { BlobInPlace, BlobMark, BlobStore } from '../storage/blob-store.js'
import { statedChecksum } from './slot.js'
import {
  decodeMark,
  decodeTailHead,
  endKey,
  recordBytes,
  recordHeadBytes,
  sealKey,
  type TailEnd,
  type TailHead,
  tailHeadBytes,
  tailKey,
  validRecord,
} from './tail.js'

/** Records are read in pieces of this many bytes. A larger record is read alone. */
const pieceBytes = 64 * 1024

/** A tail. Its slots are `base + 1` to `base + count`. */
export class KnownTail {
  readonly base: number
  /** The keys of the tail, of its seal and of its end. Each commit looks for some of them. */
  readonly key: string
  readonly sealKey: string
  readonly endKey: string
  readonly head: TailHead
  /** The size of the file in bytes. */
  readonly size: number
  /** Identifies the file. */
  readonly ino: number
  readonly #store: BlobStore
  /** The open file; null if the store cannot open it, or after `close`. */
  #blob: BlobInPlace | null
  /** Offset and length of the slot of each known record, and the checksum that the slot states. */
  readonly #starts: number[] = []
  readonly #lengths: number[] = []
  readonly #crcs: number[] = []
  /** Offset of the next record. */
  #next = tailHeadBytes
  /** The last slots of the tail, from its end. */
  #copies: readonly Uint8Array[] = []
  #hasEnded = false

  private constructor(
    store: BlobStore,
    base: number,
    head: TailHead,
    file: { readonly size: number; readonly ino: number; readonly blob: BlobInPlace | null },
  ) {
    this.#store = store
    this.base = base
    this.key = tailKey(base)
    this.sealKey = sealKey(base)
    this.endKey = endKey(base)
    this.head = head
    this.size = file.size
    this.ino = file.ino
    this.#blob = file.blob
  }

  /** Open the tail of slot `base`. Returns null if there is no such tail, or no longer. Throws Internal ("corrupted") if its head is damaged. */
  static async open(store: BlobStore, base: number): Promise<KnownTail | null> {
    const key = tailKey(base)
    const blob = store.openInPlace?.(key) ?? null
    try {
      const size = blob?.size ?? (await store.stat(key))?.size
      if (size === undefined) return null
      const bytes = new Uint8Array(tailHeadBytes)
      if (size < tailHeadBytes) throw corrupted(`${quote(key)} is cut off`)
      if (blob !== null) blob.read(0, bytes)
      else if (!(await readIfThere(store, key, 0, bytes))) return null
      const ino = blob?.ino ?? store.peek?.(key)?.ino ?? 0
      return new KnownTail(store, base, decodeTailHead(bytes, base), { size, ino, blob })
    } catch (error) {
      blob?.close()
      throw error
    }
  }

  /** Return the tail of a slot that ended before its file was created. `crc`: the checksum of the slot. */
  static without(store: BlobStore, base: number, crc: number): KnownTail {
    return new KnownTail(store, base, { crc, boot: '' }, { size: 0, ino: 0, blob: null })
  }

  /** The number of known slots: those up to the mark or, after the end, all slots of the tail. */
  get count(): number {
    return this.#crcs.length + this.#copies.length
  }

  /** The newest known slot; `base` if there is none. */
  get last(): number {
    return this.base + this.count
  }

  /** The checksum of slot `last`. */
  get crc(): number {
    const copy = this.#copies.at(-1)
    return copy === undefined ? (this.#crcs.at(-1) ?? this.head.crc) : statedChecksum(copy)!
  }

  /** Whether the end of the tail is known. Then the tail has no further slots. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Offset at which the next record begins. */
  get next(): number {
    return this.#next
  }

  /** Return whether a slot is one of the known slots. */
  has(slot: number): boolean {
    return slot > this.base && slot <= this.last
  }

  /** The open file. */
  get blob(): BlobInPlace | null {
    return this.#blob
  }

  /** Close the file. The tail can still be read, but more slowly. */
  close(): void {
    this.#blob?.close()
    this.#blob = null
  }

  /** Return the mark: the number of records that are certainly durable. Synchronous, if the file is open. */
  markNow(): number {
    const bytes = new Uint8Array(8)
    this.#blob!.read(0, bytes)
    return decodeMark(bytes) ?? this.#crcs.length
  }

  /** Learn the records up to the mark. Returns false if the tail was deleted. */
  async learnMarked(): Promise<boolean> {
    const bytes = await this.#bytes(0, 8)
    return bytes !== null && this.learn(decodeMark(bytes) ?? 0)
  }

  /** Return whether the file of the tail still exists. Synchronous. The store must have `peek`. */
  isThere(): boolean {
    return this.#store.peek!(this.key)?.ino === this.ino
  }

  /** Return a mark that identifies a slot of the tail, as `BlobMark` does for a slot with a file of its own. */
  markOf(slot: number): BlobMark {
    return { ino: this.ino, mtimeMs: this.base, size: slot }
  }

  /** Return the checksum of a known slot. */
  crcOf(slot: number): number {
    const i = slot - this.base - 1
    return this.#crcs[i] ?? statedChecksum(this.#copies[i - this.#crcs.length]!)!
  }

  /** Return the bytes of a known slot. Returns null if the tail was deleted. */
  async read(slot: number, signal?: AbortSignal): Promise<Uint8Array | null> {
    return (await this.readTogether(slot, slot, signal))?.[0] ?? null
  }

  /** Return the bytes of the known slots from `first` to `last`. Returns null if the tail was deleted. */
  async readTogether(first: number, last: number, signal?: AbortSignal): Promise<Uint8Array[] | null> {
    signal?.throwIfAborted()
    const slots: Uint8Array[] = []
    while (first + slots.length <= last) {
      const from = first + slots.length - this.base - 1
      const start = this.#starts[from]
      if (start === undefined) {
        slots.push(this.#copies[from - this.#crcs.length]!)
        continue
      }
      const endOf = (i: number) => this.#starts[i]! + this.#lengths[i]!
      const most = Math.min(last - this.base, this.#starts.length)
      let to = from + 1
      while (to < most && endOf(to) - start <= pieceBytes) to++
      const piece = await this.#bytes(start, endOf(to - 1) - start, signal)
      if (piece === null) return null
      // Copies, because a slot that stays in the cache must not keep the bytes of all others.
      for (let i = from; i < to; i++)
        slots.push(to === from + 1 ? piece : piece.slice(this.#starts[i]! - start, endOf(i) - start))
    }
    return slots
  }

  /**
   * Learn the records up to number `count`. All of them must be valid. Throws Internal ("corrupted") if one is not. Returns
   * false if the tail was deleted.
   */
  async learn(count: number): Promise<boolean> {
    // The end may become known while records are read. Then all slots are known.
    while (this.#crcs.length < count && !this.#hasEnded) {
      const at = this.#next
      let piece = await this.#bytes(at, Math.min(pieceBytes, this.size - at))
      if (piece === null) return false
      const first = recordAt(piece, 0)
      if (first !== null && first.next > piece.length && at + first.next <= this.size) {
        piece = await this.#bytes(at, first.next)
        if (piece === null) return false
      }
      // While the piece was read, another call may have learned the same records.
      if (this.#next !== at || this.#hasEnded) continue
      for (let from = 0; this.#crcs.length < count; ) {
        const record = recordAt(piece, from)
        if (record === null || record.next > piece.length) break
        if (record.prev !== this.crc) throw this.#damaged()
        this.add(record.length, statedChecksum(piece.subarray(from, from + recordHeadBytes + record.length))!)
        from = record.next
      }
      if (this.#next === at) throw this.#damaged()
    }
    return true
  }

  /** Return the valid slots after the known ones. */
  async beyond(): Promise<Uint8Array[]> {
    const slots: Uint8Array[] = []
    let { crc } = this
    for (let at = this.#next; at + recordHeadBytes <= this.size; ) {
      const head = await this.#bytes(at, recordHeadBytes)
      const record = head === null ? null : recordAt(head, 0)
      if (record === null || at + record.next > this.size) return slots
      const bytes = (await this.#bytes(at, record.next)) ?? new Uint8Array()
      const valid = validRecord(bytes, 0, crc)
      if (valid === null) return slots
      slots.push(bytes.slice(valid.start, valid.start + valid.length))
      crc = valid.crc
      at += valid.next
    }
    return slots
  }

  /** Add a record that this process wrote or read at `next`. */
  add(slotBytes: number, crc: number): void {
    this.#starts.push(this.#next + recordHeadBytes)
    this.#lengths.push(slotBytes)
    this.#crcs.push(crc)
    this.#next += recordBytes(slotBytes)
  }

  /** Learn the end of the tail. Throws Internal ("corrupted") if the tail does not agree with it. Returns false if the tail was deleted. */
  async finish({ records, crc, copies }: TailEnd): Promise<boolean> {
    if (this.#hasEnded) return true
    if (!(await this.learn(records - copies.length))) return false
    if (this.#hasEnded) return true
    // The known records may include copies, because the mark was set after the end was prepared.
    this.#copies = copies.slice(this.#crcs.length - (records - copies.length))
    this.#hasEnded = true
    this.close()
    if (this.count !== records || this.crc !== crc) throw this.#damaged()
    return true
  }

  /** End a tail whose end was deleted. `file`: a slot after the tail that has a file of its own. */
  async stopBefore(file: number): Promise<void> {
    await this.learnMarked()
    const valid = this.count + (await this.beyond()).length
    if (await this.learn(Math.min(valid, file - 1 - this.base))) this.#hasEnded = true
    this.close()
  }

  async #bytes(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array | null> {
    const bytes = new Uint8Array(length)
    if (this.#blob !== null && length <= pieceBytes) {
      this.#blob.read(offset, bytes)
      return bytes
    }
    return (await readIfThere(this.#store, this.key, offset, bytes, signal)) ? bytes : null
  }

  #damaged() {
    const what = `record ${this.#crcs.length} does not follow the one before it`
    return corrupted(`${quote(this.key)} is damaged: ${what}`)
  }
}

/** Read bytes of a file into `target`. Returns false if the file was deleted. */
async function readIfThere(
  store: BlobStore,
  key: string,
  offset: number,
  target: Uint8Array,
  signal?: AbortSignal,
): Promise<boolean> {
  try {
    await store.readInto(key, offset, target, signal)
    return true
  } catch (error) {
    if (signal?.aborted || (await store.stat(key)) !== null) throw error
    return false
  }
}

/** Return the fields of the head of a record, without checking them. Returns null for an empty head or an incomplete one. */
function recordAt(bytes: Uint8Array, at: number) {
  if (at + recordHeadBytes > bytes.length) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset + at)
  const length = view.getUint32(0, true)
  return length === 0 ? null : { length, prev: view.getUint32(4, true), next: at + recordBytes(length) }
}
