/**
 * Commits of handlers. A decision is made on the state that its entry follows; a change that was prepared on an older
 * state is prepared again if another commit changed what it depends on.
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

/** The result of a decision: operations in order, their blobs, the state it depends on, and the reply. */
export interface Decision<R> {
  /** Empty: there is nothing to do. */
  readonly ops: readonly CatalogOp[]
  readonly blobs?: readonly Uint8Array[]
  readonly req?: readonly Json[]
  /** Features that a reader of the entry must know. */
  readonly need?: readonly string[]
  /** The whole reply of the call, including its transaction id: a repeated call gets the same reply. */
  readonly reply: R
}

/**
 * Decide on a change, given the state that its entry will follow. May be called again on a newer state. `N`: null for
 * decisions that can conflict: they return null if another commit changed what they depend on.
 */
export type Decide<R, N extends null = never> = (state: CatalogState, at: ProposalPosition) => Decision<R> | N

/** The result of a commit. */
interface Outcome<R> {
  readonly reply: R
  /** Null: there was nothing to do. */
  readonly committed: CatalogCommitted | null
}

/** Thrown when the call was committed before, under its idempotency key. */
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
 * Check an idempotency key. Throws `AlreadyCommitted` if the same call was committed with the key, `InvalidInput` if another
 * request or other rows were. The rows can be compared only after they were read.
 */
export function checkKey(state: CatalogState, callKey: CallKey | undefined): void {
  if (callKey === undefined) return
  const known = state.keys.get(callKey.key)
  if (known === undefined) return
  if (!callKey.mayBe(known.hash)) {
    throw invalidInput('the idempotency key was used before, for another request or for other rows', {
      status: 422,
      hint: 'use a new key for every new call',
    })
  }
  if (!callKey.lacksRows) throw new AlreadyCommitted(known.slot, known.entry)
}

/**
 * Commit what `decide` decides on the state that the entry will follow. `decide` runs again after a lost race, so it must take
 * everything it knows of the state from its argument. Returns null if `decide` returned null.
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
    const { ops, blobs, req, need, reply } = decision
    return {
      ops,
      blobs: blobs ?? [],
      req: req ?? [],
      need: need ?? [],
      ...(callKey !== undefined && { res: withoutRoot(reply as Json, engine.location) }),
    }
  }
  const idempotency = callKey && { key: callKey.key, hash: callKey.fingerprint }
  const committed = await engine.root.commit(propose, { signal, idempotency })
  if (decision === null) return null
  if (committed !== null) engine.maintenance.afterCommit(committed)
  return { reply: (decision as Decision<R>).reply, committed }
}

// ---- repeated attempts

/** Number of attempts before a call fails with `ConcurrentModification`. */
const attemptsMax = 20
/** From this attempt on, the call has priority over other commits of this process. */
const urgentAttempt = 3
/** The pause after an attempt is random, at most 2 ms to the power of the number of attempts; at most this power. */
const pausePowerMax = 6

/** How `commitOptimistically` repeats. */
export interface Attempts {
  /** The object that other commits changed, for the error message: `the table`. */
  readonly subject: string
  /** Return the uuids of the tables that the last attempt depended on. */
  readonly tables: () => readonly string[]
  readonly signal: AbortSignal | undefined
  /** Default 20. */
  readonly attemptsMax?: number
  /** The first attempt with priority on the tables. Default 3. */
  readonly urgentAttempt?: number
  /** Calls with the same queue do not run attempts with priority at the same time. */
  readonly queue?: string
}

/**
 * Prepare a change on the newest state and commit it, until no other commit came between. `attempt` does both once, and
 * returns null if another commit changed what the change depends on. Throws `ConcurrentModification` after the last
 * attempt.
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
  // A commit of this process that was already queued may still win once, so try twice with priority.
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
  /** The table's id: calls of this process on the same table take turns. */
  readonly id: readonly string[]
  /** Find the table in a state; may throw. */
  readonly find: (state: CatalogState) => TableHead | undefined
  /** Find the rows and stage data; may read. */
  readonly prepare: (open: OpenTable | null) => Promise<P>
  /** Give numbers (version, fragments, rows) to what `prepare` returned. */
  readonly decide: (state: CatalogState, prepared: P, at: ProposalPosition) => Decision<R>
  /** Whether the result of `prepare` stays valid after a later change. Default: no change leaves it valid. */
  readonly outlives?: (prepared: P, recent: RecentChange) => boolean
}

/**
 * Commit a change if its version is still the newest, or if later changes leave its result valid; otherwise prepare it again.
 * Calls on one table take turns. So a call loses only to appends that it must look at, to transactions, and to other processes.
 * Throws `ConcurrentModification` after 20 lost races, and when another table got the name meanwhile.
 */
export function commitOnNewest<P, R>(
  engine: Engine,
  work: WorkOnNewest<P, R>,
  options: HandlerOptions = {},
): Promise<Outcome<R>> {
  const { signal } = options
  const inTurn = async () => {
    const named = work.find(await engine.root.refresh(signal))?.uuid
    const tables = named === undefined ? [] : [named]
    return commitOptimistically(engine, () => tryOnNewest(engine, work, named, options), {
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
  options: HandlerOptions,
): Promise<Outcome<R> | null> {
  const { signal } = options
  const head = find(await engine.root.refresh(signal))
  checkSame(id, named, head)
  const latest = head && latestOf(head)
  const prepared = await prepare(
    latest === undefined ? null : await openVersion(engine, head!, latest, signal),
  )
  const decideIfNewest: Decide<R, null> = (state, at) => {
    const now = find(state)
    if (now?.uuid !== head?.uuid) return null
    if (now !== undefined && now.mark !== head!.mark) {
      const since = engine.versions.recent.between(now.uuid, head!.mark, now.mark)
      if (since === null || !since.every(recent => outlives?.(prepared, recent))) return null
    }
    return decide(state, prepared, at)
  }
  return commit(engine, decideIfNewest, options)
}

/** Throw if the name now belongs to another table: a change for one table must not be applied to another. */
function checkSame(id: readonly string[], named: string | undefined, head: TableHead | undefined): void {
  if (head?.uuid === named) return
  throw new SheafError(
    ErrorCode.ConcurrentModification,
    `table ${idText(id)} was replaced by another while this call was running`,
    { hint: 'try again' },
  )
}

// ---- parts of decisions

/** Where to stage rows of a table. */
export function stageTarget({ store, clock, root }: Engine, { location }: TableHead): StageTarget {
  return { store, clock, location, birth: root.head }
}

/** The version that an entry depends on, for audits of the log. */
export function requirementsOf(head: TableHead | undefined): readonly Json[] {
  return head === undefined ? [] : [{ table: head.uuid, version: latestOf(head) ?? 0 }]
}
