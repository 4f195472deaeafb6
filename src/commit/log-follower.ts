/**
 * Follows the log: applies its slots to the state, and looks for new slots. Below, head is the newest applied slot.
 *
 * - `state` is the state after slot head, replayed from slot 0 or from a checkpoint. It never goes back, and it always
 *   moves by whole slots.
 * - The follower applies a slot only if its `prev` is the checksum of the slot before it.
 * - The follower decodes every slot and applies the decoded entries. If the slot is this process's own append, the
 *   follower uses the state that was computed when the slot was built, which is the same state.
 * - Old slots are trimmed. A writer that has not noticed a trim may write a trimmed slot number again. So before the
 *   follower applies slot N+1, or regards it as not written, it checks that slot N exists and still has the same
 *   checksum. If not, the log was trimmed past slot N, and the follower continues from the newest checkpoint.
 * - If the log keeps the names of trimmed slots (`trimmedTo`), this check is not necessary: a read of slot N+1 tells whether
 *   it was trimmed.
 * - The state never includes a slot that is not durable. The follower syncs the log before it applies slots of other
 *   writers. It does not sync a slot of this process's own append: it waits until the append reports that the slot is
 *   durable.
 * - If a slot is torn, comes from another log, needs a newer Sheaf, or does not follow its predecessor, the follower
 *   stops for good. It also stops before a slot that says that the log was moved (log-moves.ts).
 *
 * The follower does not use the queue or the appender. It reports the outcome of a running append through `OwnAppend`.
 */
import { corrupted, ErrorCode, SheafError } from '../errors.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import { type BlobMark, isSameBlob } from '../storage/blob-store.js'
import type { CommitLog, SlotRun } from './commit-log.js'
import { fenceOf, movedAway } from './log-moves.js'
import type { Genesis, LogEnd, Machine } from './machine.js'
import { readSlots } from './read-slots.js'
import { applyEntry, checkSuccessor } from './replay-slot.js'
import {
  baseInLog,
  type CheckpointOptions,
  checkBase,
  probes,
  type ReplayStart,
  SlotMissing,
} from './replay-start.js'
import { decodeSlot, type Slot, statedChecksum } from './slot.js'
import type { Slots } from './slots.js'
import { Turns } from './turns.js'
import { WriterClocks } from './writer-clocks.js'

interface FollowerOptions<S> extends Pick<CheckpointOptions<S>, 'newer' | 'onReopened'> {
  readonly clock: Clock
  /** The random id of this committer, which is in every slot that it writes. */
  readonly by: string
  /** The reader of slots. The follower puts applied slots into its cache. */
  readonly slots: Slots
  /** Called for every applied slot, in order, immediately after `state` includes the slot. Must not throw. */
  readonly onApplied?: ((slot: Slot, state: S) => void) | undefined
  /** Age in milliseconds of what the log answers during `replay`. Default 0. */
  readonly ageMs?: number | undefined
  /** Called when slot `head` was certainly the newest one `ageMs` milliseconds ago. Must not throw. */
  readonly onEnd?: ((head: number, ageMs: number) => void) | undefined
  /** Called for the fence of a move of the log, instead of stopping there. Must not throw. */
  readonly onFence?: ((fence: Slot) => void) | undefined
  /** Called when the follower stops for good, before the error is thrown. Must not throw. */
  readonly onStopped: (error: SheafError) => void
}

/** A running append of this process. The appender sets `answer`. The follower sets `isLost` and `isTrimmedPast`. */
export interface OwnAppend<S> {
  readonly slot: Slot
  /** The state after the slot. */
  readonly state: S
  /** The answer of the log to the append. Resolves to null if the outcome is unknown. Null between two attempts. */
  answer: Promise<'won' | 'taken' | null> | null
  /** Whether the follower found another writer's slot under the number of this slot. */
  isLost: boolean
  /** Whether the log was trimmed past the number of this slot. */
  isTrimmedPast: boolean
}

/** Maximum number of slots that are read concurrently. */
const readAheadMax = 64
/** Before the follower applies a slot with more bytes than this, it yields to the event loop. */
const largeSlotBytes = 64 * 1024

