/**
 * Decides what happened: turns proposals into slots, and slots into state.
 *
 * - `state` is the fold of slots 1..head, each checked to name its predecessor's checksum: of all of them, or of a
 *   checkpoint and what follows it. It only moves forward, a whole slot at a time.
 * - A proposal is decided on exactly the state its entry will be applied to: the fold up to head, then the
 *   earlier entries of its own slot. Winning slot head+1 proves that nothing came between.
 * - While one append is under way everything queued waits for the next slot, and shares it.
 * - Who has lost a slot to another writer lets those go first who have waited longer (turns.ts), and looks before it
 *   tries again. A writer that meets no other never waits.
 * - A slot that is taken may still be ours: a lost reply is told from a lost race by reading the slot back.
 * - Bytes whose outcome is unknown are only ever offered again to the same slot, so no transaction lands twice.
 *   Other bytes may be offered to that slot too: whichever comes first, the store refuses the other.
 * - What is applied, own entries included, is what the bytes say, so that replay and live fold cannot differ.
 * - Slots that a checkpoint made dispensable are trimmed, and may be written again by who missed that. So whoever wins, applies
 *   or misses slot N+1 looks back: where slot N is not there, or another one has its place, the log was trimmed past it, and it goes on from
 *   the newest checkpoint. What it won is no slot of the log then, and goes (STORAGE S16).
 * - A slot whose name may not be durable yet is the ground for nothing: whoever finds one has the log synced before it applies the
 *   slot, and so before it answers from it or writes after it. The slot of an append under way waits for that append instead.
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
  /** Write slot 0 when the log is empty. */
  readonly create: boolean
  /** Refuse commits, and never write. */
  readonly readOnly: boolean
  /** How long an append with an unknown outcome is offered again, milliseconds. Default 30,000. */
  readonly unknownAfterMs?: number
  /** Where slots that were read are kept, when others share it. Default: its own. */
  readonly slots?: Slots
  /** Told of every slot that is applied, in order, right after `state` shows it. Must not throw. */
  readonly onApplied?: (slot: Slot) => void
}

export interface OpenOptions<S> extends CommitterOptions {
  /** Where to begin instead of slot 0: what a checkpoint held. */
  readonly base?: Fold<S> | undefined
  /** The newest fold that a checkpoint holds, of a slot after `after`; null without any. Absent: the log is never trimmed. */
  readonly newer?: (after: number) => Promise<Fold<S> | null>
  /** Told of a fold that it goes on from, right after `state` shows it: slots in between are never applied. Must not throw. */
  readonly onReopened?: (fold: Fold<S>) => void
}

export interface CommitOptions {
  readonly signal?: AbortSignal | undefined
  /** Stands in the entry. Whether the key was used before is for `propose` to see in the state. */
  readonly idempotency?: Idempotency | undefined
}

/** One entry: JSON and blobs. */
const entryBytesMax = 8 * 1024 * 1024
/**
 * A group of entries ends at the first of these four; one larger entry goes alone. The texts are what whoever replays
 * the log must parse in one go: 256 KB take about 4 ms.
 */
const groupEntriesMax = 1000
const groupBytesMax = 1024 * 1024
const groupTextMax = 256 * 1024
const groupDecideMs = 5
/** A caller is refused after it lost at least this many slots to other writers, and waited for at least this long. */
const lostSlotsMax = 20
const lostMsMin = 5000
/** Slots a writer loses though it was its turn, before it draws lots. */
const lostInTurnMax = 12
/** For as many slots' time after the last sign of another writer turns are kept. */
const contendedSlots = 32
/** Slots asked for at a time where each answer is a trip over a network. */
const readAheadMax = 64
/** A slot of more bytes gets a slice of time of its own. */
const largeSlotBytes = 64 * 1024
const pauseMsMax = 1000
const unknownAfterMs = 30_000
/** Other writers whose clocks are remembered. */
const heardMax = 16

