/** An opened root: the state that handlers work on, and the steps that they share. */
import { checkRows, findTable, versionOf } from '../catalog/lookup.js'
import type { CatalogOp } from '../catalog/ops.js'
import { type CatalogState, latestOf, pathKey, type TableHead } from '../catalog/state.js'
import type { CommitOptions } from '../commit/committer.js'
import type { Committed, Json, Proposal, ProposalPosition, Propose } from '../commit/machine.js'
import type { SlotReader } from '../commit/slots.js'
import { assert, ErrorCode, invalidInput, SheafError } from '../errors.js'
import type { JobRunner } from '../jobs/job-runner.js'
import type { History } from '../manifest/history.js'
import type { LanceManifests } from '../manifest/lance-manifests.js'
import type { Layout } from '../manifest/layout.js'
import type { LayoutStore, TableAddress } from '../manifest/layout-store.js'
import type { RecentChange, RecentChanges } from '../manifest/recent-changes.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { VersionRecord } from '../manifest/version.js'
import type { Activity } from '../primitives/activity.js'
import type { Clock } from '../primitives/clock.js'
import type { KeyedMutex } from '../primitives/keyed-mutex.js'
import type { PriorityBackoff } from '../primitives/priority-backoff.js'
import type { CallKey } from '../protocol/call-key.js'
import type { HandlerOptions } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import type { BlobStore } from '../storage/blob-store.js'
import { indexReaders } from '../table/table-index.js'
import { TableReader } from '../table/table-reader.js'
import type { TableSource } from '../table/table-source.js'
import { textIndexReaders } from '../table/text-index.js'
import { vectorIndexReaders } from '../table/vector-index.js'
import type { ColumnFunction } from '../write/functions.js'
import type { Holds } from '../write/holds.js'
import type { Pins } from '../write/pins.js'
import type { StageTarget } from '../write/stage.js'
import type { UnderWay } from '../write/under-way.js'
import { withoutRoot } from './locations.js'
import type { SessionTokens } from './session-tokens.js'

/** The log as handlers see it: that of the committer, or a snapshot, which does not change. */
export interface Root {
  readonly state: CatalogState
  /** The newest slot in `state`. */
  readonly head: number
  refresh(signal?: AbortSignal): Promise<CatalogState>
  commit(propose: Propose<CatalogState>, options?: CommitOptions): Promise<Committed<CatalogState>>
}

/** The services of an opened root. Handlers receive it as their first argument. */
export interface Engine {
  /** Address of the root, for `location` in answers: an absolute path, or `memory://`. */
  readonly location: string
  readonly store: BlobStore
  readonly root: Root
  readonly slots: SlotReader
  readonly history: Pick<History, 'find' | 'range'>
  readonly layouts: Pick<LayoutStore, 'at' | 'schemaOf'> & Partial<Pick<LayoutStore, 'known'>>
  readonly recent: Pick<RecentChanges, 'between'>
  readonly lance: LanceManifests
  /** Whether to record versions that a Lance engine wrote directly. False in read-only roots, snapshots and transactions. */
  readonly adopts: boolean
  readonly jobs: JobRunner<CatalogState>
  /** Notified of every commit; works in the background (maintenance/). */
  readonly maintenance: { afterCommit(committed: Committed<CatalogState>): void }
  readonly pins: Pins
  /** Multipart uploads that this process serves. */
  readonly uploads: Holds
  /** Read sessions that this process serves, and the encryption of their tokens. */
  readonly sessions: Holds
  readonly tokens: SessionTokens
  /** Writing calls of this process that have not ended. */
  readonly underWay: UnderWay
  readonly source: TableSource
  readonly clock: Clock
  /** Functions that can fill columns. */
  readonly functions: readonly ColumnFunction[]
  /** Maximum number of threads that build one index. */
  readonly buildThreads: number
  /** By table path: serializes calls of this process that work on a table's newest version. No turn waits for a client. */
  readonly turns: KeyedMutex
  /**
   * By table uuid: a call that lost several races has priority. Other commits of this process to the table wait while the call
   * looks at the changes since its last attempt.
   */
  readonly urgent: PriorityBackoff
  /** Calls that have not ended. */
  readonly calls: Activity
  readonly drafts: Activity
  /** By table path: serializes calls of this process that create the same new table, uploads included. */
  readonly creations: KeyedMutex
}

