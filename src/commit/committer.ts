/**
 * Turns proposals into slots of the log, and slots into state. One committer per opened root.
 *
 * - `state` is the result of slots 1 to head, replayed from slot 0 or from a checkpoint. It only moves forward, a whole
 *   slot at a time.
 * - Each applied slot names the checksum of its predecessor.
 * - A proposal is decided on exactly the state that its entry is applied to: the state of head, then the earlier
 *   entries of its own slot. Winning slot head+1 proves that no other slot came between.
 * - While one append is under way, all queued commits wait for the next slot, and share it.
 * - A writer that lost a slot lets longer-waiting writers append first (turns.ts), and reads the log before it retries.
 *   A writer without competitors never waits.
 * - A taken slot may still be ours, because the reply to an append can be lost. The committer reads the slot back to
 *   tell a lost reply from a lost race.
 * - Bytes whose outcome is unknown are offered again to the same slot only, so no transaction lands twice. Other bytes
 *   may be offered to that slot too: the store refuses whichever come second.
 * - The committer applies entries as read back from their bytes, its own entries included. So replay and live commits
 *   cannot differ.
 * - Slots are trimmed when checkpoints made them dispensable, and a writer that missed the trim may write such a slot
 *   again. So whenever the committer wins, applies or misses slot N+1, it checks that slot N is present and the same.
 *   If not, the log was trimmed past slot N, and the committer continues from the newest checkpoint. A slot it won in
 *   that case is not part of the log, and is deleted (STORAGE S16).
 * - Nothing is based on a slot whose name may not be durable yet. A committer that finds such a slot has the log synced
 *   before it applies the slot, answers from it or writes after it. The slot of its own append under way is not synced:
 *   the committer waits for the append.
 * - A slot that is torn, foreign, too new, or does not follow its predecessor stops the committer for good.
 */
import { assert, corrupted, ErrorCode, invalidInput, SheafError } from '../errors.js'
import { orAborted } from '../primitives/abort.js'
import { crcHex } from '../primitives/checksum.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import { Ambiguous, type BlobMark, isSameBlob } from '../storage/blob-store.js'
import type { CommitLog } from './commit-log.js'
import type {
  CommitOptions,
  Committed,
  Entry,
  Fold,
  Genesis,
  Idempotency,
  Machine,
  Proposal,
  Propose,
  SlotHeader,
} from './machine.js'
import {
  type DecodedGenesis,
  decodeGenesis,
  decodeSlot,
  type EncodedSlot,
  encodeGenesis,
  encodeSlot,
  type Slot,
  statedChecksum,
} from './slot.js'
import { Slots } from './slots.js'
import { formatTransactionId } from './transaction-id.js'
import { Turns } from './turns.js'

export interface CommitterOptions {
  readonly clock: Clock
  /** Write slot 0 if the log is empty. */
  readonly create: boolean
  /** Refuse commits and write nothing. */
  readonly readOnly: boolean
  /** How long to retry an append with an unknown outcome, milliseconds. Default 30,000. */
  readonly unknownAfterMs?: number
  /** The cache of slots, if shared with other parts. Default: a cache of its own. */
  readonly slots?: Slots
  /** Called for every applied slot, in order, right after `state` includes the slot. Must not throw. */
  readonly onApplied?: (slot: Slot) => void
}

export interface OpenOptions<S> extends CommitterOptions {
  /** The fold of a checkpoint, to begin with instead of slot 0. */
  readonly base?: Fold<S> | undefined
  /**
   * Return the newest checkpoint's fold of a slot after `after`; null if there is none. Absent if the log is never
   * trimmed.
   */
  readonly newer?: (after: number) => Promise<Fold<S> | null>
  /**
   * Called when the committer continues from a checkpoint, right after `state` is that of the fold. Slots in between
   * are never applied. Must not throw.
   */
  readonly onReopened?: (fold: Fold<S>) => void
}

/** Limit of one entry, JSON and blobs, bytes. */
const entryBytesMax = 8 * 1024 * 1024
/**
 * A slot takes queued entries until it reaches one of these four limits. A single larger entry gets a slot alone. The
 * text limit bounds what a reader of the log must parse at once: 256 KB take about 4 ms.
 */
const groupEntriesMax = 1000
const groupBytesMax = 1024 * 1024
const groupTextMax = 256 * 1024
const groupDecideMs = 5
/** A commit is refused after it lost at least this many slots to other writers and waited for at least this long. */
const lostSlotsMax = 20
const lostMsMin = 5000
/** After losing this many slots in its own turn, a writer waits for a random time. */
const lostInTurnMax = 12
/** Turns are kept for the time of this many slots after the last slot of another writer. */
const contendedSlots = 32
/** Slots requested at a time if each read is a network request. */
const readAheadMax = 64
/** Before applying a slot of more bytes, let the event loop run. */
const largeSlotBytes = 64 * 1024
const pauseMsMax = 1000
const unknownAfterMs = 30_000
/** Number of other writers whose clocks are remembered. */
const otherClocksMax = 16

