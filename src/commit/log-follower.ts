/**
 * Follows the log: replays slots into state, and looks for new ones.
 *
 * - `state` is the result of slots 1 to head, replayed from slot 0 or from a checkpoint. It only moves forward, a whole
 *   slot at a time.
 * - Each applied slot names the checksum of its predecessor.
 * - The follower applies entries as read back from their bytes. If a slot is this process's own append, the state that
 *   was decided with the slot is the same, and is used.
 * - Slots are trimmed when checkpoints made them dispensable, and a writer that missed the trim may write such a slot
 *   again. So whenever the follower applies or misses slot N+1, it checks that slot N is present and the same. If not,
 *   the log was trimmed past slot N, and the follower continues from the newest checkpoint.
 * - The state never holds a slot whose name may not be durable yet. A follower that finds such a slot has the log
 *   synced before it applies the slot. The slot of this process's append is not synced: the follower waits for the
 *   answer to the append.
 * - A slot that is torn, foreign, too new, or does not follow its predecessor stops the follower for good.
 *
 * The follower knows nothing of the queue and the appender. It tells an append under way what became of its slot
 * (`OwnAppend`).
 */
import { corrupted, SheafError } from '../errors.js'
import type { Clock } from '../primitives/clock.js'
import { Pacer } from '../primitives/pacer.js'
import { type BlobMark, isSameBlob } from '../storage/blob-store.js'
import type { CommitLog } from './commit-log.js'
import type { Genesis, LogEnd, Machine } from './machine.js'
import { readSlots } from './read-slots.js'
import { applyEntry, checkSuccessor } from './replay-slot.js'
import {
  baseInLog,
  type CheckpointOptions,
  checkBase,
  type ReplayStart,
  SlotMissing,
} from './replay-start.js'
import { decodeSlot, type Slot, statedChecksum } from './slot.js'
import type { Slots } from './slots.js'
import { Turns } from './turns.js'
import { WriterClocks } from './writer-clocks.js'

interface FollowerOptions<S> extends Pick<CheckpointOptions<S>, 'newer' | 'onReopened'> {
  readonly clock: Clock
  /** The nonce of this process's writer. */
  readonly by: string
  /** The cache of slots. */
  readonly slots: Slots
  /** Called for every applied slot, in order, right after `state` includes the slot. Must not throw. */
  readonly onApplied?: ((slot: Slot) => void) | undefined
  /** Called when the follower stops for good, before the error is thrown. Must not throw. */
  readonly onStopped: (error: SheafError) => void
}

/** An append of this process that is under way. The appender sets `answer`, the follower sets `isLost` and `isTrimmedPast`. */
export interface OwnAppend<S> {
  readonly slot: Slot
  /** The state after the slot. */
  readonly state: S
  /** The log's answer; resolves to null if the outcome is unknown. Null while the log is not asked. */
  answer: Promise<'won' | 'taken' | null> | null
  /** Whether another writer's slot was found under its number. */
  isLost: boolean
  /** Whether the log was trimmed past its number. */
  isTrimmedPast: boolean
}

