/**
 * Holds the commits that wait for a slot, and builds the next slot from them.
 *
 * - A proposal is decided on exactly the state that its entry is applied to: the state of head, then the earlier
 *   entries of its own slot.
 * - All queued commits share the next slot, up to the limits of a slot. While one append is under way, new commits
 *   wait here.
 * - Entries are applied as parsed from their own text. So replay and live commits cannot differ.
 * - Every ticket is resolved or rejected once: by the caller's signal until the ticket is gathered, then by what
 *   becomes of the slot.
 */
import { assert, ErrorCode, invalidInput, SheafError } from '../errors.js'
import { crcHex } from '../primitives/checksum.js'
import type { Clock } from '../primitives/clock.js'
import type { OwnAppend } from './log-follower.js'
import type { Committed, Entry, Idempotency, LogEnd, Machine, Proposal, Propose } from './machine.js'
import { type EncodedSlot, encodeSlot, type Slot } from './slot.js'
import { formatTransactionId } from './transaction-id.js'

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

/** A queued commit. */
export interface Ticket<S> {
  readonly txn: string
  readonly propose: Propose<S, unknown, null>
  readonly idempotency: Idempotency | undefined
  readonly signal: AbortSignal | undefined
  /** Remove the ticket from the queue. Does nothing once its bytes are on their way to the log. */
  readonly abort: () => void
  /** With null if there is nothing to commit. */
  readonly resolve: (committed: Committed<S> | null) => void
  readonly reject: (reason: unknown) => void
  lostSlots: number
  /** When the commit was queued, on the monotonic clock, milliseconds. */
  readonly since: number
  /** Whether the log was read since the commit was queued. */
  isFresh: boolean
}

/** A ticket whose proposal or entry was refused. */
export interface Refusal<S> {
  readonly ticket: Ticket<S>
  /** `nothing`: there is nothing to commit, which is no error. */
  readonly error: unknown
}

const nothing = Symbol('nothing')

/** The next slot, with the tickets whose entries it has. */
export interface Group<S> extends EncodedSlot, OwnAppend<S> {
  readonly tickets: readonly Ticket<S>[]
  /**
   * Tickets that were refused after earlier entries of this slot. Their callers get the error when the slot is
   * committed; otherwise the proposals are decided again.
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

  /** The number of slots that the first ticket lost. */
  get lostSlots(): number {
    return this.#tickets[0]?.lostSlots ?? 0
  }

  /** Queue a commit. One of `resolve` and `reject` is called when the outcome is known. */
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

  /** Refuse all tickets with `error`, now and whenever a slot is lost. */
  stop(error: SheafError): void {
    this.#failure = error
    for (const ticket of this.#tickets.splice(0)) refuse(ticket, error)
  }

  /** Put tickets whose slot was not won back at the head of the queue, in order. */
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
   * Reject refused tickets, once the log was read. `isNewer`: whether the log had slots that the refusal did not see.
   * If so, the proposals of tickets that were not fresh are decided again.
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
   * Build slot head+1 from the queue. If no ticket had anything to commit, return the refused tickets. `by`: the
   * writer's nonce.
   */
  gather(end: LogEnd<S>, by: string): Group<S> | { readonly refused: readonly Refusal<S>[] } {
    const slot = end.head + 1
    const clock = Math.floor(this.#clock.now())
    const ts = Math.max(end.ts, clock)
    const until = this.#clock.elapsed() + groupDecideMs
    const tickets: Ticket<S>[] = []
    const refused: Refusal<S>[] = []
    const entries: Entry[] = []
    const texts: string[] = []
    const blobs: Uint8Array[] = []
    const need = new Set<string>()
    let bytes = 0
    let textBytes = 0
    let { state } = end
    while (tickets.length < groupEntriesMax && this.#clock.elapsed() <= until) {
      const ticket = this.#tickets.shift()
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
          this.#tickets.unshift(ticket)
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
    const header = { need: [...need], slot, prev: crcHex(end.crc), by, ts, ...shown, entries }
    const encoded = encodeSlot(header, texts, blobs)
    return {
      // Not spread: measured, spreading takes a quarter of the processor time of a small commit.
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

/** Resolve a ticket: its entry is number `index` of `slot`, which was won. `state`: the state after the slot. */
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

/** Reject a ticket; resolve it with null if the reason is that there is nothing to commit. */
export function refuse<S>(ticket: Ticket<S>, reason: unknown): void {
  ticket.signal?.removeEventListener('abort', ticket.abort)
  if (reason === nothing) ticket.resolve(null)
  else ticket.reject(reason)
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

function contended(lostSlots: number): SheafError {
  const message = `other writers took ${lostSlots} slots in a row before this commit`
  return new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
}
