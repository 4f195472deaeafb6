/**
 * Appends the slots of this process to the log, one at a time, and tells the queue the outcome of each.
 *
 * - Winning slot head+1 proves that no other slot came between.
 * - A writer that lost a slot lets longer-waiting writers append first (turns.ts), and reads the log before it retries.
 *   A writer without competitors never waits.
 * - A taken slot may still be ours, because the reply to an append can be lost. The appender has the slot read back to
 *   tell a lost reply from a lost race.
 * - Bytes whose outcome is unknown are offered again to the same slot only, so no transaction lands twice. Other bytes
 *   may be offered to that slot too: the store refuses whichever come second.
 * - A writer that missed a trim may win a slot that was trimmed. So whenever the appender wins slot N+1, it checks that
 *   slot N is present and the same. If not, the log was trimmed past slot N. A slot that was won in that case is not
 *   part of the log, and is deleted (STORAGE S16).
 * - No slot is written after one whose name may not be durable yet: the follower's head is durable.
 * - A refusal is reported only on a state with everything that was committed before the call.
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
  /** The writer's nonce, in every slot that the appender writes. */
  readonly by: string
  /** How long to retry an append with an unknown outcome, milliseconds. */
  readonly unknownAfterMs: number
  /** Features of `need` that this build understands. */
  readonly features: ReadonlySet<string>
}

/** After losing this many slots in its own turn, a writer waits for a random time. */
const lostInTurnMax = 12
/** Turns are kept for the time of this many slots after the last slot of another writer. */
const contendedSlots = 32
const pauseMsMax = 1000

type Outcome =
  /** `mark`: the mark of the slot's blob; null if unknown. */
  | { readonly kind: 'won'; readonly mark: BlobMark | null }
  | { readonly kind: 'lost' }
  /** Nothing was written. */
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'unknown'; readonly cause: unknown }

/** Appends what is queued. See the head of this file. */
export class Appender<S> {
  readonly #log: CommitLog
  readonly #follower: LogFollower<S>
  readonly #queue: CommitQueue<S>
  readonly #options: AppenderOptions
  readonly #clock: Clock
  /** Estimated duration of an append, milliseconds. */
  #slotMs = 1
  /** Until this time (`elapsed`), assume that other writers compete for slots. */
  #contendedUntil = 0
  #writing: Promise<void> | null = null

  constructor(log: CommitLog, follower: LogFollower<S>, queue: CommitQueue<S>, options: AppenderOptions) {
    this.#log = log
    this.#follower = follower
    this.#queue = queue
    this.#options = options
    this.#clock = options.clock
  }

  /** Begin to write what is queued, unless that is under way. */
  start(): void {
    this.#writing ??= this.#write()
  }

  /** Resolves when everything queued is written or refused. */
  async finish(): Promise<void> {
    await this.#writing
  }

  async #write(): Promise<void> {
    while (this.#queue.size > 0) {
      // Let callers that the last slot resolved queue their next commit: measured 3 to 6 times the throughput.
      await this.#clock.yield()
      if (this.#clock.elapsed() < this.#contendedUntil) await this.#waitForTurn()
      const gathered = this.#queue.gather(this.#follower, this.#options.by)
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
    const follower = this.#follower
    // A writer that has just lost a slot, and has not paused since, has just read the log.
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
    return this.#follower.syncMs + this.#slotMs
  }

  /**
   * Reject refused tickets, once the state of the refusal is known to hold everything committed before the call. If the
   * log has newer slots, the proposals are decided again. (Winning a slot proves freshness by itself.)
   */
  async #refuse(refusals: readonly Refusal<S>[]): Promise<void> {
    const follower = this.#follower
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
    const now = this.#clock.elapsed()
    switch (outcome.kind) {
      case 'won':
        if (group.isLost && !group.isTrimmedPast) {
          const error = this.#follower.stop(
            corrupted(`slot ${number} was won here, but holds another writer's entries`),
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
        // Writers without a recent slot all take themselves for first, so a random pause separates them.
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

  /** Append a group until the outcome is known, or until the time for unknown outcomes is over. */
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
      if (answer !== null) {
        try {
          // If the previous slot still exists, the slot under this number is the one that was written.
          const mark = this.#log.peek?.(number) ?? null
          if (answer === 'taken') await follower.advance(1)
          else if (await follower.isThere(number - 1, Number.parseInt(group.slot.header.prev, 16)))
            return { kind: 'won', mark }
          else if (follower.head < number) await follower.reopen(number - 1)
          if (group.isTrimmedPast)
            return (await this.#isReal(group.slot)) ? { kind: 'won', mark: null } : { kind: 'lost' }
          if (follower.head >= number) return group.isLost ? { kind: 'lost' } : { kind: 'won', mark: null }
        } catch (error) {
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
   * Return whether the offered slot is part of a log that was trimmed past its number. If not, delete the slot that was
   * written.
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
 * Write slot 0, or read the one that another writer wrote. Throws ServiceUnavailable if the outcome is unknown after
 * `unknownAfterMs` milliseconds.
 */
export async function createGenesis(
  log: CommitLog,
  clock: Clock,
  unknownAfterMs: number,
): Promise<Uint8Array> {
  const bytes = encodeGenesis({ root: clock.uuid(), format: 1 }, Math.floor(clock.now()))
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
      throw new SheafError(ErrorCode.ServiceUnavailable, 'the root could not be created in time', {
        hint: 'try again',
        cause: ambiguity,
      })
    }
    await pause(clock, 10 * 2 ** tries)
  }
}

/** Wait for a random time of at most `ms`. */
function pause(clock: Clock, ms: number): Promise<void> {
  return clock.sleep(clock.random() * Math.min(ms, pauseMsMax), undefined, true)
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
