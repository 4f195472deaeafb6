/**
 * Commits the changes of handlers. A handler decides its change on the state that its entry will follow. If the change
 * was prepared on an older state and another commit changed data that it depends on, it is prepared again.
 */
import type { CatalogCommitted } from '../catalog/log-types.js'
import type { CatalogOp } from '../catalog/ops.js'
import { type CatalogState, latestOf, type TableHead } from '../catalog/state.js'
import type { Json, Proposal, ProposalPosition } from '../commit/machine.js'
import { ErrorCode, invalidInput, SheafError } from '../errors.js'
import type { RecentChange } from '../manifest/recent-changes.js'
import type { CallKey } from '../protocol/call-key.js'
import type { HandlerOptions } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import type { StageTarget } from '../write/stage.js'
import type { Engine } from './engine.js'
import { withoutRoot } from './locations.js'
import { type OpenTable, openVersion } from './open-table.js'

// ---- one attempt

/** A decided change: its operations in order, their blobs, the versions it depends on, and the reply. */
export interface Decision<R> {
  /** The operations of the entry. Empty: nothing is committed. */
  readonly ops: readonly CatalogOp[]
  readonly blobs?: readonly Uint8Array[]
  readonly req?: readonly Json[]
  /** Names of need features, which a reader of the entry must know. */
  readonly need?: readonly string[]
  /** See `Proposal.isPlain`. */
  readonly isPlain?: boolean
  /**
   * The whole reply of the call, with its transaction id. The log stores it, so that a repeated call gets the same
   * reply.
   */
  readonly reply: R
}

/**
 * Decides a change on the state that its entry will follow. It may be called again with a newer state. `N` is null for
 * decisions that can conflict: they return null if another commit changed data that they depend on.
 */
export type Decide<R, N extends null = never> = (state: CatalogState, at: ProposalPosition) => Decision<R> | N

/** The outcome of `commit`. */
interface Outcome<R> {
  readonly reply: R
  /** The committed entry. Null: there was nothing to commit. */
  readonly committed: CatalogCommitted | null
}

/** Thrown if a call with the same idempotency key was committed before. */
export class AlreadyCommitted extends Error {
  override readonly name = 'AlreadyCommitted'
  readonly slot: number
  readonly entry: number

  constructor(slot: number, entry: number) {
    super('committed before')
    this.slot = slot
    this.entry = entry
  }
}

/**
 * Check an idempotency key. Throws `AlreadyCommitted` if the same call was committed with this key. Throws
 * `InvalidInput` if another request, or the same request with other rows, was committed with it. Rows are compared only
 * after they were read.
 */
export function checkKey(state: CatalogState, callKey: CallKey | undefined): void {
  if (callKey === undefined) return
  const known = state.keys.get(callKey.key)
  if (known === undefined) return
  if (!callKey.mayBe(known.hash)) {
    throw invalidInput('the idempotency key was already used for another request or for other rows', {
      status: 422,
      hint: 'use a new key for each new call',
    })
  }
  if (!callKey.lacksRows) throw new AlreadyCommitted(known.slot, known.entry)
}

/**
 * Commit the change that `decide` returns for the state that its entry will follow. If another process writes the slot
 * first, `decide` runs again on a newer state. So it must read the state only from its argument. Returns null if
 * `decide` returns null.
 */
export function commit<R>(engine: Engine, decide: Decide<R>, options?: HandlerOptions): Promise<Outcome<R>>
export function commit<R>(
  engine: Engine,
  decide: Decide<R, null>,
  options?: HandlerOptions,
): Promise<Outcome<R> | null>
export async function commit<R>(
  engine: Engine,
  decide: Decide<R, null>,
  options: HandlerOptions = {},
): Promise<Outcome<R> | null> {
  const { signal, callKey } = options
  let decision: Decision<R> | null = null
  const propose = (state: CatalogState, at: ProposalPosition): Proposal<CatalogOp> | null => {
    checkKey(state, callKey)
    decision = decide(state, at)
    if (decision === null || decision.ops.length === 0) return null
    const { ops, blobs, req, need, isPlain = false, reply } = decision
    return {
      ops,
      blobs: blobs ?? [],
      req: req ?? [],
      need: need ?? [],
      isPlain,
      res: callKey === undefined ? undefined : withoutRoot(reply as Json, engine.location),
    }
  }
  const idempotency = callKey && { key: callKey.key, hash: callKey.fingerprint }
  const committed = await engine.root.commit(propose, { signal, idempotency })
  if (decision === null) return null
  if (committed !== null) engine.maintenance.afterCommit(committed)
  return { reply: (decision as Decision<R>).reply, committed }
}

// ---- repeated attempts

/** Default number of attempts before a call fails with `ConcurrentModification`. */
const attemptsMax = 20
/** Number of the first attempt that has priority over other commits of this process, unless the caller sets another. */
const urgentAttempt = 3
/** Maximum exponent of a pause. The pause after attempt n is random, at most 2^n milliseconds. */
const pausePowerMax = 6

/** The options of `commitOptimistically`. */
interface Attempts {
  /** The object that other commits changed, for the error message. Example: `the table`. */
  readonly subject: string
  /** Returns the UUIDs of the tables on which the last attempt depended. */
  readonly tables: () => readonly string[]
  readonly signal: AbortSignal | undefined
  /** Maximum number of attempts. Default 20. */
  readonly attemptsMax?: number
  /** Number of the first attempt that has priority on the tables. Default 3. */
  readonly urgentAttempt?: number
  /**
   * Name of a queue. Calls in the same queue run their attempts with priority one after the other. Default: no queue.
   */
  readonly queue?: string
}

