/** Moves the commit log of a root to another log. The work is in move-slots.ts, which is loaded at the first call. */
import { connectFields } from '../client/connect-options.js'
import type { ExternalLog } from '../commit/external-log.js'
import { invalidInput } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { type Clock, systemClock } from '../primitives/clock.js'
import { refuseMore } from '../protocol/arguments.js'
import { parse } from '../protocol/parse.js'
import { given, options } from '../protocol/shape.js'
import type { BlobStore } from '../storage/blob-store.js'
import { openStore, takeLog } from './connect.js'

const importMoveSlots = lazyImport(() => import('./move-slots.js'))

/** Options of `moveLog`. */
export interface MoveLogOptions {
  /** The new log, for example of `openPostgresLog`, or `'files'` for the files of the root. Closed when the call ends. */
  readonly to: ExternalLog | 'files'
  /** The log of the root until now. Closed when the call ends. Default: the files of the root. */
  readonly from?: ExternalLog
  /** As for `connect`. */
  readonly store?: BlobStore
  /** As for `connect`. */
  readonly storage?: object
  /** Source of time and randomness, for deterministic tests. */
  readonly clock?: Clock
  /** Signal that aborts the call. The same call again continues. */
  readonly signal?: AbortSignal
}

/** The result of `moveLog`. */
export interface MovedLog {
  /** The last slot of the old log. The new log continues after it. */
  readonly slot: number
  /** Number of slots that were copied to the new log. 0 if the move was complete before the call. */
  readonly copied: number
}

const { store, storage, clock, signal, log } = connectFields
const to = given<ExternalLog | 'files'>("a log, as openPostgresLog returns it, or 'files'", isTarget)
export const moveLogShape = options<MoveLogOptions>()(
  { to, from: log, store, storage, clock, signal },
  { to: true },
)

function isTarget(value: unknown): boolean {
  return value === 'files' || (typeof value === 'object' && value !== null && 'append' in value)
}

/**
 * Move the commit log of a root from its files to a database, back, or to another database. Tables, versions and tags
 * stay as they are. Connections to the old log fail with `ServiceUnavailable`: connect again with the new log. All commits
 * that were acknowledged before are kept. If the call fails or the process dies, the same call again completes the move.
 *
 * Throws `NamespaceNotFound` if there is no root at `path`, and `InvalidInput` if `from` is not the log of the root, or if
 * `to` has slots already.
 *
 * ```js
 * const to = await openPostgresLog('postgres://app@db.example/app?root=main')
 * await moveLog('s3://my-data/main', { to })
 * ```
 */
export async function moveLog(
  path: string,
  given: MoveLogOptions,
  ...more: readonly unknown[]
): Promise<MovedLog> {
  refuseMore('moveLog', 2, more)
  const { from, to, clock = systemClock, signal, ...place } = parse(moveLogShape, given, 'moveLog')
  const own = [from, to === 'files' ? undefined : to].filter(each => each !== undefined)
  if (own.length === 2 && (from === to || own[0]!.name === own[1]!.name))
    throw invalidInput('from and to are the same log')
  for (const each of own) takeLog(each)
  try {
    const opened = await openStore(path, { ...place, create: false, ...(signal && { signal }) }, clock)
    const { moveSlots } = await importMoveSlots()
    const moved = await moveSlots(opened.store, { from, to, clock, signal })
    await opened.tested
    return moved
  } finally {
    for (const each of own) await each.close?.()
  }
}