// ---- commits

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

/** Decide on a change, given the state that its entry will follow. May be called again on a newer state. */
export type Decide<R> = (state: CatalogState, at: ProposalPosition) => Decision<R>

/** The result of a commit. */
interface Outcome<R> {
  readonly reply: R
  /** Null: there was nothing to do. */
  readonly committed: Committed<CatalogState> | null
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
 * everything it knows of the state from its argument.
 */
export async function commit<R>(
  engine: Engine,
  decide: Decide<R>,
  options: HandlerOptions = {},
): Promise<Outcome<R>> {
  const { signal, callKey } = options
  let decision: Decision<R> | undefined
  const propose = (state: CatalogState, at: ProposalPosition): Proposal => {
    checkKey(state, callKey)
    decision = decide(state, at)
    const { ops, blobs, req, need, reply } = decision
    if (ops.length === 0) throw nothingToDo
    return {
      ops: ops as unknown as readonly Json[],
      blobs: blobs ?? [],
      req: req ?? [],
      need: need ?? [],
      ...(callKey !== undefined && { res: withoutRoot(reply as Json, engine.location) }),
    }
  }
  const idempotency = callKey && { key: callKey.key, hash: callKey.fingerprint }
  try {
    const committed = await engine.root.commit(propose, { signal, idempotency })
    engine.maintenance.afterCommit(committed)
    return { reply: decision!.reply, committed }
  } catch (error) {
    if (error === nothingToDo) return { reply: decision!.reply, committed: null }
    throw error
  }
}

const nothingToDo = new Error('nothing to do')

/** Number of attempts before a call fails with `ConcurrentModification`. */
const maxAttempts = 20
/** From this attempt on, the call has priority over other commits of this process. */
const urgentAttempt = 3

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
  return engine.turns.run(pathKey(work.id), () => tryOnNewest(engine, work, options), options.signal)
}

async function tryOnNewest<P, R>(
  engine: Engine,
  work: WorkOnNewest<P, R>,
  options: HandlerOptions,
): Promise<Outcome<R>> {
  const { signal } = options
  const named = work.find(await engine.root.refresh(signal))?.uuid
  let attempts = 0
  const once = () => {
    attempts++
    return tryOnce(engine, work, named, options)
  }
  // A commit of this process that was already queued may still win once (see `PriorityBackoff`), so try twice with priority.
  const twice = async () => (await once()) ?? (attempts < maxAttempts ? once() : null)
  while (attempts < maxAttempts) {
    const isUrgent = attempts + 1 >= urgentAttempt && named !== undefined
    if (!isUrgent && named !== undefined) await engine.urgent.yield(named, signal)
    const outcome = isUrgent ? await engine.urgent.run(named, twice, signal) : await once()
    if (outcome !== null) return outcome
    if (attempts >= urgentAttempt) {
      await engine.clock.sleep(engine.clock.random() * 2 ** Math.min(attempts, 6), signal, true)
    }
  }
  throw new SheafError(
    ErrorCode.ConcurrentModification,
    `other writers changed the table ${maxAttempts} times while this call was running`,
    { hint: 'try again' },
  )
}

