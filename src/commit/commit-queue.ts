/**
 * Keeps the commits that wait for a slot, and builds the next slot from them. A queued commit is called a ticket.
 *
 * - The state on which a proposal is decided is exactly the state to which its entry is later applied. It includes all
 *   earlier slots and the earlier entries of the same slot.
 * - All queued commits share the next slot, up to the size limits of a slot. While an append is running, new commits
 *   wait in the queue.
 * - The queue applies each entry in the form that it parses from the entry's JSON text, or that equals this form
 *   (`Proposal.isPlain`). So replay and live commits apply exactly the same data.
 * - Every ticket is resolved or rejected exactly once. Before the ticket is put into a slot, the caller's signal can
 *   reject it. Afterwards, the outcome of the slot decides.
 */
import { assert, ErrorCode, invalidInput, SheafError } from '../errors.js'
import { crcHex } from '../primitives/checksum.js'
import type { Clock } from '../primitives/clock.js'
import type { OwnAppend } from './log-follower.js'
import type { Committed, Entry, Idempotency, LogEnd, Machine, Proposal, Propose } from './machine.js'
import { type EncodedSlot, encodeSlot, type Slot } from './slot.js'
import { formatTransactionId } from './transaction-id.js'

/** Maximum size of one entry with its blobs, in bytes. */
const entryBytesMax = 8 * 1024 * 1024
/**
 * Limits of a slot with several entries: number of entries, total bytes, bytes of JSON, and milliseconds to decide the
 * entries. An entry that is larger than a limit gets its own slot. The limit of JSON bounds the time in which a reader
 * of the log parses a slot: about 4 ms for 256 KB.
 */
const groupEntriesMax = 1000
const groupBytesMax = 1024 * 1024
const groupTextMax = 256 * 1024
const groupDecideMs = 5
/** A commit is refused when it has lost at least this many slots to other writers and has waited at least this long. */
const lostSlotsMax = 20
const lostMsMin = 5000

/** A queued commit. */
export interface Ticket<S> {
  readonly txn: string
  readonly propose: Propose<S, unknown, null>
  readonly idempotency: Idempotency | undefined
  readonly signal: AbortSignal | undefined
  /** Remove the ticket from the queue. Does nothing while the ticket is part of a slot that is being written. */
  readonly abort: () => void
  /** Called with null if `propose` found nothing to commit. */
  readonly resolve: (committed: Committed<S> | null) => void
  readonly reject: (reason: unknown) => void
  lostSlots: number
  /** The time when the commit was queued, in milliseconds of the monotonic clock. */
  readonly since: number
  /** Whether the log was read after the commit was queued. If so, a refusal of the commit is final. */
  isFresh: boolean
}

/** A ticket whose proposal or entry was refused. */
export interface Refusal<S> {
  readonly ticket: Ticket<S>
  /** The reason of the refusal. `nothing` is not an error: `propose` found nothing to commit. */
  readonly error: unknown
}

const nothing = Symbol('nothing')

/** A slot to append, with the tickets whose entries it contains. */
export interface Group<S> extends EncodedSlot, OwnAppend<S> {
  readonly tickets: readonly Ticket<S>[]
  /**
   * Tickets that were refused on a state that includes earlier entries of this slot. If the slot is committed, their
   * callers get the error. Otherwise the proposals are decided again.
   */
  readonly refused: readonly Refusal<S>[]
}

/** The queue of commits. See the head of this file. */
export class CommitQueue<S> {
  readonly #machine: Machine<S>
  readonly #clock: Clock
  readonly #tickets: Ticket<S>[] = []
  #failure: SheafError | null = null

  constructor(machine: Machine<S>, clock: Clock) {
    this.#machine = machine
    this.#clock = clock
  }

  /** The number of waiting tickets. */
  get size(): number {
    return this.#tickets.length
  }

  /** The number of slots that the first ticket has lost to other writers. 0 if the queue is empty. */
  get lostSlots(): number {
    return this.#tickets[0]?.lostSlots ?? 0
  }