/** Replays the log and follows it. See the head of this file. */
export class LogFollower<S> implements LogEnd<S> {
  readonly genesis: Genesis
  readonly slots: Slots
  /** The order of the writers of the newest slots. */
  readonly turns = new Turns()
  readonly #log: CommitLog
  readonly #machine: Machine<S>
  readonly #clock: Clock
  readonly #clocks: WriterClocks
  readonly #newer: FollowerOptions<S>['newer']
  readonly #onApplied: FollowerOptions<S>['onApplied']
  readonly #onReopened: FollowerOptions<S>['onReopened']
  readonly #onFence: FollowerOptions<S>['onFence']
  readonly #onStopped: FollowerOptions<S>['onStopped']
  readonly #onEnd: FollowerOptions<S>['onEnd']
  /** As in `ReplayStart`. */
  readonly #movedAt: number
  #head: number
  #crc: number
  #ts: number
  #state: S
  /**
   * The mark of head's blob; null if it is unknown or if the log has no `peek`. If a writer that missed a trim writes
   * the slot again, the new blob has another mark.
   */
  #mark: BlobMark | null
  /** The running append of this process; null if there is none. */
  #append: OwnAppend<S> | null = null
  #syncMs = 0
  /** The time on the monotonic clock when head was certainly the last slot; -Infinity: unknown. */
  #endAt = Number.NEGATIVE_INFINITY
  /** Age in milliseconds of what the log answers now. */
  #answerAgeMs: number
  #refreshing: Promise<void> | null = null
  #nextRefresh: Promise<void> | null = null
  #reopening: Promise<void> | null = null
  #failure: SheafError | null = null

  /** Call `replay` before any other method. */
  constructor(
    log: CommitLog,
    machine: Machine<S>,
    { fold, mark, movedAt }: ReplayStart<S>,
    {
      clock,
      by,
      slots,
      newer,
      onApplied,
      onReopened,
      onFence,
      onStopped,
      onEnd,
      ageMs = 0,
    }: FollowerOptions<S>,
  ) {
    this.genesis = fold.genesis
    this.slots = slots
    this.#log = log
    this.#machine = machine
    this.#clock = clock
    this.#clocks = new WriterClocks(clock, by)
    this.#newer = newer
    this.#onApplied = onApplied
    this.#onReopened = onReopened
    this.#onFence = onFence
    this.#onStopped = onStopped
    this.#onEnd = onEnd
    this.#answerAgeMs = ageMs
    this.#movedAt = movedAt
    this.#head = fold.slot
    this.#crc = fold.crc
    this.#ts = fold.ts
    this.#state = fold.state
    this.#mark = mark
  }

  get state(): S {
    return this.#state
  }

  get head(): number {
    return this.#head
  }

  get crc(): number {
    return this.#crc
  }

  get ts(): number {
    return this.#ts
  }

  /** The maximum time by which the clock of this process is ahead of other writers' clocks (writer-clocks.ts). */
  get ahead(): { readonly ms: number; readonly slot: number } | null {
    return this.#clocks.ahead
  }

  /** Estimated duration of a sync of the log in milliseconds; 0 before the first sync. */
  get syncMs(): number {
    return this.#syncMs
  }

  /** Milliseconds since the state was certainly the newest one. */
  get ageMs(): number {
    return this.#clock.elapsed() - this.#endAt
  }

  /** The error that stopped the follower; null while it works. */
  get failure(): SheafError | null {
    return this.#failure
  }