/** Slots requested at a time if each read is a network request. */
const readAheadMax = 64
/** Before applying a slot of more bytes, let the event loop run. */
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
  readonly #onStopped: FollowerOptions<S>['onStopped']
  #head: number
  #crc: number
  #ts: number
  #state: S
  /**
   * The mark of head's blob, if the log has `peek` and the mark is known. A writer that missed a trim may write a
   * trimmed slot again: its mark differs.
   */
  #mark: BlobMark | null
  /** The append of this process that is under way; null if none. */
  #append: OwnAppend<S> | null = null
  #syncMs = 0
  #refreshing: Promise<void> | null = null
  #nextRefresh: Promise<void> | null = null
  #reopening: Promise<void> | null = null
  #failure: SheafError | null = null

  /** Call `replay` before anything else. */
  constructor(
    log: CommitLog,
    machine: Machine<S>,
    { fold, mark }: ReplayStart<S>,
    { clock, by, slots, newer, onApplied, onReopened, onStopped }: FollowerOptions<S>,
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
    this.#onStopped = onStopped
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

  /** How far the clock of this process is ahead of other writers' clocks (writer-clocks.ts). */
  get ahead(): { readonly ms: number; readonly slot: number } | null {
    return this.#clocks.ahead
  }

  /** Estimated duration of syncing other writers' slots, milliseconds; 0 before the first sync. */
  get syncMs(): number {
    return this.#syncMs
  }

  /** The error that stopped the follower; null if it works. */
  get failure(): SheafError | null {
    return this.#failure
  }

  /** Apply all slots of the log. Throws `SlotMissing` when one is missing before the last. */
  async replay(signal: AbortSignal | undefined): Promise<void> {
    await this.advance(readAheadMax, signal)
    const last = await this.#log.last(signal, this.#head)
    if (last > this.#head) {
      // These slots were written since `advance` ended, or lie beyond a gap.
      await this.advance(readAheadMax, signal)
      if (last > this.#head) throw new SlotMissing(this.#head + 1, last)
    }
    // It is not known when the replayed slots were written, so they tell nothing about clocks.
    this.#clocks.forget()
  }

  /** Return whether the log certainly ends with slot head: two synchronous stats. Always false if the log has no `peek`. */
  isCurrent(): boolean {
    const log = this.#log
    const head = this.#head
    if (log.peek === undefined || (head === 0 && this.#newer !== undefined)) return false
    // The order matters: the second look proves that the log was not trimmed past head before the first look.
    if (log.peek(head + 1) !== null) return false
    const mark = log.peek(head)
    if (mark === null || (head > 0 && !this.#isMarked(mark))) return false
    this.#clocks.noteEnd()
    return true
  }

  #isMarked(mark: BlobMark): boolean {
    return this.#mark !== null && isSameBlob(this.#mark, mark)
  }

  /**
   * Apply the slots that are new. Callers that asked before an `advance` began share it. Callers that ask while it runs
   * share the next one.
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
   * Apply slots until one is missing. If each read is a network request, read ahead in windows that double, from
   * `window` on. Several calls may run at the same time: each skips slots that another call has applied.
   */
  async advance(window: number, signal?: AbortSignal): Promise<void> {
    const pacer = new Pacer(signal, this.#clock)
    for (;;) {
      const first = this.#head + 1
      const crc = this.#crc
      const { found, mark } = await readSlots(this.#log, first, window, signal)
      if (!(await this.isThere(first - 1, crc, signal))) {
        await this.reopen(first - 1)
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
          if (number === this.#head + 1) this.#clocks.noteEnd()
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

  /** Make the slots that were read durable, before anything is based on them. */
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
    await this.reopen(number - 1, new SlotMissing(number, number + 1 + next))
    return 'trimmed'
  }

  /**
   * Return whether the log still contains slot `slot` with checksum `crc`. Slot 0 is never trimmed, so for slot 0 a
   * newer checkpoint tells. Any other slot may have been trimmed, and then written again by a writer that missed the
   * trim.
   */
  async isThere(slot: number, crc: number, signal?: AbortSignal): Promise<boolean> {
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
   * Continue from the newest checkpoint, unless the follower already moved past slot `head`. If there is no newer
   * checkpoint, the log is damaged: throws `damage` and stops the follower.
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
        damage ?? corrupted(`slot ${head} is gone: the root was removed or replaced while it was open`),
      )
    }
    const base = await baseInLog(fold, this.#log, this.#newer)
    const start = { genesis: this.genesis, crc: 0 }
    await checkBase(base, start, this.#log, this.#machine).catch(error => {
      throw this.stop(error)
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
      return decoded
    })
    const state = await this.#replaySlot(slot, pacer)
    if (number !== this.#head + 1) return
    const append = this.#append?.slot.header.slot === number ? this.#append : null
    const isOwn = append !== null && isSameSlot(slot, append.slot)
    if (append !== null) append.isLost = !isOwn
    this.install(slot, isOwn ? append.state : state, null)
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

  /** Move to slot head+1. `state`: the state after the slot. `mark`: the mark of its blob; null if unknown. */
  install(slot: Slot, state: S, mark: BlobMark | null): void {
    this.#head = slot.header.slot
    this.#crc = slot.crc
    this.#ts = slot.header.ts
    this.#mark = mark
    this.#state = state
    this.turns.note(slot.header.by, slot.header.slot)
    this.#clocks.note(slot.header)
    this.slots.keep(slot)
    this.#onApplied?.(slot)
  }

  /** Note that an append of this process begins, or with null, that it ended. At most one runs at a time. */
  expect(append: OwnAppend<S> | null): void {
    this.#append = append
  }

  /** Stop for good with `error`, unless it comes from outside of Sheaf. Returns the error to throw. */
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
