/**
 * Appends the slots of this process to the log, one at a time, and tells the queue (commit-queue.ts) the outcome of
 * each. Below, head is the newest slot that the follower (log-follower.ts) has applied.
 *
 * - The appender tries to write slot head+1 only. If it wins this slot, no other writer committed after the state on
 *   which the slot was decided.
 * - A writer that lost a slot lets longer-waiting writers append first (turns.ts), and reads the log before it retries.
 *   A writer without competitors never waits.
 * - The answer `taken` does not prove that another writer won the slot: the reply to an earlier attempt of this process
 *   may have been lost. So the follower reads the slot and compares it with the slot that the appender tried to write.
 * - If the outcome of an append is unknown, the appender tries to write the same bytes again, but only under the same
 *   slot number. So a transaction can be in the log only once. After the time for retries, the next group of commits
 *   may be written under this number. The store accepts only the first bytes.
 * - A writer that has not noticed a trim may win a slot number that was already used and trimmed. So after the appender
 *   wins slot N+1, it checks that slot N exists and still has the expected checksum. If not, the log was trimmed past
 *   slot N. Then the slot that the appender won is not part of the log, and the appender deletes it (STORAGE S16). An
 *   append to the tail of this process includes this check: the tail still exists, so slot N does.
 * - The appender writes slot N+1 only when slot N is durable. The follower guarantees this: it syncs slots of other
 *   writers before it applies them.
 * - A commit is refused only on a state that includes every transaction that was committed before the call.
 */
import { corrupted, ErrorCode, SheafError } from '../errors.js'
import type { Clock } from '../primitives/clock.js'
import { Ambiguous, type BlobMark } from '../storage/blob-store.js'
import type { CommitLog } from './commit-log.js'
import { accept, type CommitQueue, type Group, type Refusal, refuse } from './commit-queue.js'
import type { LogFollower } from './log-follower.js'
import { decodeSlot, encodeGenesis, type Slot } from './slot.js'
import { formatTransactionId } from './transaction-id.js'

interface AppenderOptions {
  readonly clock: Clock
  /** A random id of this committer, which is stored in every slot that the appender writes. */
  readonly by: string
  /** Maximum time to retry an append with an unknown outcome, in milliseconds. */
  readonly unknownAfterMs: number
  /** The features that this build supports. A slot lists the features that its readers need in `need`. */
  readonly features: ReadonlySet<string>
}

/** After a commit has lost this many slots, its writer also waits for a random time. */
const lostInTurnMax = 12
/** After another writer's slot was found, writers take turns for this many times the duration of a turn. */
const contendedSlots = 32
const pauseMsMax = 1000
/** A writer starts a tail after it has won this many slots in a row. */
const aloneSlots = 3

type Outcome =
  /** `mark`: identifies the slot's blob; null if unknown. */
  | { readonly kind: 'won'; readonly mark: BlobMark | null }
  | { readonly kind: 'lost' }
  /** The store wrote nothing. */
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'unknown'; readonly cause: unknown }

/** Appends the queued commits to the log. See the head of this file. */
export class Appender<S> {
  readonly #log: CommitLog
  readonly #follower: LogFollower<S>
  readonly #queue: CommitQueue<S>
  readonly #options: AppenderOptions
  readonly #clock: Clock
  /** Estimated duration of an append, milliseconds. */
  #slotMs = 1
  /** The time, on the monotonic clock, until which this writer assumes that other writers compete for slots. */
  #contendedUntil = 0
  #writing: Promise<void> | null = null
  /** Whether other commits were in the slot that was written last, or waited for its outcome. */
  #hadOthers = true

  constructor(log: CommitLog, follower: LogFollower<S>, queue: CommitQueue<S>, options: AppenderOptions) {
    this.#log = log
    this.#follower = follower
    this.#queue = queue
    this.#options = options
    this.#clock = options.clock
  }

  /** Begin to write the queued commits, unless the appender is already writing. */
  start(): void {
    this.#writing ??= this.#write()
  }

  /** Wait until every queued commit is written or refused. */
  async finish(): Promise<void> {
    await this.#writing
  }