  /**
   * Apply all slots of the log. `next`: slots after head, if the caller has read them. `listed`: the last slot of the log,
   * if the caller has listed it. `begun`: the time on the monotonic clock before any slot was read. Throws `SlotMissing` if
   * a slot is missing and a later slot exists.
   */
  async replay(
    next: SlotRun | null,
    listed: number | undefined,
    begun: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const keepsNames = this.#log.trimmedTo !== undefined
    await this.advance(keepsNames ? probes : readAheadMax, signal, next)
    // In a log that keeps names, a missing slot was never written, and a listing has all slots that ever were.
    const last = listed ?? (keepsNames ? this.#head : await this.#log.last(signal, this.#head))
    if (last > this.#head) {
      // Either the slots up to `last` were written after `advance` ended, or a slot before them is missing.
      await this.advance(readAheadMax, signal)
      if (last > this.#head) throw new SlotMissing(this.#head + 1, last)
    }
    // The times when the replayed slots were written are unknown, so these slots do not help to compare clocks.
    this.#clocks.forget()
    this.#noteEnd(begun - this.#answerAgeMs)
    this.#answerAgeMs = 0
  }

  /** Note that head was the last slot at the time `at` on the monotonic clock. */
  #noteEnd(at: number): void {
    this.#endAt = Math.max(this.#endAt, at)
    if (this.#endAt > Number.NEGATIVE_INFINITY) this.#onEnd?.(this.#head, this.ageMs)
  }

  /**
   * Return whether slot head is certainly the last slot. Costs two synchronous calls of `peek`. Returns false if the
   * log has no `peek`.
   */
  isCurrent(): boolean {
    const log = this.#log
    const head = this.#head
    if (log.peek === undefined || (head === 0 && this.#newer !== undefined)) return false
    // Keep this order. If head still exists after head+1 was missing, head+1 is not written yet: it was not trimmed.
    if (log.peek(head + 1) !== null) return false
    const mark = log.peek(head)
    if (mark === null || (head > 0 && !this.#isMarked(mark))) return false
    this.#clocks.noteEnd()
    return true
  }

  /** Return whether the log certainly has a slot after head. Costs one synchronous call of `peek`. */
  isBehind(): boolean {
    return (this.#log.peek?.(this.#head + 1) ?? null) !== null
  }

  #isMarked(mark: BlobMark): boolean {
    return this.#mark !== null && isSameBlob(this.#mark, mark)
  }

  /**
   * Apply new slots. A call during a running `advance` cannot use its result, because the `advance` may have read the
   * end of the log before the call. All such calls share the next `advance`.
   */
  refresh(): Promise<void> {
    if (this.#refreshing === null) {
      this.#refreshing = this.advance(1).finally(() => {
        this.#refreshing = null
      })
      return this.#refreshing
    }
    this.#nextRefresh ??= this.#refreshing
      .catch(() => {})
      .then(() => {
        this.#nextRefresh = null
        return this.#refreshing ?? this.refresh()
      })
    return this.#nextRefresh
  }

  /**
   * Apply slots until the next slot is missing. Reads `window` slots together, and then twice as many each time, up to
   * 64. Several calls may run at the same time: each call skips slots that another call has applied. `next`: the slots
   * after head, if they were read already.
   */
  async advance(window: number, signal?: AbortSignal, next: SlotRun | null = null): Promise<void> {
    const pacer = new Pacer(signal, this.#clock)
    for (let begun = next; ; begun = null) {
      const first = this.#head + 1
      const crc = this.#crc
      // Slots that were read before this call tell nothing about the time.
      const readAt = begun === null ? this.#clock.elapsed() - this.#answerAgeMs : Number.NEGATIVE_INFINITY
      const { found, mark, before } = begun ?? (await readSlots(this.#log, first, window, signal))
      // Slots after slot 0 may have been trimmed. `isThere` finds out.
      const isKnown = before !== undefined && first > 1
      if (isKnown ? before !== crc : !(await this.isThere(first - 1, crc, signal))) {
        await this.reopen(first - 1)
        continue
      }
      // While the log is synced, the slots that were read do not change, but another call may apply them. So the loop
      // below compares each number with head.
      await this.#sync(first, found)
      let wasTrimmed = false
      for (const [i, bytes] of found.entries()) {
        const number = first + i
        const present = bytes ?? (await this.#readAgain(number, found.slice(i + 1), signal))
        if (present === null) {
          if (number === this.#head + 1) {
            this.#clocks.noteEnd()
            this.#noteEnd(readAt)
          }
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
   * Make the slots that were read durable before they are applied. `found`: the slots from `first` on; null for a
   * missing slot.
   */
  async #sync(first: number, found: readonly (Uint8Array | null)[]): Promise<void> {
    const count = found.filter(bytes => bytes !== null).length
    if (count === 0 || this.#log.sync === undefined) return
    const append = this.#append
    const isOwn = count === 1 && found[0] !== null && append?.slot.header.slot === first
    if (isOwn && (await append.answer) === 'won') return
    const started = this.#clock.elapsed()
    await this.#log.sync()
    this.#syncMs += (this.#clock.elapsed() - started - this.#syncMs) / 4
  }

  /**
   * Handle a missing slot. If no later slot exists, the log ends before this slot: return null. Otherwise the slot was
   * written after the first read, or was trimmed, or is lost. So read it again and return its bytes. If it is still
   * missing, continue from a checkpoint and return 'trimmed'.
   */
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
    await this.reopen(number - 1, new SlotMissing(number, number + 1 + next))
    return 'trimmed'
  }

  /**
   * Return whether the log still contains slot `slot` with the checksum `crc`. A slot may have been trimmed, and then
   * written again by a writer that missed the trim.
   *
   * Slot 0 is never trimmed. So for slot 0, return false if a checkpoint exists, because then the slots after slot 0
   * may have been trimmed.
   *
   * If the log keeps the names of trimmed slots, return whether no later slot was found trimmed.
   */
  async isThere(slot: number, crc: number, signal?: AbortSignal): Promise<boolean> {
    const { trimmedTo } = this.#log
    if (trimmedTo !== undefined) return trimmedTo <= slot
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
   * Continue from the newest checkpoint, unless the follower has already moved past slot `head`. If no newer checkpoint
   * exists, the log is damaged: stop the follower and throw `damage`.
   */
  reopen(head: number, damage?: SheafError): Promise<void> {
    this.#reopening ??= this.#reopenFrom(head, damage).finally(() => {
      this.#reopening = null
    })
    return this.#reopening
  }

  async #reopenFrom(head: number, damage: SheafError | undefined): Promise<void> {
    const fold = this.#head > head ? null : await this.#newer?.(head)
    if (this.#head > head) return
    if (fold == null) {
      throw this.stop(
        damage ??
          corrupted(`slot ${head} no longer exists: the root was removed or replaced while it was open`),
      )
    }
    const base = await baseInLog(fold, this.#log, this.#newer)
    const start = { genesis: this.genesis, crc: 0 }
    await checkBase(base, start, this.#log, this.#machine).catch(error => {
      // If the store refused a read, the next call tries again.
      const isRefused = error instanceof SheafError && error.code === ErrorCode.ServiceUnavailable
      throw isRefused ? error : this.stop(error)
    })
    if (this.#head >= base.slot) return
    const append = this.#append
    if (append !== null && append.slot.header.slot <= base.slot) append.isTrimmedPast = true
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
      checkSuccessor(decoded, this)
      this.#stopAtFence(decoded)
      return decoded
    })
    const state = await this.#replaySlot(slot, pacer)
    if (number !== this.#head + 1) return
    const append = this.#append?.slot.header.slot === number ? this.#append : null
    const isOwn = append !== null && isSameSlot(slot, append.slot)
    if (append !== null) append.isLost = !isOwn
    this.install(slot, isOwn ? append.state : state, null)
  }

  /** Throw if the slot says that the log was moved to another one. */
  #stopAtFence(slot: Slot): void {
    const fence = slot.header.slot > this.#movedAt ? fenceOf(slot) : null
    if (fence !== null && this.#onFence === undefined) throw movedAway(fence)
  }

  /** Compute the state after a slot. The caller must check that head did not change while this method ran. */
  async #replaySlot({ header }: Slot, pacer: Pacer): Promise<S> {
    let state = this.#state
    for (const [index, entry] of header.entries.entries()) {
      if (pacer.due()) await pacer.pause()
      state = this.#orStop(() => applyEntry(this.#machine, state, entry, header, index))
    }
    return state
  }

  /** Move to slot head+1. `state`: the state after the slot. `mark`: the mark of the slot's blob; null if unknown. */
  install(slot: Slot, state: S, mark: BlobMark | null): void {
    this.#head = slot.header.slot
    this.#crc = slot.crc
    this.#ts = slot.header.ts
    this.#mark = mark
    this.#state = state
    this.turns.note(slot.header.by, slot.header.slot)
    this.#clocks.note(slot.header)
    this.slots.keep(slot)
    if (slot.header.slot > this.#movedAt && fenceOf(slot) !== null) this.#onFence?.(slot)
    this.#onApplied?.(slot, state)
  }

  /** Set the running append of this process; null when it has ended. At most one append runs at a time. */
  expect(append: OwnAppend<S> | null): void {
    this.#append = append
  }

  /** Stop for good if `error` is a SheafError. Other errors do not stop the follower. Returns the error to throw. */
  stop(error: unknown): unknown {
    if (!(error instanceof SheafError)) return error
    this.#failure ??= error
    this.#onStopped(this.#failure)
    return this.#failure
  }

  #orStop<T>(run: () => T): T {
    try {
      return run()
    } catch (error) {
      throw this.stop(error)
    }
  }
}

function isSameSlot(a: Slot, b: Slot): boolean {
  return a.header.by === b.header.by && a.header.entries[0]!.txn === b.header.entries[0]!.txn
}