/**
 * Run `attempt` until it commits. `attempt` prepares a change on the newest state and commits it once. It returns null
 * if another commit changed data that the change depends on. Throws `ConcurrentModification` after the last attempt.
 */
export async function commitOptimistically<T>(
  { clock, writers }: Engine,
  attempt: () => Promise<T | null>,
  options: Attempts,
): Promise<T> {
  const { subject, tables, signal, queue } = options
  const most = options.attemptsMax ?? attemptsMax
  const ordinary = Math.min((options.urgentAttempt ?? urgentAttempt) - 1, most)
  let attempts = 0
  const once = () => {
    attempts++
    return attempt()
  }
  const pause = () => {
    return clock.sleep(clock.random() * 2 ** Math.min(attempts, pausePowerMax), signal, true)
  }
  while (attempts < ordinary) {
    await writers.yield(tables(), signal)
    const result = await once()
    if (result !== null) return result
    if (attempts >= urgentAttempt) await pause()
  }
  // Try twice with priority, because a commit of this process that was already queued may still be committed first.
  const twice = async () => (await once()) ?? (attempts < most ? once() : null)
  const urgently = async (): Promise<T> => {
    while (attempts < most) {
      const result = await writers.urgently(tables(), twice, signal)
      if (result !== null) return result
      await pause()
    }
    throw new SheafError(
      ErrorCode.ConcurrentModification,
      `other writers changed ${subject} ${attempts} times while this call was running`,
      { hint: 'try again' },
    )
  }
  return queue === undefined ? urgently() : writers.urgently([queue], urgently, signal)
}

/** A change that depends on the newest version of a table. */
export interface WorkOnNewest<P, R> {
  /** The id of the table. Calls of this process on the same table wait for each other. */
  readonly id: readonly string[]
  /** Finds the table in a state. May throw. */
  readonly find: (state: CatalogState) => TableHead | undefined
  /**
   * Finds the affected rows and stages data. May read files. `open`: the newest version; null if the table has no
   * version.
   */
  readonly prepare: (open: OpenTable | null) => Promise<P>
  /** Decides the change on the newest state, with the version, fragment and row numbers that are free there. */
  readonly decide: (state: CatalogState, prepared: P, at: ProposalPosition) => Decision<R>
  /** Returns whether the result of `prepare` is still valid after a later change. Default: it never is. */
  readonly outlives?: (prepared: P, recent: RecentChange) => boolean
}

/**
 * Commit a change that was prepared on the newest version of a table. If there are newer versions at the commit, the
 * change is still committed if `outlives` returns true for each of them. Otherwise it is prepared again.
 *
 * Calls of this process on one table wait for each other. So a change conflicts only with appends of this process that
 * it depends on, with transactions, and with other processes. Throws `ConcurrentModification` after 20 attempts, and if
 * another table got the name in the meantime.
 */
export function commitOnNewest<P, R>(
  engine: Engine,
  work: WorkOnNewest<P, R>,
  options: HandlerOptions = {},
): Promise<Outcome<R>> {
  const { signal } = options
  const inTurn = async () => {
    let read: CatalogState | null = await engine.root.refresh(signal)
    const named = work.find(read)?.uuid
    const tables = named === undefined ? [] : [named]
    const attempt = async () => {
      // The first attempt uses the state that was just read. If it is too old by now, the attempt is repeated.
      const state = read ?? (await engine.root.refresh(signal))
      read = null
      return tryOnNewest(engine, work, named, state, options)
    }
    return commitOptimistically(engine, attempt, {
      subject: 'the table',
      tables: () => tables,
      signal,
    })
  }
  return engine.writers.inTurn([work.id], inTurn, signal)
}

async function tryOnNewest<P, R>(
  engine: Engine,
  { id, find, prepare, decide, outlives }: WorkOnNewest<P, R>,
  named: string | undefined,
  state: CatalogState,
  options: HandlerOptions,
): Promise<Outcome<R> | null> {
  const { signal } = options
  const head = find(state)
  checkSame(id, named, head)
  const latest = head && latestOf(head)
  const prepared = await prepare(
    latest === undefined ? null : await openVersion(engine, head!, latest, signal),
  )
  const decideIfNewest: Decide<R, null> = (state, at) => {
    const now = find(state)
    if (now?.uuid !== head?.uuid) return null
    if (now !== undefined && now.mark !== head!.mark) {
      const since = engine.versions.recent.between(now.uuid, head!.mark, now.mark, at.earlier)
      if (since === null || !since.every(recent => outlives?.(prepared, recent))) return null
    }
    return decide(state, prepared, at)
  }
  return commit(engine, decideIfNewest, options)
}

/**
 * Check that the name still belongs to the same table, because a change for one table must not be applied to another.
 * Throws `ConcurrentModification`.
 */
function checkSame(id: readonly string[], named: string | undefined, head: TableHead | undefined): void {
  if (head?.uuid === named) return
  throw new SheafError(
    ErrorCode.ConcurrentModification,
    `table ${idText(id)} was replaced by another table while this call was running`,
    { hint: 'try again' },
  )
}

// ---- parts of decisions

/** Return the folder in which rows of a table are staged, and what is needed to write there. */
export function stageTarget({ store, clock, root }: Engine, { location }: TableHead): StageTarget {
  return { store, clock, location, birth: root.head }
}

/** Return the version on which an entry depends. It is stored in the entry, for audits of the log. */
export function requirementsOf(head: TableHead | undefined): readonly Json[] {
  return head === undefined ? [] : [{ table: head.uuid, version: latestOf(head) ?? 0 }]
}
