/**
 * The commit log of a root. A slot is a file of its own (commit/blob-log.ts), or a record in a tail (commit/tail.ts). Tails
 * exist where the store has `openInPlace`: there a process that commits alone makes a slot durable with one sync.
 *
 * - Only a slot whose file says so may have a tail. Its writer, the *owner*, creates the tail and appends the next slots.
 * - The owner writes a record, syncs it, looks for a seal and whether the tail still exists, and only then sets the mark
 *   and answers `won`.
 * - Any other writer first *ends* the tail: it creates the seal, reads the valid records, and writes the end, which says how
 *   many of them are slots. The first end counts. The next slot has a file of its own.
 * - So whatever the order of their steps: either the owner sees the seal, or the other writer reads the owner's record.
 * - The owner ends its tail without a seal, when the tail is full: it alone appends, so it knows the last record.
 * - Other processes see the records up to the mark. A process that opens the root cannot trust the mark, because a power
 *   loss may undo it. So the process ends the tail if there are valid records after the mark (`settle`).
 * - After a failed sync, the owner never uses the tail again. It ends it with a seal, like any other writer.
 */
import type { Clock } from '../primitives/clock.js'
import { inParallel } from '../primitives/in-parallel.js'
import { Ambiguous, type BlobMark, type BlobStore } from '../storage/blob-store.js'
import { deleteIfPossible } from '../storage/delete-if-possible.js'
import { keysOf } from '../storage/keys-of.js'
import { BlobLog, lastOf, slotKey, slotOfKey } from './blob-log.js'
import type { CommitLog, SlotRun } from './commit-log.js'
import { KnownTail } from './known-tail.js'
import { mayHaveTail, statedChecksum } from './slot.js'
import {
  decodeTailEnd,
  emptyTail,
  encodeMark,
  encodeRecord,
  encodeTailEnd,
  endKey,
  recordBytes,
  sealKey,
  type TailEnd,
  tailKey,
} from './tail.js'

interface TailedLogOptions {
  readonly clock: Clock
  /** Whether to write nothing. */
  readonly readOnly: boolean
  /** Slot 0, if it is not in its file, because the log was moved (log-moves.ts). */
  readonly first?: Uint8Array | undefined
}

/** Size of the first tail of a process, and of the largest. Each tail is twice as large as the one before. */
const firstTailBytes = 128 * 1024
const tailBytesMax = 2 * 1024 * 1024
/** A process ends its tail after this time, in milliseconds, so that the slots in it can be trimmed. */
const tailMsMax = 60 * 60 * 1000
/** Maximum number of tails whose records are remembered. */
const knownMax = 16
/** Maximum number of slots that are trimmed concurrently in a log that keeps names. */
const trimmedAtOnce = 8
/** Time for which a process that opens the root waits for the owner to set its mark, and the time between two looks. */
const settleMs = 50
const settlePauseMs = 5

/** The newest slot with a file of its own that this process has read or written. */
interface NewestFile {
  readonly slot: number
  readonly crc: number
  readonly mayHaveTail: boolean
  /** Whether this process wrote it, so that it may create the tail. */
  readonly isOwn: boolean
}

/** See the head of this file. */
export class TailedLog implements CommitLog {
  /** Defined only if the store has `peek`. */
  readonly peek?: (slot: number) => BlobMark | null
  /** Defined only if the store has `sync`. */
  readonly sync?: () => Promise<void>
  readonly #store: BlobStore
  readonly #clock: Clock
  readonly #readOnly: boolean
  readonly #files: BlobLog
  readonly #first: Uint8Array | undefined
  /** By base. The tail that was used last is at the end. */
  readonly #tails = new Map<number, KnownTail>()
  /** By base: the tails that are being read for the first time. */
  readonly #loading = new Map<number, Promise<KnownTail | null>>()
  #newest: NewestFile | null = null
  /** The tail of this process, which it may append to. */
  #own: KnownTail | null = null
  /** The time on the monotonic clock when `#own` was created. */
  #ownSince = 0
  /** The bases of all tails with slots up to `#basesUpTo`. */
  #bases: readonly number[] = []
  #basesUpTo = -1
  /** By base: the first slot after the base that had a file of its own when the tails were listed. */
  #fileAfter: ReadonlyMap<number, number> = new Map()
  #nextTailBytes = firstTailBytes
  /** The newest slot in a file that was read whose name may not be durable; -1: there is none. */
  #unsynced = -1
  #syncing: Promise<void> | null = null