  async #write(): Promise<void> {
    while (this.#queue.size > 0) {
      // Callers may queue several commits before the first of them is decided.
      await null
      // Yield first, so that callers whose commits just resolved can queue their next commits for the same slot.
      // Measured: 3 to 6 times the throughput.
      if (!this.#hasOneCaller()) await this.#clock.yield()
      if (this.#clock.elapsed() < this.#contendedUntil) await this.#waitForTurn()
      const gathered = this.#queue.gather(this.#follower, this.#options.by, this.#startsTail())
      if ('tickets' in gathered) await this.#appendGroup(gathered)
      else await this.#refuse(gathered.refused)
    }
    this.#writing = null
  }

  /**
   * Return whether one caller probably commits alone. Only with a tail, because its sync lets other work of the event
   * loop run.
   */
  #hasOneCaller(): boolean {
    const isInTail = (this.#log.markOfOwn?.(this.#follower.head) ?? null) !== null
    return isInTail && !this.#hadOthers && this.#queue.size === 1
  }

  /** Return whether the next slot shall have a tail: this writer has met no other one for some slots. */
  #startsTail(): boolean {
    const isAlone = this.#follower.turns.runOf(this.#options.by) >= aloneSlots
    return isAlone && this.#clock.elapsed() >= this.#contendedUntil && this.#log.startsTail?.() === true
  }

  /**
   * Wait until every writer that comes before this one has had time to write a slot. If only some of them wrote a slot,
   * wait again. If none of them did, stop waiting.
   */
  async #waitForTurn(): Promise<void> {
    const follower = this.#follower
    // Do not read the log again if the first commit has just lost a slot, because the log was read then. Above
    // `lostInTurnMax` the writer has paused since then, so read it.
    const lost = this.#queue.lostSlots
    let looked = lost > 0 && lost <= lostInTurnMax
    let waited = false
    try {
      for (;;) {
        const { head } = follower
        if (!looked) await follower.advance(1)
        looked = false
        if (follower.head > head) this.#keepTurns()
        else if (waited) return
        const before = follower.turns.before(this.#options.by)
        if (before === 0 || this.#queue.size === 0) return
        await this.#clock.sleep(Math.min((before - 0.5) * this.#turnMs, pauseMsMax), undefined, true)
        waited = true
      }
    } catch {
      // Ignore the error. If it stopped the follower, the queue is empty now. Otherwise the next append reports it.
    }
  }

  #keepTurns(): void {
    this.#contendedUntil = this.#clock.elapsed() + contendedSlots * this.#turnMs
  }