/** A caller waiting in the queue. */
interface Ticket<S> {
  readonly txn: string
  readonly propose: Propose<S>
  readonly idempotency: Idempotency | undefined
  readonly signal: AbortSignal | undefined
  /** Takes the ticket out of the queue; does nothing once its bytes are on their way. */
  readonly abort: () => void
  readonly resolve: (committed: Committed<S>) => void
  readonly reject: (reason: unknown) => void
  lostSlots: number
  /** When it was queued, on the clock that only runs forwards. */
  readonly since: number
  /** The log was looked at since it was queued. */
  isFresh: boolean
}

/** A ticket whose proposal, or entry, was refused. */
interface Refusal<S> {
  readonly ticket: Ticket<S>
  readonly error: unknown
}

/** A slot on its way to the log. */
interface Group<S> extends EncodedSlot {
  readonly tickets: readonly Ticket<S>[]
  /** Refused because of entries before them in this slot: told when those are committed, decided again when not. */
  readonly refused: readonly Refusal<S>[]
  /** The state after it. */
  readonly state: S
  /** Its number was seen to hold something else. */
  lost: boolean
  /** The log was trimmed past its number. */
  passed: boolean
}

type Outcome =
  /** `mark`: which blob its slot is, where that is known. */
  | { readonly kind: 'won'; readonly mark: BlobMark | null }
  | { readonly kind: 'lost' }
  /** Nothing was written. */
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'unknown'; readonly cause: unknown }

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
  /** The nonce of everything this committer writes. */
  readonly #by: string
  #head: number
  /** Checksum and time of slot head. */
  #crc: number
  #ts: number
  #state: S
  readonly #turns = new Turns()
  /** About how long an append takes, milliseconds. */
  #slotMs = 1
  /** About how long it takes to make the slots of others durable, milliseconds; 0 before any was. */
  #syncMs = 0
  /** Until then others are taken to want slots too. */
  #contendedUntil = 0
  readonly #queue: Ticket<S>[] = []
  /** The one append under way. */
  #group: Group<S> | null = null
  /** What the log answered to it, null where that is not known; while it has not answered yet. */
  #answer: Promise<'won' | 'taken' | null> | null = null
  /** By `elapsed`: the last time when no slot after the head was there. */
  #lookedAt: number
  /** Which blob slot head is, where the log can peek and that is known: one that is trimmed may be written again by who missed that. */
  #mark: BlobMark | null
  /** Of other writers, the last heard last: the slot, and how far its writer's clock was before `elapsed`, at most. */
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
   * Replays a log to its end, from `base` or from slot 0, which is written first if the log is empty and `create` is
   * set. Throws NamespaceNotFound (code 1) for an empty log otherwise, corrupted (18) when slots are missing, damaged
   * or do not follow each other, or the base is not of this log, and unsupported (0) when a newer Sheaf wrote them.
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
      first = last < 0 && base === undefined ? await found(log, options) : await log.read(0, signal)
      if (first === null)
        throw base === undefined ? new SlotMissing(0, last) : foreign(base, 'slot 0 is not there')
    }
    const start = decodeGenesis(first, machine.features)
    let fold = base ?? { ...start, slot: 0, state: machine.initial(start.genesis) }
    let mark: BlobMark | null = null
    if (base !== undefined) {
      fold = await inLog(base, log, options.newer)
      mark = log.peek?.(fold.slot) ?? null
      await checkBase(fold, start, log, machine, signal)
      if (fold !== base) options.onReopened?.(fold)
    }
    const committer = new Committer(log, machine, options, fold, mark)
    await committer.#advance(readAheadMax, signal)
    const last = await log.last(signal, committer.#head)
    if (last > committer.#head) {
      // Written since, or beyond a gap.
      await committer.#advance(readAheadMax, signal)
      if (last > committer.#head) throw new SlotMissing(committer.#head + 1, last)
    }
    // When those slots were written nobody here knows.
    committer.#others.clear()
    return committer
  }

  /** The fold of every slot up to `head`, as of the last refresh or commit. */
  get state(): S {
    return this.#state
  }

  /** The newest slot applied. */
  get head(): number {
    return this.#head
  }

  /** `state` and where it stands, for a checkpoint. */
  get fold(): Fold<S> {
    return { genesis: this.genesis, slot: this.#head, crc: this.#crc, ts: this.#ts, state: this.#state }
  }

  /**
   * The state with everything in it that was committed, by anybody, before this call. Two synchronous looks where
   * the log can peek and nothing is new.
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
   * Commits what `propose` decides, durably, in one slot with whatever else is waiting. Rejects with
   *
   * - what `propose` throws, and what applying its entry throws, on a state that holds everything committed before this
   *   call: nothing was written;
   * - `signal.reason`, as long as the bytes are not on their way to the log; from then on the outcome is awaited;
   * - invalidInput with status 413 for an entry of more than 8 MB;
   * - ConcurrentModification (14) after losing 20 slots to other writers, and 5 seconds at least: try again;
   * - kind `commit-state-unknown` (17) with the transaction id, when the log did not tell the outcome in time:
   *   a later refresh or commit shows it. It must not be committed again before that.
   * - PermissionDenied (15) when read-only, ServiceUnavailable (17) when closed or the store refuses.
   */
  commit(propose: Propose<S>, options: CommitOptions = {}): Promise<Committed<S>> {
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

  /** Commits what is queued, refuses everything else from now on. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#writing
  }

  #checkOpen(): void {
    if (this.#fatal !== null) throw this.#fatal
    if (this.#closed) throw new SheafError(ErrorCode.ServiceUnavailable, 'this root is closed')
  }

  /** From here on every call fails with `error`. */
  #stop(error: unknown): unknown {
    if (!(error instanceof SheafError)) return error
    this.#fatal ??= error
    for (const ticket of this.#queue.splice(0)) refuse(ticket, this.#fatal)
    return this.#fatal
  }

  // --- reading -------------------------------------------------------------------------------------------

  /** Whether the log surely ends with slot head: two synchronous looks, where the log can peek. */
  #isCurrent(): boolean {
    const log = this.#log
    const head = this.#head
    if (log.peek === undefined || (head === 0 && this.#newer !== undefined)) return false
    // In this order: the second look tells that the log was not trimmed past here before the first.
    if (log.peek(head + 1) !== null) return false
    const there = log.peek(head)
    return there !== null && (head === 0 || this.#isMarked(there))
  }

  #isMarked(there: BlobMark): boolean {
    return this.#mark !== null && isSameBlob(this.#mark, there)
  }

  /** One advance for all who asked before it began; who asks while one runs gets the next. */
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
   * Applies slots until one is missing. Where reading is a trip over a network, reads ahead in windows that double
   * while it is behind. Several may run at the same time: a slot another one has applied is passed over.
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
      // What was found stays what it is while the log is synced; somebody else may apply it, which is looked for below.
      await this.#sync(first, found)
      let passed = false
      for (const [i, bytes] of found.entries()) {
        const number = first + i
        const present = bytes ?? (await this.#readAgain(number, found.slice(i + 1), signal))
        if (present === null) {
          if (number === this.#head + 1) this.#lookedAt = this.#clock.elapsed()
          return
        }
        passed = present === 'trimmed'
        if (present === 'trimmed') break
        if (number === this.#head + 1) await this.#apply(present, number, pacer)
        const isMarked = mark !== null && i === found.length - 1 && number === this.#head
        if (isMarked && statedChecksum(present) === this.#crc) this.#mark = mark
      }
      if (!passed) window = Math.min(2 * window, readAheadMax)
    }
  }

  /**
   * Slots `first` and following, a window of them; where the log can peek those that are there, or whether there is one after a missing
   * one. As slots are trimmed in ascending order, all of them were of the log if the one before them is there afterwards. `mark`: which blob
   * the last of them was before it was read.
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
      const there = log.peek(first + found.length)
      if (there === null) break
      mark = there
      found.push(await log.read(first + found.length, signal))
    }
    if (found.length > 0) return { found, mark }
    const later = log.peek(first + 1) === null ? [] : [await log.read(first + 1, signal)]
    return { found: [null, ...later], mark: null }
  }

  /** Has slots made durable that were found, `first` and following, before anything is made of them. */
  async #sync(first: number, found: readonly (Uint8Array | null)[]): Promise<void> {
    const count = found.filter(bytes => bytes !== null).length
    if (count === 0 || this.#log.sync === undefined) return
    const isOwn = count === 1 && found[0] !== null && this.#group?.slot.header.slot === first
    if (isOwn && (await this.#answer) === 'won') return
    const started = this.#clock.elapsed()
    await this.#log.sync()
    this.#syncMs += (this.#clock.elapsed() - started - this.#syncMs) / 4
  }

  /** A missing slot before one that is there was written meanwhile, or trimmed, or is lost. */
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
   * Whether the log still goes back to a slot, of that checksum. It begins with slot 0 for ever: there a checkpoint tells. Any other may
   * have been trimmed, and written again by somebody else who missed that as well.
   */
  async #isThere(slot: number, crc: number, signal?: AbortSignal): Promise<boolean> {
    if (slot === 0 && ((await this.#newer?.(0)) ?? null) !== null) return false
    const there = this.#log.peek?.(slot)
    if (there === null) return false
    if (slot === 0) return there !== undefined || this.#log.has(0, undefined, signal)
    if (there !== undefined && slot === this.#head && this.#isMarked(there)) return true
    const isSame = await this.#log.has(slot, crc, signal)
    const isHead = slot === this.#head && crc === this.#crc
    if (isSame && there !== undefined && isHead) this.#mark = there
    return isSame
  }

  /**
   * Goes on from the newest checkpoint, unless that was done since slot `head` was the newest applied. Without a newer one the
   * log is damaged: throws `damage`, for good.
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
    const there = await inLog(fold, this.#log, this.#newer)
    const { genesis } = this
    const start = { genesis, ts: 0, crc: 0 }
    await checkBase(there, start, this.#log, this.#machine, undefined).catch(error => {
      throw this.#stop(error)
    })
    if (this.#head >= there.slot) return
    if (this.#group !== null && this.#group.slot.header.slot <= there.slot) this.#group.passed = true
    this.#head = there.slot
    this.#crc = there.crc
    this.#ts = there.ts
    this.#mark = null
    this.#state = there.state
    this.#onReopened?.(there)
  }

  async #apply(bytes: Uint8Array, number: number, pacer: Pacer): Promise<void> {
    if (bytes.length > largeSlotBytes || pacer.due()) await pacer.pause()
    if (number !== this.#head + 1) return
    const slot = this.#orStop(() => {
      const decoded = decodeSlot(bytes, number, this.#machine.features)
      this.#checkSuccessor(decoded)
      return decoded
    })
    const state = await this.#fold(slot, pacer)
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

  /** The state after a slot. `state` may only be set to it if it has not moved meanwhile. */
  async #fold({ header }: Slot, pacer: Pacer): Promise<S> {
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
    this.#hear(slot)
    this.slots.keep(slot)
    this.#onApplied?.(slot)
  }

  /** Notes what a slot tells about the clock of its writer: it was not there at the last look. */
  #hear({ header: { by, slot, ts, clock = ts } }: Slot): void {
    if (by === this.#by) {
      this.#lookedAt = this.#clock.elapsed()
      return
    }
    this.#others.delete(by)
    this.#others.set(by, { slot, ahead: this.#lookedAt - clock })
    if (this.#others.size > heardMax) this.#others.delete(this.#others.keys().next().value!)
  }

  /**
   * How far the clock of this process is ahead of that of another, milliseconds, as far as the slots tell which others wrote while this
   * was open; of those heard last, the one it is most ahead of. Null where no other wrote.
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
      // Callers that the last slot woke get to queue their next commit: measured 3-6 times the throughput.
      await this.#clock.yield()
      if (this.#clock.elapsed() < this.#contendedUntil) await this.#letOthersGoFirst()
      const gathered = this.#gather()
      if ('tickets' in gathered) await this.#land(gathered)
      else await this.#refuse(gathered.refused)
    }
    this.#writing = null
  }

  /**
   * Waits for as long as those before this writer need for a slot each, and again if some came but not all. Whoever
   * lets a slot's time pass without using it is not waited for.
   */
  async #letOthersGoFirst(): Promise<void> {
    // Who has just lost, and has not paused since, has just looked.
    const lost = this.#queue[0]?.lostSlots ?? 0
    let looked = lost > 0 && lost <= lostInTurnMax
    let waited = false
    try {
      for (;;) {
        const head = this.#head
        if (!looked) await this.#advance(1)
        looked = false
        if (this.#head > head) this.#expectOthers()
        else if (waited) return
        const before = this.#turns.before(this.#by)
        if (before === 0 || this.#queue.length === 0) return
        await this.#clock.sleep(Math.min((before - 0.5) * this.#turnMs, pauseMsMax), undefined, true)
        waited = true
      }
    } catch {
      // The append tells, or the queue was emptied.
    }
  }

  #expectOthers(): void {
    this.#contendedUntil = this.#clock.elapsed() + contendedSlots * this.#turnMs
  }

  /** About how long a writer takes that has just lost a slot: it syncs the slot it lost to, then writes the next one. */
  get #turnMs(): number {
    return this.#syncMs + this.#slotMs
  }

  /** The next slot out of the queue, or who was refused when nobody had anything to commit. */
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
    return { ...encodeSlot(header, texts, blobs), tickets, refused, state, lost: false, passed: false }
  }

  /**
   * Tells a refusal once the state it was decided on is known to hold everything committed before the call. (A slot that
   * was won proves that by itself.) Where there is more, the proposal is decided again.
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

  async #land(group: Group<S>): Promise<void> {
    const { slot, tickets, refused } = group
    const number = slot.header.slot
    const started = this.#clock.elapsed()
    this.#group = group
    const outcome = await this.#offer(group)
    this.#group = null
    const now = this.#clock.elapsed()
    switch (outcome.kind) {
      case 'won':
        if (group.lost && !group.passed) {
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
        this.#expectOthers()
        // Many writers without a slot yet all see themselves as first.
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

  /** Offers a group to its slot until the outcome is known, or for as long as it may stay unknown. */
  async #offer(group: Group<S>): Promise<Outcome> {
    const number = group.slot.header.slot
    const deadline = this.#clock.elapsed() + this.#unknownAfterMs
    let doubt: unknown = null
    for (let tries = 0; ; tries++) {
      let answer: 'won' | 'taken' | null = null
      try {
        const appended = this.#log.append(number, group.bytes)
        this.#answer = appended.catch(() => null)
        answer = await appended
      } catch (error) {
        if (!(error instanceof Ambiguous)) {
          const isRefused = error instanceof SheafError && doubt === null
          return isRefused ? { kind: 'refused', error } : { kind: 'unknown', cause: error }
        }
        doubt = error
      } finally {
        this.#answer = null
      }
      if (answer !== null) {
        try {
          // As long as the slot before it is there, it is the one that was written.
          const mark = this.#log.peek?.(number) ?? null
          if (answer === 'taken') await this.#advance(1)
          else if (await this.#isThere(number - 1, Number.parseInt(group.slot.header.prev, 16)))
            return { kind: 'won', mark }
          else if (this.#head < number) await this.#reopen(number - 1)
          if (group.passed)
            return (await this.#isReal(group)) ? { kind: 'won', mark: null } : { kind: 'lost' }
          if (this.#head >= number) return group.lost ? { kind: 'lost' } : { kind: 'won', mark: null }
        } catch (error) {
          if (error === this.#fatal) return { kind: 'refused', error }
          doubt = error
        }
      }
      if (group.lost && !group.passed) return { kind: 'lost' }
      if (this.#clock.elapsed() >= deadline) return { kind: 'unknown', cause: doubt }
      await this.#pause(10 * 2 ** tries)
    }
  }

  /** Whether a slot that the log was trimmed past is the one that was offered. If not, that one goes from where it lies. */
  async #isReal({ slot }: Group<S>): Promise<boolean> {
    const number = slot.header.slot
    const bytes = await this.#log.read(number)
    const there = bytes === null ? null : decodeSlot(bytes, number, this.#machine.features)
    const crc = await this.slots.crcOfTrimmed(number)
    if (crc === null) return there?.crc === slot.crc
    if (crc === slot.crc) return true
    if (there?.crc === slot.crc) await this.#log.remove(number)
    return false
  }

  /** Back to the head of the queue, in order. */
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

  /** Waits for a random part of `ms`. */
  #pause(ms: number): Promise<void> {
    return this.#clock.sleep(this.#clock.random() * Math.min(ms, pauseMsMax), undefined, true)
  }
}

function isSameSlot(a: Slot, b: Slot): boolean {
  return a.header.by === b.header.by && a.header.entries[0]!.txn === b.header.entries[0]!.txn
}

interface WrittenEntry {
  /** Read back from `text`. */
  readonly entry: Entry
  readonly text: string
  readonly textBytes: number
  /** What it adds to a slot, about. */
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
  ticket.reject(reason)
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

/** `base`, or when its slot was trimmed meanwhile, a newer one. */
async function inLog<S>(base: Fold<S>, log: CommitLog, newer: OpenOptions<S>['newer']): Promise<Fold<S>> {
  for (let fold = base; ; ) {
    if (fold.slot === 0 || (await log.has(fold.slot))) return fold
    const next = await newer?.(fold.slot)
    if (next == null) return fold
    fold = next
  }
}

/** Throws unless the slot that `base` ends with is in the log as it was when the base was made. */
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

/** Writes slot 0, or finds that somebody else has. */
async function found(log: CommitLog, options: CommitterOptions): Promise<Uint8Array> {
  if (!options.create || options.readOnly) {
    throw new SheafError(ErrorCode.NamespaceNotFound, 'there is no root here: its log is empty', {
      hint: 'create it by opening it with create: true',
    })
  }
  const { clock } = options
  const bytes = encodeGenesis({ root: clock.uuid(), format: 1 }, Math.floor(clock.now()))
  const deadline = clock.elapsed() + (options.unknownAfterMs ?? unknownAfterMs)
  for (let tries = 0; ; tries++) {
    let doubt: unknown = null
    try {
      await log.append(0, bytes)
    } catch (error) {
      if (!(error instanceof Ambiguous)) throw error
      doubt = error
    }
    const written = doubt === null ? await log.read(0) : null
    if (written !== null) return written
    if (clock.elapsed() >= deadline) {
      throw new SheafError(ErrorCode.ServiceUnavailable, 'the root could not be created in time', {
        hint: 'try again',
        cause: doubt,
      })
    }
    await clock.sleep(clock.random() * Math.min(10 * 2 ** tries, pauseMsMax), undefined, true)
  }
}

/** A slot is not there, though a later one is. */
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
  const message = `the store did not tell whether transaction ${transactionId} was committed`
  return new SheafError(ErrorCode.ServiceUnavailable, message, {
    kind: 'commit-state-unknown',
    hint: 'look the transaction up before sending it again',
    transactionId,
    cause,
  })
}