  constructor(store: BlobStore, { clock, readOnly, first }: TailedLogOptions) {
    this.#first = first
    this.#store = store
    this.#clock = clock
    this.#readOnly = readOnly
    this.#files = new BlobLog(store)
    if (store.peek !== undefined) this.peek = slot => this.#peek(slot)
    if (store.sync !== undefined) this.sync = () => this.#sync()
  }

  /** The id of the boot of this machine, if the system tells it. */
  get #boot(): string | null {
    return this.#store.processes?.own?.boot ?? null
  }

  get trimmedTo(): number | undefined {
    return this.#files.trimmedTo
  }

  /** Return whether the next slot that this process appends will have a file of its own and may have a tail. */
  startsTail(): boolean {
    const canFill = this.#store.openInPlace !== undefined && this.#boot !== null && !this.#readOnly
    const isNext = this.#newest?.isOwn === true && this.#newest.mayHaveTail
    return canFill && this.#own === null && !isNext
  }

  async read(slot: number, signal?: AbortSignal): Promise<Uint8Array | null> {
    if (slot === 0 && this.#first !== undefined) return this.#first
    for (const tail of this.#tails.values()) {
      if (slot > tail.last && !tail.hasEnded && !(await this.#follow(tail))) this.#forget(tail)
      if (tail.has(slot)) return tail.read(slot, signal)
    }
    const bytes = this.#hasNoFile(slot) ? null : await this.#readFile(slot, signal)
    if (bytes !== null) return bytes
    const tail = await this.#find(slot, signal)
    return tail === null ? null : tail.read(slot, signal)
  }

  append(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'> {
    const own = this.#ownTailFor(slot, bytes)
    return own === null ? this.#appendElsewhere(slot, bytes) : this.#appendTo(own, slot, bytes)
  }

  markOfOwn(slot: number): BlobMark | null {
    const own = this.#own
    return own !== null && own.last === slot && own.has(slot) ? own.markOf(slot) : null
  }

  async has(slot: number, crc?: number, signal?: AbortSignal): Promise<boolean> {
    let tail = this.#knownTailOf(slot)
    if (tail === null) {
      if (await this.#files.has(slot, crc, signal)) return true
      // The slot may be that of a newer checkpoint, in a tail that this process has not met.
      await this.bases(signal)
      tail = await this.#find(slot, signal)
    }
    if (tail === null || (crc !== undefined && tail.crcOf(slot) !== crc)) return false
    if (this.#store.peek !== undefined) return tail.isThere()
    return (await this.#store.stat(tailKey(tail.base), signal)) !== null
  }

  /** If the log has `peek`, the mark of the last slot is determined before the slots are read. */
  async readTogether(first: number, count: number, signal?: AbortSignal): Promise<SlotRun | null> {
    const tail = this.#knownTailOf(first)
    if (tail === null) return null
    const last = Math.min(first + count - 1, tail.last)
    const hasPeek = this.#store.peek !== undefined
    if (hasPeek && !tail.isThere()) return null
    const mark = hasPeek ? tail.markOf(last) : null
    const found = await tail.readTogether(first, last, signal)
    return found && { found, mark }
  }

  /** Delete a slot that has a file of its own. */
  remove(slot: number): Promise<void> {
    return this.#files.remove(slot)
  }

  async last(signal?: AbortSignal, after = -1): Promise<number> {
    const file = await this.#files.last(signal, after)
    // A tail that was created after the last listing has a base after it.
    const listed = this.#basesUpTo >= 0 ? this.#bases : await this.bases(signal)
    const base = Math.max(listed.at(-1) ?? -1, file)
    const tail = base < 0 ? null : await this.tail(base)
    return Math.max(file, tail?.last ?? -1)
  }

  inTail(slot: number): boolean {
    return this.#knownTailOf(slot) !== null
  }

  /** Return the key of the file that contains a slot that was read. */
  fileOf(slot: number): string {
    const tail = this.#knownTailOf(slot)
    return tail === null ? slotKey(slot) : tailKey(tail.base)
  }

  /** Return the time when slot `slot` or a later one was written, by the clock of the store, in milliseconds since 1970. */
  async modified(slot: number, signal?: AbortSignal): Promise<number | null> {
    const tail = await this.#tailOf(slot, signal)
    const info = await this.#store.stat(tail === null ? slotKey(slot) : tailKey(tail.base), signal)
    return info?.modified ?? null
  }

  /**
   * Make sure that this process sees all slots that were ever acknowledged, also if a power loss undid the mark of the last
   * tail.
   */
  async settle(signal?: AbortSignal): Promise<number | undefined> {
    // No process appends to tails of a log that keeps names: they were copied from a disk. `#load` ends them.
    if (this.trimmedTo !== undefined) return undefined
    const keys = await this.#listFiles(signal)
    const base = this.#bases.at(-1)
    const tail = base === undefined ? null : await this.tail(base)
    if (tail !== null && tail !== this.#own) await this.#settleTail(tail, signal)
    return lastOf(keys, tail?.last ?? -1, this.#store.name)
  }

  async #settleTail(tail: KnownTail, signal: AbortSignal | undefined): Promise<void> {
    const deadline = this.#clock.elapsed() + settleMs
    // The records that are valid now include every slot that was acknowledged before this call. Later ones need no wait.
    let valid: number | null = null
    while (!tail.hasEnded) {
      valid ??= tail.count + (await tail.beyond()).length
      if (tail.count >= valid) return
      if (this.#clock.elapsed() >= deadline) {
        if (!this.#readOnly) await this.#endTail(tail.base)
        // A reader cannot end the tail. If its writer was on a machine that has been booted since, it writes no more.
        else if (tail.head.boot !== this.#boot) await tail.learn(valid)
        return
      }
      await this.#clock.sleep(settlePauseMs, signal, true)
      if (!(await this.#follow(tail))) return
    }
  }

  /**
   * Remove slots 1 to `to` in ascending order. A tail is deleted when all its slots can be removed. Stops at the first slot
   * that cannot be removed at the moment. Returns the number of removed slots.
   */
  async trim(to: number, signal?: AbortSignal): Promise<number> {
    const trimmable = await this.#trimmable(to, signal)
    if (this.trimmedTo !== undefined) return this.#trimTogether(to, trimmable, signal)
    let count = 0
    for (const { slot, isTail } of trimmable) {
      if (isTail && !(await this.#endsBy(slot, to))) return count
      if (isTail) {
        const removed = await this.#removeTail(slot, signal)
        if (removed === null) return count
        count += removed
      } else if (await deleteIfPossible(this.#store, slotKey(slot), signal)) count++
      else return count
    }
    return count
  }

  /** Trim a log that keeps names. Slots may be trimmed in any order, so several requests run concurrently. */
  async #trimTogether(
    to: number,
    trimmable: readonly { readonly slot: number; readonly isTail: boolean }[],
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const counts = await inParallel(trimmable, trimmedAtOnce, async ({ slot, isTail }) => {
      signal?.throwIfAborted()
      if (isTail) return (await this.#endsBy(slot, to)) ? ((await this.#removeTail(slot, signal)) ?? 0) : 0
      await this.#files.remove(slot)
      return 1
    })
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Delete the files of a tail. Returns the number of slots in it; null if a file cannot be deleted at the moment. */
  async #removeTail(base: number, signal: AbortSignal | undefined): Promise<number | null> {
    // The tail comes before its seal and its end. So an owner that finds no seal, and then its tail, has no other end.
    for (const key of [tailKey(base), sealKey(base), endKey(base)]) {
      if (!(await deleteIfPossible(this.#store, key, signal))) return null
    }
    const tail = this.#tails.get(base)
    tail?.close()
    this.#tails.delete(base)
    return tail?.count ?? 0
  }

  /** Close the files of tails. */
  close(): void {
    for (const tail of this.#tails.values()) tail.close()
  }

  /** List the slots up to `to` that have files of their own, and those that have files of tails, in the order of slots. */
  async #trimmable(to: number, signal: AbortSignal | undefined) {
    const found: { readonly slot: number; readonly isTail: boolean }[] = []
    const kept = await this.#files.firstKept(to, signal)
    // A process that died during a trim may have left slots before those that it trimmed at the same time.
    const first = Math.max(1, kept - trimmedAtOnce)
    for (const key of await keysOf(this.#store, '_log/', slotKey(first - 1), signal)) {
      const slot = slotOfKey(key)
      if (slot === null || slot > to) continue
      const isTail = key !== slotKey(slot)
      const last = found.at(-1)
      if (last?.slot !== slot || last.isTail !== isTail) found.push({ slot, isTail })
    }
    return found
  }

  /** Return whether the tail of slot `base` has ended at slot `to` or before. Its file may have been deleted. */
  async #endsBy(base: number, to: number): Promise<boolean> {
    // If the tail has no end, a file after it shows that it has ended.
    if (!this.#tails.has(base)) await this.bases()
    const tail = await this.tail(base)
    if (tail !== null) return tail.hasEnded && tail.last <= to
    const end = await this.#readEnd(base)
    // Without an end and a file, it is a seal that a writer left that had missed a trim.
    return end === null ? base < to : base + end.records <= to
  }

  #peek(slot: number): BlobMark | null {
    const store = this.#store
    for (const tail of this.#tails.values()) {
      if (tail.has(slot)) return tail.isThere() ? tail.markOf(slot) : null
      if (slot !== tail.last + 1 || this.#isOver(tail)) continue
      // A read finds out whether the end comes before the slot. Look for it first: what was acknowledged in the tail
      // before this look has a mark now.
      const end = store.peek!(tail.endKey)
      if (end !== null || tail === this.#own) return end
      if (tail.blob === null) return store.peek!(tail.key)
      return slot <= tail.base + tail.markNow() ? tail.markOf(slot) : null
    }
    const newest = this.#newest
    if (newest?.slot === slot - 1 && newest.mayHaveTail && !this.#tails.has(newest.slot))
      return store.peek!(endKey(newest.slot)) ?? store.peek!(tailKey(newest.slot))
    return this.#files.peek!(slot)
  }

  /**
   * Only slots with files of their own, and ends, may have names that are not durable. If a tail has records, the names of
   * its own file and of all files of earlier slots are durable, because its owner has synced the folder before it appended.
   */
  #sync(): Promise<void> {
    const unsynced = this.#unsynced
    let durable = -1
    for (const { base, count } of this.#tails.values()) if (count > 0) durable = Math.max(durable, base)
    if (unsynced > durable) {
      this.#unsynced = -1
      const syncing = this.#files.sync!().finally(() => {
        if (this.#syncing === syncing) this.#syncing = null
      })
      syncing.catch(() => {
        this.#unsynced = Math.max(this.#unsynced, unsynced)
      })
      this.#syncing = syncing
    }
    return this.#syncing ?? Promise.resolve()
  }

  async #readFile(slot: number, signal: AbortSignal | undefined): Promise<Uint8Array | null> {
    const bytes = await this.#files.read(slot, signal)
    if (bytes === null) return null
    this.#unsynced = Math.max(this.#unsynced, slot)
    this.#note(slot, bytes, false)
    return bytes
  }

  #note(slot: number, bytes: Uint8Array, isOwn: boolean): void {
    const newest = this.#newest
    if (newest !== null && newest.slot > slot) return
    const crc = statedChecksum(bytes) ?? 0
    const wasOwn = newest?.isOwn === true && newest.slot === slot && newest.crc === crc
    this.#newest = { slot, crc, mayHaveTail: mayHaveTail(bytes), isOwn: isOwn || wasOwn }
  }

  /** Return the tail that contains a slot; null if there is none. */
  async #tailOf(slot: number, signal: AbortSignal | undefined): Promise<KnownTail | null> {
    return this.#knownTailOf(slot) ?? this.#find(slot, signal)
  }

  /** Return whether slot `slot - 1` is in a tail, or is the base of one. */
  #followsTail(slot: number): boolean {
    for (const tail of this.#tails.values()) if (tail.base === slot - 1 || tail.has(slot - 1)) return true
    return false
  }

  #knownTailOf(slot: number): KnownTail | null {
    for (const tail of this.#tails.values()) if (tail.has(slot)) return tail
    return null
  }

  /** Return whether a tail has ended. Its end may be unknown, because it was trimmed before this process read it. */
  #isOver(tail: KnownTail): boolean {
    return tail.hasEnded || (this.#newest !== null && this.#newest.slot > tail.base)
  }

  /** Return whether the last listing shows that a slot is in a tail: the log had no file between its base and the slot. */
  #hasNoFile(slot: number): boolean {
    if (slot > this.#basesUpTo) return false
    const base = this.#bases.findLast(each => each < slot)
    return base !== undefined && slot < (this.#fileAfter.get(base) ?? Number.POSITIVE_INFINITY)
  }

  /** Look in the store for the tail that contains a slot. */
  async #find(slot: number, signal: AbortSignal | undefined): Promise<KnownTail | null> {
    const newest = this.#newest
    const isKnown = newest?.slot === slot - 1
    if (isKnown && !newest.mayHaveTail) return null
    const base = isKnown ? newest.slot : await this.#baseOf(slot, signal)
    const tail = base === undefined ? null : await this.tail(base)
    return tail?.has(slot) ? tail : null
  }

  /** Return the base of the tail that may contain a slot. Returns undefined if there is none. */
  async #baseOf(slot: number, signal: AbortSignal | undefined): Promise<number | undefined> {
    const isRemote = this.#store.openInPlace === undefined && this.#store.peek === undefined
    const isAhead = slot > (this.#newest?.slot ?? 0)
    // On another machine, a listing is slow. `readSlots` reads slots ahead again if they may be in a tail. The slot of a
    // checkpoint is looked for by `has`.
    const canWait = this.#basesUpTo >= 0 || this.trimmedTo !== undefined
    const isKnown = slot <= this.#basesUpTo || (isRemote && isAhead && canWait)
    const bases = isKnown ? this.#bases : await this.bases(signal)
    return bases.findLast(each => each < slot)
  }

  /** Return the slots that have tails, ascending. */
  async bases(signal?: AbortSignal): Promise<readonly number[]> {
    await this.#listFiles(signal)
    return this.#bases
  }

  /** List the files of the log, and remember the tails. */
  async #listFiles(signal: AbortSignal | undefined): Promise<readonly string[]> {
    const newest = this.#newest?.slot ?? 0
    const bases: number[] = []
    const fileAfter = new Map<number, number>()
    const keys = await keysOf(this.#store, '_log/', undefined, signal)
    for (const key of keys) {
      const slot = slotOfKey(key)
      if (slot === null) continue
      if (key === tailKey(slot)) bases.push(slot)
      const base = bases.at(-1)
      if (key === slotKey(slot) && base !== undefined && !fileAfter.has(base)) fileAfter.set(base, slot)
    }
    this.#bases = bases
    this.#fileAfter = fileAfter
    this.#basesUpTo = Math.max(newest, bases.at(-1) ?? 0)
    return keys
  }

  /** Return the tail of slot `base` with everything that can be read of it now; null if it was never created or was deleted. */
  async tail(base: number): Promise<KnownTail | null> {
    const known = this.#tails.get(base)
    if (known !== undefined) return (await this.#follow(known)) ? known : null
    const running = this.#loading.get(base)
    if (running !== undefined) {
      // The tail may have got further records since the running call read its mark.
      const loaded = await running
      return loaded !== null && (await this.#follow(loaded)) ? loaded : null
    }
    const loading = this.#load(base).finally(() => this.#loading.delete(base))
    this.#loading.set(base, loading)
    return loading
  }

  async #load(base: number): Promise<KnownTail | null> {
    const fileAfter = this.#fileAfter.get(base)
    const end = await this.#readEnd(base)
    let tail = await KnownTail.open(this.#store, base)
    if (tail === null && end?.records === 0) tail = KnownTail.without(this.#store, base, end.crc)
    if (tail === null) return null
    // The end existed before the file. It was trimmed, and a power loss undid the deletion of the tail only. A late writer
    // may have written another end after the trim.
    const isStale = fileAfter !== undefined && (end === null || base + end.records >= fileAfter)
    if (isStale) await tail.stopBefore(fileAfter)
    this.#remember(tail)
    if (!(await learnWith(tail, end))) return null
    // The tail was copied to a log that keeps names before its owner had ended it. No process appends to it here.
    if (this.trimmedTo !== undefined && !tail.hasEnded) await this.#settleTail(tail, undefined)
    return tail
  }

  #remember(tail: KnownTail): void {
    this.#tails.set(tail.base, tail)
    if (!this.#bases.includes(tail.base)) this.#bases = [...this.#bases, tail.base].sort((a, b) => a - b)
    const newest = Math.max(...this.#tails.keys())
    for (const [base, known] of this.#tails) {
      if (base === newest || known === this.#own) continue
      known.close()
      if (this.#tails.size > knownMax) this.#tails.delete(base)
    }
  }

  /** Forget a tail that was deleted. */
  #forget(tail: KnownTail): void {
    tail.close()
    this.#tails.delete(tail.base)
    if (tail === this.#own) this.#own = null
  }

  /** Learn the new records of a tail, and its end. Returns false if the tail was deleted. */
  async #follow(tail: KnownTail): Promise<boolean> {
    if (tail.hasEnded) return true
    // Look for the end first: what was acknowledged in the tail before this look has a mark now.
    const end = await this.#readEnd(tail.base)
    if (end !== null && tail === this.#own) this.#own = null
    return learnWith(tail, end)
  }

  async #readEnd(base: number): Promise<TailEnd | null> {
    const bytes = await this.#store.get(endKey(base))
    if (bytes === null) return null
    const end = decodeTailEnd(bytes, base)
    this.#unsynced = Math.max(this.#unsynced, base + end.records)
    return end
  }

  /** Return the tail of this process if `slot` is its next slot and fits. */
  #ownTailFor(slot: number, bytes: Uint8Array): KnownTail | null {
    const own = this.#own
    if (own === null) return null
    // A process that has missed the end of its tail goes on from a checkpoint.
    if (own.last !== slot - 1) this.#own = null
    if (this.#own === null || this.#clock.elapsed() - this.#ownSince > tailMsMax) return null
    return own.next + recordBytes(bytes.length) <= own.size ? own : null
  }

  /** Append a slot to a new tail, if one is due, or to a file of its own. */
  async #appendElsewhere(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'> {
    const newest = this.#newest
    const isDue = newest?.isOwn === true && newest.mayHaveTail && newest.slot === slot - 1
    if (isDue && !this.#tails.has(newest.slot)) {
      await this.#createTail(newest)
      const own = this.#ownTailFor(slot, bytes)
      if (own !== null) return this.#appendTo(own, slot, bytes)
    }
    return this.#appendFile(slot, bytes)
  }

  /** Append a slot with a file of its own. First ends the tail that may contain the slot. */
  async #appendFile(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'> {
    const base = await this.#baseBefore(slot)
    if (base !== null) {
      const end = await this.#endTail(base)
      if (end === null || slot <= base + end.records) return 'taken'
    }
    // The end of the tail before the slot must not be lost if the slot's file is kept.
    if (this.#followsTail(slot)) await this.sync?.()
    const answer = await this.#files.append(slot, bytes)
    if (answer === 'won') this.#note(slot, bytes, true)
    return answer
  }

  async #createTail({ slot, crc }: NewestFile): Promise<void> {
    const store = this.#store
    const size = this.#nextTailBytes
    try {
      const empty = emptyTail({ crc, boot: this.#boot! }, size)
      if ((await store.putIfAbsent(tailKey(slot), empty)) === 'taken') return
      const tail = await KnownTail.open(store, slot)
      if (tail === null) return
      // If the log was trimmed past the slot before its tail was created, no other process will delete the tail.
      if (tail.blob === null || !(await this.#files.has(slot, crc))) {
        tail.close()
        await store.delete(tailKey(slot))
        return
      }
      this.#own = tail
      this.#ownSince = this.#clock.elapsed()
      this.#remember(tail)
      this.#nextTailBytes = Math.min(2 * size, tailBytesMax)
    } catch {
      // Without a tail, the slot is appended like that of any other writer, which reports errors of the store.
    }
  }

  /** Append a slot to the tail of this process, or after it if another writer has ended the tail before the slot. */
  async #appendTo(own: KnownTail, slot: number, bytes: Uint8Array): Promise<'won' | 'taken'> {
    const { base } = own
    const blob = own.blob!
    try {
      blob.write(own.next, encodeRecord(bytes, own.crc))
      await blob.sync()
    } catch (cause) {
      this.#own = null
      throw new Ambiguous(`slot ${slot} may or may not be written: its tail could not be synced`, { cause })
    }
    // Keep this order. If the tail still exists after no seal was found, no other writer has ended it: `trim` deletes a
    // tail before its seal.
    const isSealed = this.#store.peek!(own.sealKey) !== null
    const isThere = own.isThere()
    if (!isSealed && isThere) {
      blob.write(0, encodeMark(own.count + 1))
      own.add(bytes.length, statedChecksum(bytes)!)
      return 'won'
    }
    this.#own = null
    // The tail was trimmed. The caller continues from a checkpoint.
    if (!isThere) return 'taken'
    try {
      const end = await this.#endTail(base)
      if (end === null) return 'taken'
      if (slot <= base + end.records) return 'won'
      // Without the end, the record would be a slot.
      await this.sync?.()
    } catch (cause) {
      throw new Ambiguous(`slot ${slot} may or may not be written: the end of its tail is unknown`, { cause })
    }
    return this.#appendFile(slot, bytes)
  }

  /**
   * Return the base of the tail that may contain slot `slot`, unless it has ended with the slot before. Returns null if there
   * is none: then the slot has a file of its own.
   */
  async #baseBefore(slot: number): Promise<number | null> {
    const before = slot - 1
    for (const tail of this.#tails.values()) {
      if (before !== tail.base && !tail.has(before)) continue
      return tail.hasEnded && tail.last === before ? null : tail.base
    }
    if (this.#newest?.slot === before) return this.#newest.mayHaveTail ? before : null
    const bytes = await this.#readFile(before, undefined)
    if (bytes !== null) return mayHaveTail(bytes) ? before : null
    const tail = await this.#find(before, undefined)
    return tail === null || (tail.hasEnded && tail.last === before) ? null : tail.base
  }

  /**
   * End the tail of slot `base`, and return its end, which another writer may have written. Returns null if the log was
   * trimmed past the tail.
   */
  async #endTail(base: number): Promise<TailEnd | null> {
    const isOwn = this.#own?.base === base
    if (isOwn) this.#own = null
    let end = await this.#readEnd(base)
    if (end === null) {
      // This process appends no more to its own tail, and nobody else does.
      if (!isOwn) await this.#store.putIfAbsent(sealKey(base), new Uint8Array([0x0a]))
      end = await this.#writeEnd(base)
    }
    if (end !== null) await (await this.tail(base))?.finish(end)
    return end
  }

  async #writeEnd(base: number): Promise<TailEnd | null> {
    const known = (await this.tail(base)) ?? (await this.#emptyTail(base))
    if (known === null) return null
    // While the records after the known ones are read, another call may learn them.
    const { count, crc: prev } = known
    const copies = known.hasEnded ? [] : await known.beyond()
    const last = copies.at(-1)
    const crc = last === undefined ? prev : statedChecksum(last)!
    const end = { records: count + copies.length, crc, copies }
    const answer = await this.#store.putIfAbsent(endKey(base), encodeTailEnd(end, prev))
    return answer === 'won' ? end : ((await this.#readEnd(base)) ?? end)
  }

  /** Return the tail of slot `base`, which was never created. Returns null if the slot was trimmed, and its tail perhaps too. */
  async #emptyTail(base: number): Promise<KnownTail | null> {
    const bytes = await this.#files.read(base)
    const crc = bytes === null ? null : statedChecksum(bytes)
    return crc === null ? null : KnownTail.without(this.#store, base, crc)
  }
}

/** Learn the records of a tail with the end `end`; null: it has none. Returns false if the tail was deleted. */
function learnWith(tail: KnownTail, end: TailEnd | null): Promise<boolean> {
  return end === null ? tail.learnMarked() : tail.finish(end)
}
