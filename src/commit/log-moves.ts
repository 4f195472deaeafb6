/**
 * Moves of the commit log of a root from one log to another: from the files to a database, back, or between databases.
 *
 * 1. The last slot of the old log is a *fence*: a slot with the need `moved` and the operation `moved`, which names the
 *    new log. It is written like any other slot. So every earlier commit is before the fence, and a writer that comes later
 *    loses the slot and reads the fence. There are no slots after a fence.
 * 2. The slots that are still needed, and the fence, are copied to the new log under the same numbers.
 * 3. Slot 0 is written to the new log. It has the number of the fence. Without slot 0, nobody uses the new log.
 * 4. A copy of this slot 0 is written to the store (`_moves/`). It decides which log the root has: any other one is refused.
 *
 * A process may die between any two steps: the same call again completes the move. Before the fence, a move has written
 * nothing. A log that was moved several times has the fences of earlier moves, up to the slot that its slot 0 names.
 */
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import type { BlobStore } from '../storage/blob-store.js'
import { decodeGenesis, type LogMove, movedFeature, type Slot } from './slot.js'

/** The operation of a fence. */
export interface MovedOp {
  readonly op: 'moved'
  /** The number of the move, as in `LogMove`. */
  readonly move: number
  /** The name of the new log. Null: it is in the files of the root. */
  readonly log: string | null
}

/** The newest move of a root, and slot 0 of its log. */
export interface RecordedMove extends LogMove {
  readonly bytes: Uint8Array
}

/** Return the key of the copy of slot 0 of the log after a move. */
export function moveKey(move: number): string {
  return `_moves/${String(move).padStart(8, '0')}`
}

/** Return the newest move of a root that was completed; null if there is none. Costs one request if there is none. */
export async function newestMove(store: BlobStore, signal?: AbortSignal): Promise<RecordedMove | null> {
  let newest: RecordedMove | null = null
  for (let move = 1; ; move++) {
    const bytes = await store.get(moveKey(move), signal)
    if (bytes === null) return newest
    newest = { ...decodeGenesis(bytes, new Set([movedFeature])).moved!, bytes }
  }
}

/** Return the operation of a fence; null if the slot is none. */
export function fenceOf({ header }: Slot): MovedOp | null {
  if (!header.need.includes(movedFeature)) return null
  const ops = header.entries.flatMap(({ ops }) => ops as readonly { readonly op: string }[])
  return (ops.find(({ op }) => op === 'moved') as MovedOp | undefined) ?? null
}

/** Return the error for a log that ends with a fence. */
export function movedAway({ log }: MovedOp): SheafError {
  return new SheafError(ErrorCode.ServiceUnavailable, `the log of this root was moved to ${nameOf(log)}`, {
    hint: `${wayTo(log)}. If this is refused, run the command sheaf move-log again, which completes the move`,
  })
}

/** Return the error for a log that is not that of the newest move. `store`, `given`: the names of the store and the log. */
export function refuseOldLog({ log }: LogMove, store: string, given: string | null): SheafError {
  const not = given === null ? 'in its files' : quote(given)
  return invalidInput(
    `the log of the root in ${quote(store)} was moved to ${nameOf(log)}, so it is not ${not}`,
    {
      hint: wayTo(log),
    },
  )
}

/** The hint of errors for a root that needs another log. */
export const passLog =
  'open this log, and pass it to connect as the option log (in the program sheaf: as --commit-log)'

/** Return the name of a log in messages. */
export function nameOf(log: string | null): string {
  return log === null ? 'the files of the root' : quote(log)
}

function wayTo(log: string | null): string {
  if (log === null) return 'connect without the option log (in the program sheaf: without --commit-log)'
  return passLog
}