/** A queued commit. */
interface Ticket<S> {
  readonly txn: string
  readonly propose: Propose<S, null>
  readonly idempotency: Idempotency | undefined
  readonly signal: AbortSignal | undefined
  /** Remove the ticket from the queue. Does nothing once its bytes are on their way to the log. */
  readonly abort: () => void
  readonly resolve: (committed: Committed<S> | null) => void
  readonly reject: (reason: unknown) => void
  lostSlots: number
  /** When the commit was queued, on the monotonic clock, milliseconds. */
  readonly since: number
  /** Whether the log was read since the commit was queued. */
  isFresh: boolean
}

/** A ticket whose proposal or entry was refused. */
interface Refusal<S> {
  readonly ticket: Ticket<S>
  /** `nothing`: there is nothing to commit, which is no error. */
  readonly error: unknown
}

const nothing = Symbol('nothing')

/** A slot that is being appended to the log. */
interface Group<S> extends EncodedSlot {
  readonly tickets: readonly Ticket<S>[]
  /**
   * Tickets that were refused after earlier entries of this slot. Their callers get the error when the slot is
   * committed; otherwise the proposals are decided again.
   */
  readonly refused: readonly Refusal<S>[]
  /** The state after the slot. */
  readonly state: S
  /** Whether another writer's slot was found under its number. */
  lost: boolean
  /** Whether the log was trimmed past its number. */
  isTrimmedPast: boolean
}

type Outcome =
  /** `mark`: the mark of the slot's blob; null if unknown. */
  | { readonly kind: 'won'; readonly mark: BlobMark | null }
  | { readonly kind: 'lost' }
  /** Nothing was written. */
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'unknown'; readonly cause: unknown }

/** Replays the log, follows it, and commits to it. See the head of this file. */
export class Committer<S> {
  readonly genesis: Genesis
  readonly slots: Slots
  readonly #log: CommitLog
  readonly #machine: Machine<S>
  readonly #clock: Clock
  readonly #readOnly: boolean
  readonly #unknownAfterMs: number
  readonly #onApplied: ((slot: Slot) => void) | undefined
  readonly #newer: OpenOptions<S>['newer']
  readonly #onReopened: OpenOptions<S>['onReopened']
  /** The writer's nonce, in every slot that this committer writes. */
  readonly #by: string
  #head: number
  /** Checksum and time of slot head. */
  #crc: number
  #ts: number
  #state: S
  readonly #turns = new Turns()
  /** Estimated duration of an append, milliseconds. */
  #slotMs = 1
  /** Estimated duration of syncing other writers' slots, milliseconds; 0 before the first sync. */
  #syncMs = 0
  /** Until this time (`elapsed`), assume that other writers compete for slots. */
  #contendedUntil = 0
  readonly #queue: Ticket<S>[] = []
  /** The slot that is being appended; null if none. */
  #group: Group<S> | null = null
  /** The log's answer to the running append; resolves to null if the outcome is unknown. Null if no append runs. */
  #answer: Promise<'won' | 'taken' | null> | null = null
  /** The last time (`elapsed`) when the log had no slot after head. */
  #lookedAt: number
  /**
   * The mark of head's blob, if the log has `peek` and the mark is known. A writer that missed a trim may write a
   * trimmed slot again: its mark differs.
   */
  #mark: BlobMark | null
  /** By writer, the most recent last: its newest slot, and at most how far `elapsed` was ahead of the writer's clock. */
  readonly #others = new Map<string, { readonly slot: number; readonly ahead: number }>()
  #writing: Promise<void> | null = null
  #refreshing: Promise<void> | null = null
  #nextRefresh: Promise<void> | null = null
  #reopening: Promise<void> | null = null
  #closed = false
  #fatal: SheafError | null = null

  private constructor(
    log: CommitLog,
    machine: Machine<S>,
    options: OpenOptions<S>,
    { genesis, slot, crc, ts, state }: Fold<S>,
    mark: BlobMark | null,
  ) {
    this.genesis = genesis
    this.#head = slot
    this.slots = options.slots ?? new Slots(log, machine.features)
    this.#log = log
    this.#machine = machine
    this.#clock = options.clock
    this.#readOnly = options.readOnly
    this.#unknownAfterMs = options.unknownAfterMs ?? unknownAfterMs
    this.#onApplied = options.onApplied
    this.#newer = options.newer
    this.#onReopened = options.onReopened
    this.#by = options.clock.uuid()
    this.#lookedAt = options.clock.elapsed()
    this.#crc = crc
    this.#ts = ts
    this.#mark = mark
    this.#state = state
  }