  /** Queue a commit. When the outcome is known, either `resolve` or `reject` is called. */
  add(
    propose: Propose<S, unknown, null>,
    { signal, idempotency }: Partial<Pick<Ticket<S>, 'signal' | 'idempotency'>>,
    resolve: Ticket<S>['resolve'],
    reject: Ticket<S>['reject'],
  ): void {
    const abort = () => {
      const at = this.#tickets.indexOf(ticket)
      if (at < 0) return
      this.#tickets.splice(at, 1)
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
    this.#tickets.push(ticket)
  }

  /** Reject all queued tickets with `error`. Tickets that return from a lost slot later are rejected too. */
  stop(error: SheafError): void {
    this.#failure = error
    for (const ticket of this.#tickets.splice(0)) refuse(ticket, error)
  }

  /**
   * Put tickets back at the head of the queue, in order, because their slot was not won. Rejects tickets that were
   * aborted or that have lost too many slots.
   */
  requeue(tickets: readonly Ticket<S>[]): void {
    const lateSince = this.#clock.elapsed() - lostMsMin
    const again: Ticket<S>[] = []
    for (const ticket of tickets) {
      ticket.lostSlots++
      ticket.isFresh = true
      if (this.#failure !== null) refuse(ticket, this.#failure)
      else if (ticket.signal?.aborted) refuse(ticket, ticket.signal.reason)
      else if (ticket.lostSlots >= lostSlotsMax && ticket.since <= lateSince)
        refuse(ticket, contended(ticket.lostSlots))
      else again.push(ticket)
    }
    this.#tickets.unshift(...again)
  }

  /**
   * Reject refused tickets. The log was read after the refusals. `isNewer`: whether it had slots that were not part of
   * the state of the refusals. If so, tickets that were not fresh go back to the queue and are decided again.
   */
  refuse(refusals: readonly Refusal<S>[], isNewer: boolean): void {
    const again: Ticket<S>[] = []
    for (const { ticket, error } of refusals) {
      if (!isNewer || ticket.isFresh) refuse(ticket, error)
      else if (ticket.signal?.aborted) refuse(ticket, ticket.signal.reason)
      else again.push(ticket)
      ticket.isFresh = true
    }
    this.#tickets.unshift(...again)
  }

  /**
   * Build the slot after `end` from the queue. If no ticket has anything to commit, return only the refused tickets.
   * `by`: the random id of this committer. `mayHaveTail`: whether later slots may be in a tail of the slot.
   */
  gather(
    end: LogEnd<S>,
    by: string,
    mayHaveTail: boolean,
  ): Group<S> | { readonly refused: readonly Refusal<S>[] } {
    const slot = end.head + 1
    const clock = Math.floor(this.#clock.now())
    const ts = Math.max(end.ts, clock)
    const until = this.#clock.elapsed() + groupDecideMs
    const tickets: Ticket<S>[] = []
    const refused: Refusal<S>[] = []
    const entries: Entry[] = []
    const texts: string[] = []
    const blobs: Uint8Array[] = []
    const earlier = { entries, blob: (index: number) => blobs[index]! }
    const need = new Set<string>()
    let bytes = 0
    let textBytes = 0
    let { state } = end
    while (tickets.length < groupEntriesMax && this.#clock.elapsed() <= until) {
      const ticket = this.#tickets.shift()
      if (ticket === undefined) break
      try {
        const entry = tickets.length
        const transactionId = formatTransactionId(slot, ticket.txn)
        const firstBlob = blobs.length
        const proposal = ticket.propose(state, { slot, entry, ts, transactionId, firstBlob, earlier })
        if (proposal === null) {
          refused.push({ ticket, error: nothing })
          continue
        }
        const written = writeEntry(ticket.txn, ticket.idempotency, proposal)
        const full = bytes + written.bytes > groupBytesMax || textBytes + written.textBytes > groupTextMax
        if (tickets.length > 0 && full) {
          this.#tickets.unshift(ticket)
          break
        }
        this.#machine.check?.(state, written.entry)
        state = this.#machine.apply(state, written.entry, { slot, entry, ts })
        tickets.push(ticket)
        entries.push(written.entry)
        texts.push(written.text)
        if (proposal.blobs !== undefined) for (const blob of proposal.blobs) blobs.push(blob)
        for (const feature of proposal.need ?? []) need.add(feature)
        bytes += written.bytes
        textBytes += written.textBytes
      } catch (error) {
        refused.push({ ticket, error })
      }
    }
    if (tickets.length === 0) return { refused }
    const header = { need: [...need], slot, prev: crcHex(end.crc), by, ts, entries }
    const encoded = encodeSlot(clock < ts ? { ...header, clock } : header, texts, blobs, mayHaveTail)
    return {
      // Name each field instead of spreading `encoded`. Measured: the spread takes a quarter of the CPU time of a small
      // commit.
      slot: encoded.slot,
      bytes: encoded.bytes,
      tickets,
      refused,
      state,
      answer: null,
      isLost: false,
      isTrimmedPast: false,
    }
  }
}

/** Resolve a ticket whose slot was won. `state`: the state after the slot. `index`: the index of the ticket's entry. */
export function accept<S>(ticket: Ticket<S>, slot: Slot, state: S, index: number): void {
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

/** Reject a ticket with `reason`. If the reason is `nothing`, resolve the ticket with null instead. */
export function refuse<S>(ticket: Ticket<S>, reason: unknown): void {
  ticket.signal?.removeEventListener('abort', ticket.abort)
  if (reason === nothing) ticket.resolve(null)
  else ticket.reject(reason)
}

interface WrittenEntry {
  /** The entry, parsed from `text`. */
  readonly entry: Entry
  readonly text: string
  readonly textBytes: number
  /** Approximate number of bytes that the entry adds to a slot. */
  readonly bytes: number
}

function writeEntry(
  txn: string,
  idempotency: Idempotency | undefined,
  { ops, req = [], res, blobs = [], isPlain = false }: Proposal,
): WrittenEntry {
  assert(ops.length > 0, 'a proposal must have at least one operation')
  let text: string
  try {
    text = JSON.stringify(
      idempotency === undefined ? { txn, req, ops, res } : { txn, ...idempotency, req, ops, res },
    )
  } catch (cause) {
    throw invalidInput('the change contains a value that JSON cannot represent', { cause })
  }
  const textBytes = Buffer.byteLength(text)
  let bytes = textBytes
  for (const blob of blobs) bytes += blob.length + 24 // 24: approximate size of the blob's range in the header
  if (bytes > entryBytesMax) {
    throw invalidInput(
      `the change takes ${bytes} bytes in the log, more than the limit of ${entryBytesMax} bytes`,
      {
        status: 413,
        hint: 'split it into several commits',
      },
    )
  }
  const isParsed = isPlain && idempotency === undefined && res === undefined
  const entry: Entry = isParsed ? { txn, req, ops } : JSON.parse(text)
  return { entry, text, textBytes, bytes }
}

function contended(lostSlots: number): SheafError {
  const message = `the commit lost ${lostSlots} times in a row to commits of other writers`
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
}