  /**
   * Estimated duration of one writer's turn, in milliseconds: the time to sync a slot of another writer and to write
   * the next slot.
   */
  get #turnMs(): number {
    return this.#follower.syncMs + this.#slotMs
  }

  /**
   * Reject commits that were refused. First make sure that the state on which they were refused includes everything
   * that was committed before the calls. If the log has newer slots, the commits are decided again. A slot that is won
   * needs no such check.
   */
  async #refuse(refusals: readonly Refusal<S>[]): Promise<void> {
    const follower = this.#follower
    // These commits wait for no sync. So the next one lets other work of the event loop run.
    this.#hadOthers = true
    const { head } = follower
    try {
      const isFresh = refusals.every(({ ticket }) => ticket.isFresh)
      if (!isFresh && !follower.isCurrent()) await follower.advance(1)
    } catch (error) {
      for (const { ticket } of refusals) refuse(ticket, error)
      return
    }
    this.#queue.refuse(refusals, follower.head !== head)
  }

  async #appendGroup(group: Group<S>): Promise<void> {
    const { slot, tickets, refused } = group
    const number = slot.header.slot
    const started = this.#clock.elapsed()
    this.#follower.expect(group)
    const outcome = await this.#offer(group)
    this.#follower.expect(null)
    this.#hadOthers = tickets.length > 1 || this.#queue.size > 0
    const now = this.#clock.elapsed()
    switch (outcome.kind) {
      case 'won':
        if (group.isLost && !group.isTrimmedPast) {
          const error = this.#follower.stop(
            corrupted(
              `slot ${number} has another writer's entries, although the store reported that this process wrote it`,
            ),
          )
          for (const ticket of tickets) refuse(ticket, error)
          for (const { ticket } of refused) refuse(ticket, error)
          return
        }
        if (this.#follower.head < number) this.#follower.install(slot, group.state, outcome.mark)
        this.#slotMs += (Math.min(now - started, 2 * this.#slotMs) - this.#slotMs) / 4
        tickets.forEach((ticket, entry) => {
          accept(ticket, slot, group.state, entry)
        })
        for (const { ticket, error } of refused) refuse(ticket, error)
        return
      case 'lost':
        this.#queue.requeue([...tickets, ...refused.map(({ ticket }) => ticket)])
        this.#slotMs = Math.max(this.#slotMs, Math.min(now - started, 2 * this.#slotMs))
        this.#keepTurns()
        // Writers without a recent slot all come first in the order. A random pause separates them.
        if (tickets[0]!.lostSlots > lostInTurnMax)
          await pause(this.#clock, this.#follower.turns.writers * this.#turnMs)
        return
      case 'refused':
        for (const ticket of tickets) refuse(ticket, outcome.error)
        this.#queue.requeue(refused.map(({ ticket }) => ticket))
        return
      case 'unknown':
        for (const ticket of tickets) refuse(ticket, unknown(ticket.txn, number, outcome.cause))
        this.#queue.requeue(refused.map(({ ticket }) => ticket))
    }
  }

  /** Write the slot of a group of commits. Retry until the outcome is known or `unknownAfterMs` is over. */
  async #offer(group: Group<S>): Promise<Outcome> {
    const follower = this.#follower
    const number = group.slot.header.slot
    const deadline = this.#clock.elapsed() + this.#options.unknownAfterMs
    let ambiguity: unknown = null
    for (let tries = 0; ; tries++) {
      let answer: 'won' | 'taken' | null = null
      try {
        const appended = this.#log.append(number, group.bytes)
        group.answer = appended.catch(() => null)
        answer = await appended
      } catch (error) {
        if (!(error instanceof Ambiguous)) {
          const isRefused = error instanceof SheafError && ambiguity === null
          return isRefused ? { kind: 'refused', error } : { kind: 'unknown', cause: error }
        }
        ambiguity = error
      } finally {
        group.answer = null
      }
      if (answer === 'won') {
        const mark = this.#log.markOfOwn?.(number) ?? null
        if (mark !== null) return { kind: 'won', mark }
      }
      if (answer !== null) {
        try {
          // Look at the mark before checking the previous slot. If the previous slot still exists, the log was not
          // trimmed, so the mark is that of the slot that was just written.
          const mark = this.#log.peek?.(number) ?? null
          if (answer === 'taken') await follower.advance(1)
          else if (await follower.isThere(number - 1, Number.parseInt(group.slot.header.prev, 16)))
            return { kind: 'won', mark }
          else if (follower.head < number) await follower.reopen(number - 1)
          if (group.isTrimmedPast)
            return (await this.#isReal(group.slot)) ? { kind: 'won', mark: null } : { kind: 'lost' }
          if (follower.head >= number) return group.isLost ? { kind: 'lost' } : { kind: 'won', mark: null }
        } catch (error) {
          // The slot may be committed although the follower stopped at a later one.
          const isThere = follower.head >= number && !group.isLost && !group.isTrimmedPast
          if (isThere) return { kind: 'won', mark: null }
          if (error === follower.failure) return { kind: 'refused', error }
          ambiguity = error
        }
      }
      if (group.isLost && !group.isTrimmedPast) return { kind: 'lost' }
      if (this.#clock.elapsed() >= deadline) return { kind: 'unknown', cause: ambiguity }
      await pause(this.#clock, 10 * 2 ** tries)
    }
  }

  /**
   * Return whether the slot that the appender tried to write is part of the log, after the log was trimmed past its
   * number. If the log had another slot with this number, delete the slot that the appender wrote by mistake.
   */
  async #isReal(slot: Slot): Promise<boolean> {
    const number = slot.header.slot
    const bytes = await this.#log.read(number)
    const stored = bytes === null ? null : decodeSlot(bytes, number, this.#options.features)
    const crc = await this.#follower.slots.crcOfTrimmed(number)
    if (crc === null) return stored?.crc === slot.crc
    if (crc === slot.crc) return true
    if (stored?.crc === slot.crc) await this.#log.remove(number)
    return false
  }
}

/**
 * Write slot 0, and return the bytes of slot 0 in the log. Another writer may have written it. `root`: the id of the root.
 * Throws ServiceUnavailable if the outcome is unknown after `unknownAfterMs` milliseconds.
 */
export async function createGenesis(
  log: CommitLog,
  clock: Clock,
  unknownAfterMs: number,
  root = clock.uuid(),
): Promise<Uint8Array> {
  const bytes = encodeGenesis({ root, format: 1 }, Math.floor(clock.now()))
  const deadline = clock.elapsed() + unknownAfterMs
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
      throw new SheafError(
        ErrorCode.ServiceUnavailable,
        `the root could not be created within ${unknownAfterMs} ms`,
        {
          hint: 'try again',
          cause: ambiguity,
        },
      )
    }
    await pause(clock, 10 * 2 ** tries)
  }
}

/** Wait for a random time of at most `ms` milliseconds, and at most `pauseMsMax`. */
function pause(clock: Clock, ms: number): Promise<void> {
  return clock.sleep(clock.random() * Math.min(ms, pauseMsMax), undefined, true)
}

function unknown(txn: string, slot: number, cause: unknown): SheafError {
  const transactionId = formatTransactionId(slot, txn)
  const message = `the store did not report whether transaction ${transactionId} was committed`
  return new SheafError(ErrorCode.ServiceUnavailable, message, {
    kind: 'commit-state-unknown',
    hint: `look up ${transactionId} with describeTransaction before you repeat the call`,
    transactionId,
    cause,
  })
}