async function tryOnce<P, R>(
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
  const decideIfNewest: Decide<R> = (state, at) => {
    const now = find(state)
    if (now?.uuid !== head?.uuid) throw overtaken
    if (now !== undefined && now.mark !== head!.mark) {
      const since = engine.recent.between(now.uuid, head!.mark, now.mark)
      if (since === null || !since.every(recent => outlives?.(prepared, recent))) throw overtaken
    }
    return decide(state, prepared, at)
  }
  try {
    return await commit(engine, decideIfNewest, options)
  } catch (error) {
    if (error === overtaken) return null
    throw error
  }
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

const overtaken = new Error('overtaken')

// ---- reads

/** A table at one version: its catalog entry, its manifest, and a reader. */
export interface OpenTable {
  readonly head: TableHead
  readonly version: number
  readonly layout: Layout
  readonly reader: TableReader
}

/** Open a table of the newest state at `version`, default its latest. Throws `Unsupported`, `TableNotFound`, `TableVersionNotFound`. */
export async function openTable(
  engine: Engine,
  id: readonly string[],
  version: number | undefined,
  { signal, table }: HandlerOptions,
): Promise<OpenTable> {
  const head = findTable(await engine.root.refresh(signal), id, table)
  checkRows(head)
  return openVersion(engine, head, versionOf(head, version), signal)
}

/** Open a version of a table that the state has. */
export async function openVersion(
  engine: Engine,
  head: TableHead,
  version: number,
  signal?: AbortSignal,
): Promise<OpenTable> {
  return { head, version, ...(await readerOf(engine, head, version, signal)) }
}

/** Read a committed version, also one that has expired, as long as its files exist. */
export async function readerOf(
  engine: Engine,
  table: TableAddress,
  version: number,
  signal?: AbortSignal,
): Promise<Pick<OpenTable, 'layout' | 'reader'>> {
  signal?.throwIfAborted()
  const { source, layouts } = engine
  const { location } = table
  // Nearly always the manifest is in memory.
  const layout = layouts.known?.(table, version) ?? (await layoutOf(engine, table, version, signal))
  let reader = readers.get(layout)
  if (reader === undefined) {
    const indexes = indexReaders(source, location, layout)
    const vectorIndexes = vectorIndexReaders(source, location, layout)
    const textIndexes = textIndexReaders(source, location, layout)
    reader = new TableReader(source, location, layout, indexes, vectorIndexes, textIndexes)
    readers.set(layout, reader)
  }
  return { layout, reader }
}

async function layoutOf(
  { layouts, source }: Engine,
  table: TableAddress,
  version: number,
  signal: AbortSignal | undefined,
): Promise<Layout> {
  try {
    return await layouts.at(table, version, signal)
  } catch (error) {
    signal?.throwIfAborted()
    throw (await source.explain?.(table.uuid, version, error)) ?? error
  }
}

/** Return the schema of a table's newest version. Reads nothing if the schema is in memory. */
export function schemaOf(engine: Engine, head: TableHead, signal?: AbortSignal): Promise<TableSchema> {
  return engine.layouts.schemaOf(head, head.schemaId, versionOf(head), signal)
}

/** The reader of each manifest: manifests are immutable, and a reader keeps what it learned of the files. */
const readers = new WeakMap<Layout, TableReader>()

/** Return the record of a version that the state has. */
export async function recordOf(
  engine: Engine,
  head: TableHead,
  version: number,
  signal?: AbortSignal,
): Promise<VersionRecord> {
  const record = await engine.history.find(head.uuid, version, signal)
  assert(record !== null, `version ${version} of table ${idText(head.id)} has no record`)
  return record
}

/** The folder of a table as callers see it: below the root's address. */
export function locationOf(engine: Engine, head: Pick<TableHead, 'location'>): string {
  return pathOf(engine, head.location)
}

/** A key of the store as callers see it: below the root's address. */
export function pathOf(engine: Engine, key: string): string {
  return engine.location.endsWith('/') ? engine.location + key : `${engine.location}/${key}`
}

// ---- writes

/** Where to stage rows of a table. */
export function stageTarget({ store, clock, root }: Engine, { location }: TableHead): StageTarget {
  return { store, clock, location, birth: root.head }
}

/** The version that an entry depends on, for audits of the log. */
export function requirementsOf(head: TableHead | undefined): readonly Json[] {
  return head === undefined ? [] : [{ table: head.uuid, version: latestOf(head) ?? 0 }]
}