  /**
   * Open a committer: replay the log to its end, from `base` or from slot 0. If the log is empty and `create` is set,
   * slot 0 is written first.
   *
   * Throws `NamespaceNotFound` for an empty log without `create`. Throws `Internal` ("corrupted") when slots are
   * missing, damaged or not consecutive, or when `base` is not of this log. Throws `Unsupported` when a newer Sheaf
   * wrote a slot.
   */
  static async open<S>(
    log: CommitLog,
    machine: Machine<S>,
    options: OpenOptions<S>,
    signal?: AbortSignal,
  ): Promise<Committer<S>> {
    const { base } = options
    let first = await log.read(0, signal)
    if (first === null) {
      const last = await log.last(signal)
      first = last < 0 && base === undefined ? await createGenesis(log, options) : await log.read(0, signal)
      if (first === null)
        throw base === undefined ? new SlotMissing(0, last) : foreign(base, 'slot 0 is not there')
    }
    const start = decodeGenesis(first, machine.features)
    let fold = base ?? { ...start, slot: 0, state: machine.initial(start.genesis) }
    let mark: BlobMark | null = null
    if (base !== undefined) {
      fold = await baseInLog(base, log, options.newer)
      mark = log.peek?.(fold.slot) ?? null
      await checkBase(fold, start, log, machine, signal)
      if (fold !== base) options.onReopened?.(fold)
    }
    const committer = new Committer(log, machine, options, fold, mark)
    await committer.#advance(readAheadMax, signal)
    const last = await log.last(signal, committer.#head)
    if (last > committer.#head) {
      // These slots were written since `advance` ended, or lie beyond a gap.
      await committer.#advance(readAheadMax, signal)
      if (last > committer.#head) throw new SlotMissing(committer.#head + 1, last)
    }
    // It is not known when the replayed slots were written, so they tell nothing about clocks.
    committer.#others.clear()
    return committer
  }

  /** The state after slot `head`, as of the last refresh or commit. */
  get state(): S {
    return this.#state
  }

  /** The newest slot applied. */
  get head(): number {
    return this.#head
  }

  /** `state` and its position in the log, for a checkpoint. */
  get fold(): Fold<S> {
    return { genesis: this.genesis, slot: this.#head, crc: this.#crc, ts: this.#ts, state: this.#state }
  }

  /**
   * Return a state with everything that any process committed before this call. Costs two synchronous stats if the log
   * has `peek` and nothing is new.
   */
  async refresh(signal?: AbortSignal): Promise<S> {
    this.#checkOpen()
    signal?.throwIfAborted()
    if (this.#isCurrent()) {
      this.#lookedAt = this.#clock.elapsed()
      return this.#state
    }
    await orAborted(this.#refreshOnce(), signal)
    return this.#state
  }

  /**
   * Commit durably what `propose` decides, in one slot together with other queued commits. Resolves to null if `propose`
   * returns null on a state with everything that was committed before this call. Rejects with:
   *
   * - what `propose` or applying its entry throws, on a state with everything that was committed before this call.
   *   Nothing was written.
   * - `signal.reason`, until the bytes are on their way to the log. From then on `commit` waits for the outcome.
   * - `InvalidInput` with status 413 for an entry of more than 8 MB.
   * - `ConcurrentModification` after losing 20 slots to other writers and waiting at least 5 seconds. Try again.
   * - `ServiceUnavailable` of kind `commit-state-unknown` with the transaction id, when the log did not tell the
   *   outcome in time. A later refresh or commit shows the outcome: do not commit again before that.
   * - `PermissionDenied` when read-only, `ServiceUnavailable` when closed or when the store refuses.
   */
  commit(propose: Propose<S>, options?: CommitOptions): Promise<Committed<S>>
  commit(propose: Propose<S, null>, options?: CommitOptions): Promise<Committed<S> | null>
  commit(propose: Propose<S, null>, options: CommitOptions = {}): Promise<Committed<S> | null> {
    return new Promise((resolve, reject) => {
      const { signal, idempotency } = options
      this.#checkOpen()
      if (this.#readOnly) throw new SheafError(ErrorCode.PermissionDenied, 'this root is opened read-only')
      signal?.throwIfAborted()
      const abort = () => {
        const at = this.#queue.indexOf(ticket)
        if (at < 0) return
        this.#queue.splice(at, 1)
        reject(signal!.reason)
      }
      const ticket: Ticket<S> = {
        txn: this.#clock.uuid(),
        propose,
        idempotency,
        signal,
        abort,
        resolve,
        reject,
        lostSlots: 0,
        since: this.#clock.elapsed(),
        isFresh: false,
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#queue.push(ticket)
      this.#writing ??= this.#write()
    })
  }

  /** Commit what is queued, and refuse every later call. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#writing
  }

  #checkOpen(): void {
    if (this.#fatal !== null) throw this.#fatal
    if (this.#closed) throw new SheafError(ErrorCode.ServiceUnavailable, 'this root is closed')
  }

  /** Fail every queued and later call with `error`. */
  #stop(error: unknown): unknown {
    if (!(error instanceof SheafError)) return error
    this.#fatal ??= error
    for (const ticket of this.#queue.splice(0)) refuse(ticket, this.#fatal)
    return this.#fatal
  }

  // --- reading -------------------------------------------------------------------------------------------

  /** Return whether the log certainly ends with slot head: two synchronous stats. Always false if the log has no `peek`. */
  #isCurrent(): boolean {
    const log = this.#log
    const head = this.#head
    if (log.peek === undefined || (head === 0 && this.#newer !== undefined)) return false
    // The order matters: the second look proves that the log was not trimmed past head before the first look.
    if (log.peek(head + 1) !== null) return false
    const mark = log.peek(head)
    return mark !== null && (head === 0 || this.#isMarked(mark))
  }

  #isMarked(mark: BlobMark): boolean {
    return this.#mark !== null && isSameBlob(this.#mark, mark)
  }

  /**
   * Share one `#advance` between all callers that asked before it began. Callers that ask while it runs share the next
   * one.
   */
  #refreshOnce(): Promise<void> {
    if (this.#refreshing === null) {
      this.#refreshing = this.#advance(1).finally(() => {
        this.#refreshing = null
      })
      return this.#refreshing
    }
    this.#nextRefresh ??= this.#refreshing
      .catch(() => {})
      .then(() => {
        this.#nextRefresh = null
        return this.#refreshing ?? this.#refreshOnce()
      })
    return this.#nextRefresh
  }

  /**
   * Apply slots until one is missing. If each read is a network request, read ahead in windows that double. Several
   * calls may run at the same time: each skips slots that another call has applied.
   */
  async #advance(window: number, signal?: AbortSignal): Promise<void> {
    const pacer = new Pacer(signal, this.#clock)
    for (;;) {
      const first = this.#head + 1
      const crc = this.#crc
      const { found, mark } = await this.#readFrom(first, window, signal)
      if (!(await this.#isThere(first - 1, crc, signal))) {
        await this.#reopen(first - 1)
        continue
      }
      // Slots that were read do not change while the log is synced. Another call may apply them meanwhile; the loop
      // checks that.
      await this.#sync(first, found)
      let wasTrimmed = false
      for (const [i, bytes] of found.entries()) {
        const number = first + i
        const present = bytes ?? (await this.#readAgain(number, found.slice(i + 1), signal))
        if (present === null) {
          if (number === this.#head + 1) this.#lookedAt = this.#clock.elapsed()
          return
        }
        wasTrimmed = present === 'trimmed'
        if (present === 'trimmed') break
        if (number === this.#head + 1) await this.#apply(present, number, pacer)
        const isMarked = mark !== null && i === found.length - 1 && number === this.#head
        if (isMarked && statedChecksum(present) === this.#crc) this.#mark = mark
      }
      if (!wasTrimmed) window = Math.min(2 * window, readAheadMax)
    }
  }

  /**
   * Read up to `window` slots from `first` on. If the log has `peek`, read those that exist. If `first` is missing,
   * read the next slot, to detect a gap.
   *
   * Slots are trimmed in ascending order. So if the slot before `first` still exists afterwards, all the slots read are
   * part of the log. `mark`: the mark of the last slot's blob, taken before its read.
   */
  async #readFrom(
    first: number,
    window: number,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly found: (Uint8Array | null)[]; readonly mark: BlobMark | null }> {
    const log = this.#log
    if (log.peek === undefined) {
      const reads = Array.from({ length: window }, (_, i) => log.read(first + i, signal))
      return { found: await Promise.all(reads), mark: null }
    }
    const found: (Uint8Array | null)[] = []
    let mark: BlobMark | null = null
    while (found.length < window) {
      const next = log.peek(first + found.length)
      if (next === null) break
      mark = next
      found.push(await log.read(first + found.length, signal))
    }
    if (found.length > 0) return { found, mark }
    const later = log.peek(first + 1) === null ? [] : [await log.read(first + 1, signal)]
    return { found: [null, ...later], mark: null }
  }

  /** Make the slots that were read durable, before anything is based on them. */
  async #sync(first: number, found: readonly (Uint8Array | null)[]): Promise<void> {
    const count = found.filter(bytes => bytes !== null).length
    if (count === 0 || this.#log.sync === undefined) return
    const isOwn = count === 1 && found[0] !== null && this.#group?.slot.header.slot === first
    if (isOwn && (await this.#answer) === 'won') return
    const started = this.#clock.elapsed()
    await this.#log.sync()
    this.#syncMs += (this.#clock.elapsed() - started - this.#syncMs) / 4
  }

  /** Read a missing slot again, if a later slot exists. The slot was written meanwhile, or was trimmed, or is lost. */
  async #readAgain(
    number: number,
    later: readonly (Uint8Array | null)[],
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | 'trimmed' | null> {
    const next = later.findIndex(bytes => bytes !== null)
    if (next < 0) return null
    const bytes = await this.#log.read(number, signal)
    if (bytes !== null) {
      await this.#log.sync?.()
      return bytes
    }
    await this.#reopen(number - 1, new SlotMissing(number, number + 1 + next))
    return 'trimmed'
  }

  /**
   * Return whether the log still contains slot `slot` with checksum `crc`. Slot 0 is never trimmed, so for slot 0 a
   * newer checkpoint tells. Any other slot may have been trimmed, and then written again by a writer that missed the
   * trim.
   */
  async #isThere(slot: number, crc: number, signal?: AbortSignal): Promise<boolean> {
    if (slot === 0 && ((await this.#newer?.(0)) ?? null) !== null) return false
    const mark = this.#log.peek?.(slot)
    if (mark === null) return false
    if (slot === 0) return mark !== undefined || this.#log.has(0, undefined, signal)
    if (mark !== undefined && slot === this.#head && this.#isMarked(mark)) return true
    const isSame = await this.#log.has(slot, crc, signal)
    const isHead = slot === this.#head && crc === this.#crc
    if (isSame && mark !== undefined && isHead) this.#mark = mark
    return isSame
  }

  /**
   * Continue from the newest checkpoint, unless the committer already moved past slot `head`. If there is no newer
   * checkpoint, the log is damaged: throws `damage` and stops the committer.
   */
  #reopen(head: number, damage?: SheafError): Promise<void> {
    this.#reopening ??= this.#reopenFrom(head, damage).finally(() => {
      this.#reopening = null
    })
    return this.#reopening
  }

  async #reopenFrom(head: number, damage: SheafError | undefined): Promise<void> {
    const fold = this.#head > head ? null : await this.#newer?.(head)
    if (this.#head > head) return
    if (fold == null) {
      throw this.#stop(
        damage ?? corrupted(`slot ${head} is gone: the root was removed or replaced while it was open`),
      )
    }
    const base = await baseInLog(fold, this.#log, this.#newer)
    const { genesis } = this
    const start = { genesis, ts: 0, crc: 0 }
    await checkBase(base, start, this.#log, this.#machine, undefined).catch(error => {
      throw this.#stop(error)
    })
    if (this.#head >= base.slot) return
    if (this.#group !== null && this.#group.slot.header.slot <= base.slot) this.#group.isTrimmedPast = true
    this.#head = base.slot
    this.#crc = base.crc
    this.#ts = base.ts
    this.#mark = null
    this.#state = base.state
    this.#onReopened?.(base)
  }

  async #apply(bytes: Uint8Array, number: number, pacer: Pacer): Promise<void> {
    if (bytes.length > largeSlotBytes || pacer.due()) await pacer.pause()
    if (number !== this.#head + 1) return
    const slot = this.#orStop(() => {
      const decoded = decodeSlot(bytes, number, this.#machine.features)
      this.#checkSuccessor(decoded)
      return decoded
    })
    const state = await this.#replaySlot(slot, pacer)
    if (number !== this.#head + 1) return
    const group = this.#group?.slot.header.slot === number ? this.#group : null
    const ours = group !== null && isSameSlot(slot, group.slot)
    if (group !== null) group.lost = !ours
    this.#install(slot, ours ? group.state : state)
  }

  #orStop<T>(run: () => T): T {
    try {
      return run()
    } catch (error) {
      throw this.#stop(error)
    }
  }

  #checkSuccessor({ header }: Slot): void {
    if (Number.parseInt(header.prev, 16) !== this.#crc) {
      const expected = crcHex(this.#crc)
      throw corrupted(
        `slot ${header.slot} does not follow slot ${this.#head}: it was written after one with checksum ` +
          `${header.prev}, slot ${this.#head} has ${expected}`,
        { hint: 'part of the log was lost or comes from another copy of the root; restore a backup' },
      )
    }
    if (header.ts < this.#ts) {
      throw corrupted(`slot ${header.slot} is dated ${header.ts}, before slot ${this.#head} (${this.#ts})`)
    }
  }

  /** Compute the state after a slot. The caller may install the result only if head has not moved meanwhile. */
  async #replaySlot({ header }: Slot, pacer: Pacer): Promise<S> {
    let state = this.#state
    for (const [index, entry] of header.entries.entries()) {
      if (pacer.due()) await pacer.pause()
      state = this.#orStop(() => applyEntry(this.#machine, state, entry, header, index))
    }
    return state
  }

  #install(slot: Slot, state: S): void {
    this.#head = slot.header.slot
    this.#crc = slot.crc
    this.#ts = slot.header.ts
    this.#mark = null
    this.#state = state
    this.#turns.note(slot.header.by, slot.header.slot)
    this.#noteClock(slot)
    this.slots.keep(slot)
    this.#onApplied?.(slot)
  }

  /** Note what a slot tells about its writer's clock: the slot did not exist at `#lookedAt`. */
  #noteClock({ header: { by, slot, ts, clock = ts } }: Slot): void {
    if (by === this.#by) {
      this.#lookedAt = this.#clock.elapsed()
      return
    }
    this.#others.delete(by)
    this.#others.set(by, { slot, ahead: this.#lookedAt - clock })
    if (this.#others.size > otherClocksMax) this.#others.delete(this.#others.keys().next().value!)
  }

  /**
   * How far the clock of this process is ahead of another writer's clock, milliseconds. Derived from slots that others
   * wrote while this committer was open. Of the writers heard from most recently, the largest lead. Null if no other
   * writer wrote.
   */
  get ahead(): { readonly ms: number; readonly slot: number } | null {
    let most: { ms: number; slot: number } | null = null
    for (const { slot, ahead } of this.#others.values()) {
      const ms = this.#clock.now() - this.#clock.elapsed() + ahead
      if (most === null || ms > most.ms) most = { ms, slot }
    }
    return most
  }

  // --- writing -------------------------------------------------------------------------------------------

  async #write(): Promise<void> {
    while (this.#queue.length > 0) {
      // Let callers that the last slot resolved queue their next commit: measured 3 to 6 times the throughput.
      await this.#clock.yield()
      if (this.#clock.elapsed() < this.#contendedUntil) await this.#waitForTurn()
      const gathered = this.#gather()
      if ('tickets' in gathered) await this.#appendGroup(gathered)
      else await this.#refuse(gathered.refused)
    }
    this.#writing = null
  }

  /**
   * Wait for the turns of all writers that come before this one. Wait again if some of them, but not all, wrote a slot.
   * A writer that does not use its turn is not waited for.
   */
  async #waitForTurn(): Promise<void> {
    // A writer that has just lost a slot, and has not paused since, has just read the log.
    const lost = this.#queue[0]?.lostSlots ?? 0
    let looked = lost > 0 && lost <= lostInTurnMax
    let waited = false
    try {
      for (;;) {
        const head = this.#head
        if (!looked) await this.#advance(1)
        looked = false
        if (this.#head > head) this.#keepTurns()
        else if (waited) return
        const before = this.#turns.before(this.#by)
        if (before === 0 || this.#queue.length === 0) return
        await this.#clock.sleep(Math.min((before - 0.5) * this.#turnMs, pauseMsMax), undefined, true)
        waited = true
      }
    } catch {
      // The append reports the error, or the queue was emptied.
    }
  }

  #keepTurns(): void {
    this.#contendedUntil = this.#clock.elapsed() + contendedSlots * this.#turnMs
  }

  /**
   * How long a writer takes that has just lost a slot: it syncs the slot it lost to, then writes the next slot.
   * Milliseconds.
   */
  get #turnMs(): number {
    return this.#syncMs + this.#slotMs
  }

  /** Build the next slot from the queue. If no ticket had anything to commit, return the refused tickets. */
  #gather(): Group<S> | { readonly refused: readonly Refusal<S>[] } {
    const slot = this.#head + 1
    const clock = Math.floor(this.#clock.now())
    const ts = Math.max(this.#ts, clock)
    const until = this.#clock.elapsed() + groupDecideMs
    const tickets: Ticket<S>[] = []
    const refused: Refusal<S>[] = []
    const entries: Entry[] = []
    const texts: string[] = []
    const blobs: Uint8Array[] = []
    const need = new Set<string>()
    let bytes = 0
    let textBytes = 0
    let state = this.#state
    while (tickets.length < groupEntriesMax && this.#clock.elapsed() <= until) {
      const ticket = this.#queue.shift()
      if (ticket === undefined) break
      try {
        const at = { slot, entry: tickets.length, ts }
        const transactionId = formatTransactionId(slot, ticket.txn)
        const proposal = ticket.propose(state, { ...at, transactionId, firstBlob: blobs.length })
        if (proposal === null) {
          refused.push({ ticket, error: nothing })
          continue
        }
        const written = writeEntry(ticket.txn, ticket.idempotency, proposal)
        const full = bytes + written.bytes > groupBytesMax || textBytes + written.textBytes > groupTextMax
        if (tickets.length > 0 && full) {
          this.#queue.unshift(ticket)
          break
        }
        this.#machine.check?.(state, written.entry)
        state = this.#machine.apply(state, written.entry, at)
        tickets.push(ticket)
        entries.push(written.entry)
        texts.push(written.text)
        blobs.push(...(proposal.blobs ?? []))
        for (const feature of proposal.need ?? []) need.add(feature)
        bytes += written.bytes
        textBytes += written.textBytes
      } catch (error) {
        refused.push({ ticket, error })
      }
    }
    if (tickets.length === 0) return { refused }
    const shown = clock < ts && { clock }
    const header = { need: [...need], slot, prev: crcHex(this.#crc), by: this.#by, ts, ...shown, entries }
    return { ...encodeSlot(header, texts, blobs), tickets, refused, state, lost: false, isTrimmedPast: false }
  }

  /**
   * Reject refused tickets, once the state of the refusal is known to hold everything committed before the call. If the
   * log has newer slots, decide the proposals again. (Winning a slot proves freshness by itself.)
   */
  async #refuse(refusals: readonly Refusal<S>[]): Promise<void> {
    const head = this.#head
    try {
      const isFresh = refusals.every(({ ticket }) => ticket.isFresh)
      if (!isFresh && !this.#isCurrent()) await this.#advance(1)
    } catch (error) {
      for (const { ticket } of refusals) refuse(ticket, error)
      return
    }
    const again: Ticket<S>[] = []
    for (const { ticket, error } of refusals) {
      if (this.#head === head || ticket.isFresh) refuse(ticket, error)
      else if (ticket.signal?.aborted) refuse(ticket, ticket.signal.reason)
      else again.push(ticket)
      ticket.isFresh = true
    }
    this.#queue.unshift(...again)
  }

  async #appendGroup(group: Group<S>): Promise<void> {
    const { slot, tickets, refused } = group
    const number = slot.header.slot
    const started = this.#clock.elapsed()
    this.#group = group
    const outcome = await this.#offer(group)
    this.#group = null
    const now = this.#clock.elapsed()
    switch (outcome.kind) {
      case 'won':
        if (group.lost && !group.isTrimmedPast) {
          const error = this.#stop(
            corrupted(`slot ${number} was won here, but holds another writer's entries`),
          )
          for (const ticket of tickets) refuse(ticket, error)
          for (const { ticket } of refused) refuse(ticket, error)
          return
        }
        if (this.#head < number) {
          this.#install(slot, group.state)
          this.#mark = outcome.mark
        }
        this.#slotMs += (Math.min(now - started, 2 * this.#slotMs) - this.#slotMs) / 4
        tickets.forEach((ticket, entry) => {
          accept(ticket, group, entry)
        })
        for (const { ticket, error } of refused) refuse(ticket, error)
        return
      case 'lost':
        this.#requeue([...tickets, ...refused.map(({ ticket }) => ticket)])
        this.#slotMs = Math.max(this.#slotMs, Math.min(now - started, 2 * this.#slotMs))
        this.#keepTurns()
        // Writers without a recent slot all take themselves for first, so a random pause separates them.
        if (tickets[0]!.lostSlots > lostInTurnMax) await this.#pause(this.#turns.writers * this.#turnMs)
        return
      case 'refused':
        for (const ticket of tickets) refuse(ticket, outcome.error)
        this.#requeue(refused.map(({ ticket }) => ticket))
        return
      case 'unknown':
        for (const ticket of tickets) refuse(ticket, unknown(ticket.txn, number, outcome.cause))
        this.#requeue(refused.map(({ ticket }) => ticket))
    }
  }

  /** Append a group until the outcome is known, or until the time for unknown outcomes is over. */
  async #offer(group: Group<S>): Promise<Outcome> {
    const number = group.slot.header.slot
    const deadline = this.#clock.elapsed() + this.#unknownAfterMs
    let ambiguity: unknown = null
    for (let tries = 0; ; tries++) {
      let answer: 'won' | 'taken' | null = null
      try {
        const appended = this.#log.append(number, group.bytes)
        this.#answer = appended.catch(() => null)
        answer = await appended
      } catch (error) {
        if (!(error instanceof Ambiguous)) {
          const isRefused = error instanceof SheafError && ambiguity === null
          return isRefused ? { kind: 'refused', error } : { kind: 'unknown', cause: error }
        }
        ambiguity = error
      } finally {
        this.#answer = null
      }
      if (answer !== null) {
        try {
          // If the previous slot still exists, the slot under this number is the one that was written.
          const mark = this.#log.peek?.(number) ?? null
          if (answer === 'taken') await this.#advance(1)
          else if (await this.#isThere(number - 1, Number.parseInt(group.slot.header.prev, 16)))
            return { kind: 'won', mark }
          else if (this.#head < number) await this.#reopen(number - 1)
          if (group.isTrimmedPast)
            return (await this.#isReal(group)) ? { kind: 'won', mark: null } : { kind: 'lost' }
          if (this.#head >= number) return group.lost ? { kind: 'lost' } : { kind: 'won', mark: null }
        } catch (error) {
          if (error === this.#fatal) return { kind: 'refused', error }
          ambiguity = error
        }
      }
      if (group.lost && !group.isTrimmedPast) return { kind: 'lost' }
      if (this.#clock.elapsed() >= deadline) return { kind: 'unknown', cause: ambiguity }
      await this.#pause(10 * 2 ** tries)
    }
  }

  /**
   * Return whether the offered slot is part of a log that was trimmed past its number. If not, delete the slot that was
   * written.
   */
  async #isReal({ slot }: Group<S>): Promise<boolean> {
    const number = slot.header.slot
    const bytes = await this.#log.read(number)
    const stored = bytes === null ? null : decodeSlot(bytes, number, this.#machine.features)
    const crc = await this.slots.crcOfTrimmed(number)
    if (crc === null) return stored?.crc === slot.crc
    if (crc === slot.crc) return true
    if (stored?.crc === slot.crc) await this.#log.remove(number)
    return false
  }

  /** Put tickets back at the head of the queue, in order. */
  #requeue(tickets: readonly Ticket<S>[]): void {
    const lateSince = this.#clock.elapsed() - lostMsMin
    const again: Ticket<S>[] = []
    for (const ticket of tickets) {
      ticket.lostSlots++
      ticket.isFresh = true
      if (this.#fatal !== null) refuse(ticket, this.#fatal)
      else if (ticket.signal?.aborted) refuse(ticket, ticket.signal.reason)
      else if (ticket.lostSlots >= lostSlotsMax && ticket.since <= lateSince)
        refuse(ticket, contended(ticket.lostSlots))
      else again.push(ticket)
    }
    this.#queue.unshift(...again)
  }

  /** Wait for a random time of at most `ms`. */
  #pause(ms: number): Promise<void> {
    return this.#clock.sleep(this.#clock.random() * Math.min(ms, pauseMsMax), undefined, true)
  }
}

function isSameSlot(a: Slot, b: Slot): boolean {
  return a.header.by === b.header.by && a.header.entries[0]!.txn === b.header.entries[0]!.txn
}

interface WrittenEntry {
  /** Parsed from `text`. */
  readonly entry: Entry
  readonly text: string
  readonly textBytes: number
  /** About how many bytes the entry adds to a slot. */
  readonly bytes: number
}

function writeEntry(
  txn: string,
  idempotency: Idempotency | undefined,
  { ops, req = [], res, blobs = [] }: Proposal,
): WrittenEntry {
  assert(ops.length > 0, 'a proposal without operations')
  let text: string
  try {
    text = JSON.stringify({ txn, ...idempotency, req, ops, res })
  } catch (cause) {
    throw invalidInput('the change cannot be written as JSON', { cause })
  }
  const textBytes = Buffer.byteLength(text)
  let bytes = textBytes
  for (const blob of blobs) bytes += blob.length + 24 // the range of a blob in the header
  if (bytes > entryBytesMax) {
    throw invalidInput(`the change takes ${bytes} bytes in the log, more than ${entryBytesMax}`, {
      status: 413,
      hint: 'split it into several commits',
    })
  }
  return { entry: JSON.parse(text) as Entry, text, textBytes, bytes }
}

function accept<S>(ticket: Ticket<S>, { slot, state }: Group<S>, index: number): void {
  ticket.signal?.removeEventListener('abort', ticket.abort)
  const { slot: number, ts, entries } = slot.header
  ticket.resolve({
    txn: ticket.txn,
    transactionId: formatTransactionId(number, ticket.txn),
    at: { slot: number, entry: index, ts },
    entry: entries[index]!,
    state,
  })
}

function refuse<S>(ticket: Ticket<S>, reason: unknown): void {
  ticket.signal?.removeEventListener('abort', ticket.abort)
  if (reason === nothing) ticket.resolve(null)
  else ticket.reject(reason)
}

function applyEntry<S>(
  machine: Machine<S>,
  state: S,
  entry: Entry,
  { slot, ts }: SlotHeader,
  index: number,
): S {
  try {
    return machine.apply(state, entry, { slot, entry: index, ts })
  } catch (cause) {
    if (cause instanceof SheafError && cause.code === ErrorCode.Unsupported) throw cause
    const what = cause instanceof Error ? cause.message : String(cause)
    throw corrupted(`slot ${slot}, entry ${index} cannot be applied: ${what}`, { cause })
  }
}

/** Return `base`, or a newer fold if the slot of `base` was trimmed meanwhile. */
async function baseInLog<S>(base: Fold<S>, log: CommitLog, newer: OpenOptions<S>['newer']): Promise<Fold<S>> {
  for (let fold = base; ; ) {
    if (fold.slot === 0 || (await log.has(fold.slot))) return fold
    const next = await newer?.(fold.slot)
    if (next == null) return fold
    fold = next
  }
}

/**
 * Check that the log holds the last slot of `base` as it was when the base was made. Throws Internal ("corrupted")
 * otherwise.
 */
async function checkBase<S>(
  base: Fold<S>,
  start: DecodedGenesis,
  log: CommitLog,
  machine: Machine<S>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (base.genesis.root !== start.genesis.root) throw foreign(base, 'it is of another root')
  const bytes = base.slot === 0 ? null : await log.read(base.slot, signal)
  if (base.slot > 0 && bytes === null) {
    throw foreign(base, `the log ends with slot ${await log.last(signal)}`)
  }
  const { crc } = bytes === null ? start : decodeSlot(bytes, base.slot, machine.features)
  if (crc !== base.crc) {
    throw foreign(base, `the checksum of that slot is ${crcHex(crc)}, not ${crcHex(base.crc)}`)
  }
}

/** Write slot 0, or read the one that another writer wrote. */
async function createGenesis(log: CommitLog, options: CommitterOptions): Promise<Uint8Array> {
  if (!options.create || options.readOnly) {
    throw new SheafError(ErrorCode.NamespaceNotFound, 'there is no root here: its log is empty', {
      hint: 'create it by opening it with create: true',
    })
  }
  const { clock } = options
  const bytes = encodeGenesis({ root: clock.uuid(), format: 1 }, Math.floor(clock.now()))
  const deadline = clock.elapsed() + (options.unknownAfterMs ?? unknownAfterMs)
  for (let tries = 0; ; tries++) {
    let ambiguity: unknown = null
    try {
      await log.append(0, bytes)
    } catch (error) {
      if (!(error instanceof Ambiguous)) throw error
      ambiguity = error
    }
    const written = ambiguity === null ? await log.read(0) : null
    if (written !== null) return written
    if (clock.elapsed() >= deadline) {
      throw new SheafError(ErrorCode.ServiceUnavailable, 'the root could not be created in time', {
        hint: 'try again',
        cause: ambiguity,
      })
    }
    await clock.sleep(clock.random() * Math.min(10 * 2 ** tries, pauseMsMax), undefined, true)
  }
}

/** Thrown for a missing slot when a later slot exists. */
export class SlotMissing extends SheafError {
  readonly slot: number

  constructor(slot: number, later: number) {
    super(ErrorCode.Internal, `slot ${slot} is missing, though slot ${later} is there`, {
      hint: 'part of the log was lost; restore a backup',
    })
    this.slot = slot
  }
}

function foreign<S>({ slot, key }: Fold<S>, what: string): SheafError {
  const name = key === undefined ? '' : ` (${key})`
  return corrupted(`the checkpoint of slot ${slot}${name} does not belong to this log: ${what}`, {
    hint: 'part of the log was lost or comes from another copy of the root; restore a backup',
  })
}

function contended(lostSlots: number): SheafError {
  const message = `other writers took ${lostSlots} slots in a row before this commit`
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
}

function unknown(txn: string, slot: number, cause: unknown): SheafError {
  const transactionId = formatTransactionId(slot, txn)
  const message = `the store did not report whether transaction ${transactionId} was committed`
  return new SheafError(ErrorCode.ServiceUnavailable, message, {
    kind: 'commit-state-unknown',
    hint: 'look the transaction up before sending it again',
    transactionId,
    cause,
  })
}
