/**
 * A commit log outside of the store of its root, for example in a database (`sheaf/postgres`). The files of the root stay
 * in its store.
 *
 * - The store has a *pointer* instead of slot 0. The pointer is a slot 0 with the need `external-log`, the id of the root
 *   and the name of the log. So a Sheaf without the log, and any earlier Sheaf, refuses to open the root.
 * - Slot 0 of the log has the same id of the root. So a log of another root is refused.
 * - A root is created in this order: the pointer, slot 0 of the log, the file `<pointer>.begun`. So a log without slots
 *   is accepted only if the creation of the root was interrupted. Otherwise the log has lost its slots.
 * - After a move (commit/log-moves.ts), the store has the new slot 0 instead, and no other log is accepted.
 */
import { corrupted, ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import type { Clock } from '../primitives/clock.js'
import type { BlobStore } from '../storage/blob-store.js'
import { createGenesis } from './appender.js'
import { slotKey } from './blob-log.js'
import type { CommitLog } from './commit-log.js'
import { newestMove, passLog, refuseOldLog } from './log-moves.js'
import { decodeGenesis, decodePointer, encodePointer, type LogPointer } from './slot.js'

/** A commit log for the option `log` of `connect`. It serves one connection, which closes it. */
export interface ExternalLog extends CommitLog {
  /** The name of the log in messages, without credentials. */
  readonly name: string
  /** Return the name of a slot in messages. */
  fileOf(slot: number): string
  /** Return the time when a slot was written, by the clock of the log, in milliseconds since 1970. Null: there is no such slot. */
  modified(slot: number, signal?: AbortSignal): Promise<number | null>
  /** Return the first slot after slot 0; null if there is none. */
  first(signal?: AbortSignal): Promise<number | null>
  /**
   * Delete slots 1 to `to` in ascending order, but not the last slot of the log. A late append of a deleted slot must be
   * refused. Returns the number of deleted slots.
   */
  trim(to: number, signal?: AbortSignal): Promise<number>
  /**
   * Write the first slot of a log that continues another log, before slot 0. `slot` is at least 1. Slots 1 to `slot - 1`
   * count as trimmed. Answers `taken` if the log has any slot after slot 0. Throws the errors of `append`.
   */
  begin(slot: number, bytes: Uint8Array): Promise<'won' | 'taken'>
}

const pointerKey = slotKey(0)
/** The key of the file that says that slot 0 of an external log was written. */
export const begunKey = `${pointerKey}.begun`

interface OpenOptions {
  readonly clock: Clock
  /** Whether to create the root if neither the store nor the log has one. */
  readonly create: boolean
  readonly features: ReadonlySet<string>
  /** Maximum time to retry an append with an unknown outcome, in milliseconds. */
  readonly unknownAfterMs: number
}

/**
 * Return the bytes of slot 0 of the log. Creates the root if it does not exist. Returns null if it does not exist and
 * `create` is false. Throws `InvalidInput` if the store and the log do not belong together, and Internal ("corrupted") if
 * the log has lost its slots.
 */
export async function openExternalLog(
  store: BlobStore,
  log: ExternalLog,
  options: OpenOptions,
  signal?: AbortSignal,
): Promise<Uint8Array | null> {
  const { clock, create, features, unknownAfterMs } = options
  const [stored, begun, genesis, move] = await Promise.all([
    store.get(pointerKey, signal),
    store.get(begunKey, signal),
    log.read(0, signal),
    newestMove(store, signal),
  ])
  if (move !== null) {
    if (genesis !== null && Buffer.compare(genesis, move.bytes) === 0) return genesis
    if (genesis === null && move.log === log.name) throw lostLog(store, log, move.log)
    throw refuseOldLog(move, store.name, log.name)
  }
  if (stored === null) {
    if (genesis !== null) throw otherFiles(store, log)
    if (!create) return null
    const pointer = { root: clock.uuid(), log: log.name }
    // After `taken`, another process creates the root at this moment.
    await store.putIfAbsent(pointerKey, encodePointer(pointer, Math.floor(clock.now())), signal)
    return openExternalLog(store, log, options, signal)
  }
  if (genesis !== null && decodeGenesis(genesis, features).moved !== null) throw unfinished(store, log)
  const pointer = decodePointer(stored)
  if (pointer === null) throw ownLog(store, log, genesis !== null)
  if (genesis === null && begun !== null) throw lostLog(store, log, pointer.log)
  if (genesis === null && !create) return null
  // A move to this log has begun.
  if (genesis === null && (await log.first(signal)) !== null) throw otherFiles(store, log)
  const first = genesis ?? (await createGenesis(log, clock, unknownAfterMs, pointer.root))
  if (decodeGenesis(first, features).genesis.root !== pointer.root) throw otherLog(store, log, pointer)
  if (begun === null && create) await store.putIfAbsent(begunKey, new Uint8Array([0x0a]), signal)
  return first
}

/** Throw `InvalidInput` if the slot 0 in the bytes is a pointer. `store`: the name of the store. */
export function refusePointer(bytes: Uint8Array, store: string): void {
  const pointer = decodePointer(bytes)
  if (pointer === null) return
  throw invalidInput(
    `the log of the root in ${quote(store)} is not in its files, but in ${quote(pointer.log)}`,
    {
      hint: passLog,
    },
  )
}

function unfinished(store: BlobStore, log: ExternalLog): SheafError {
  return new SheafError(
    ErrorCode.ServiceUnavailable,
    `the log of the root in ${quote(store.name)} is being moved to ${quote(log.name)}`,
    { hint: 'run the command sheaf move-log again, which completes the move' },
  )
}

function otherFiles(store: BlobStore, log: ExternalLog): SheafError {
  return invalidInput(
    `${quote(log.name)} is the log of another root, because ${quote(store.name)} has no pointer to it`,
    {
      hint: 'use another name for the root in the log, or connect to the files of that root',
    },
  )
}

function ownLog(store: BlobStore, log: ExternalLog, hasSlots: boolean): SheafError {
  const also = hasSlots ? ', and the other log has slots, too' : ''
  return invalidInput(
    `the root in ${quote(store.name)} has its log in its files, not in ${quote(log.name)}${also}`,
    {
      hint: 'connect without the option log, use another path, or move the log with the command sheaf move-log',
    },
  )
}

function otherLog(store: BlobStore, log: ExternalLog, pointer: LogPointer): SheafError {
  return invalidInput(
    `the log of the root in ${quote(store.name)} is ${quote(pointer.log)}, but ${quote(log.name)} is the log of another root`,
    { hint: 'pass the right log to connect as the option log' },
  )
}

function lostLog(store: BlobStore, log: ExternalLog, name: string): SheafError {
  return corrupted(
    `the root in ${quote(store.name)} has commits in ${quote(name)}, but ${quote(log.name)} has no slots`,
    { hint: 'pass the right log to connect as the option log, or restore the log from a backup' },
  )
}
