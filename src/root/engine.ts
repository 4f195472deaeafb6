/** One opened root: what handlers work on, and the few steps all of them share. */
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

/** The log as handlers see it: the committer's, or one that stands still (a snapshot). */
export interface Root {
  readonly state: CatalogState
  /** The newest slot in `state`. */
  readonly head: number
  refresh(signal?: AbortSignal): Promise<CatalogState>
  commit(propose: Propose<CatalogState>, options?: CommitOptions): Promise<Committed<CatalogState>>
}

export interface Engine {
  /** Where the root lies, for `location` in answers: an absolute path, or `memory://`. */
  readonly location: string
  readonly store: BlobStore
  readonly root: Root
  readonly slots: SlotReader
  readonly history: Pick<History, 'find' | 'range'>
  readonly layouts: Pick<LayoutStore, 'at' | 'schemaOf'> & Partial<Pick<LayoutStore, 'known'>>
  readonly recent: Pick<RecentChanges, 'between'>
  readonly lance: LanceManifests
  /** Whether versions that a Lance engine wrote without asking are recorded: not in a root that is read-only, nor in a snapshot or a transaction. */
  readonly adopts: boolean
  readonly jobs: JobRunner<CatalogState>
  /** Told of every commit; works in the background (maintenance/). */
  readonly maintenance: { afterCommit(committed: Committed<CatalogState>): void }
  readonly pins: Pins
  /** Uploads in parts that this process serves. */
  readonly uploads: Holds
  /** Read sessions that this process serves, and what their tokens are sealed with. */
  readonly sessions: Holds
  readonly tokens: SessionTokens
  /** Calls of this process that write. */
  readonly underWay: UnderWay
  readonly source: TableSource
  readonly clock: Clock
  /** Those that can fill columns. */
  readonly functions: readonly ColumnFunction[]
  /** Threads that one index is built with at most. */
  readonly buildThreads: number
  /** By table path: calls of this process that work on a table's newest version take turns; none waits for a client. */
  readonly turns: KeyedMutex
  /**
   * By table uuid: who has lost several races for its commit holds up the commits of this process to that table, for as long
   * as it takes to look at what came meanwhile.
   */
  readonly urgent: PriorityBackoff
  /** Calls under way; and transactions, which take the time their callers do. */
  readonly calls: Activity
  readonly drafts: Activity
  /** By table path: calls of this process that create a table which is not there yet take turns, uploads included. */
  readonly creations: KeyedMutex
}

// ---- commits

/** What a decision comes to: operations in order, the blobs they refer to, what they were decided on, what to answer. */
export interface Decision<R> {
  /** None: there is nothing to do. */
  readonly ops: readonly CatalogOp[]
  readonly blobs?: readonly Uint8Array[]
  readonly req?: readonly Json[]
  /** Features that who reads it must know. */
  readonly need?: readonly string[]
  /** The whole reply of the call, its transaction id included: a call sent again is answered with it. */
  readonly reply: R
}

export type Decide<R> = (state: CatalogState, at: ProposalPosition) => Decision<R>

export interface Outcome<R> {
  readonly reply: R
  /** Null: there was nothing to do. */
  readonly committed: Committed<CatalogState> | null
}

/** The call was committed before, under its key. */
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
 * Throws `AlreadyCommitted` for a key that was committed with the same call, code 13 for one that was committed with another
 * request or other rows. Whether the rows are the same is known once they were read.
 */
export function checkKey(state: CatalogState, callKey: CallKey | undefined): void {
  if (callKey === undefined) return
  const known = state.keys.get(callKey.key)
  if (known === undefined) return
  if (!callKey.mayBe(known.hash)) {
    throw invalidInput('the idempotency key was used before, for another request or for other rows', {
      status: 422,
      hint: 'use a fresh key for every new call',
    })
  }
  if (!callKey.lacksRows) throw new AlreadyCommitted(known.slot, known.entry)
}

/**
 * Commits what `decide` decides on the state the entry will follow. `decide` runs again after a lost race, so all it
 * knows of the state it must take from its argument.
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

/** Times a call starts over on a newer version before it gives up. */
const maxAttempts = 20
/** From this attempt on it is urgent. */
const urgentAttempt = 3

/** A change that is worked out on the newest version of a table. */
export interface WorkOnNewest<P, R> {
  /** Names the table among the turns of this process. */
  readonly id: readonly string[]
  /** The table, on any state; may throw. */
  readonly find: (state: CatalogState) => TableHead | undefined
  /** May read. */
  readonly prepare: (open: OpenTable | null) => Promise<P>
  /** Numbers what `prepare` found. */
  readonly decide: (state: CatalogState, prepared: P, at: ProposalPosition) => Decision<R>
  /** Whether what `prepare` found is the same after a change that came since; default: after none is it. */
  readonly outlives?: (prepared: P, recent: RecentChange) => boolean
}

/**
 * Commits a change only if the version it was worked out on is still the newest, or what came since leaves it as it is: else
 * it is worked out again. Calls on one table take turns, so they lose only to appends they must look at, to transactions,
 * and to other processes. Throws code 14 after 20 lost races, and when another table got the name meanwhile.
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
  // Commits of this process that were on their way may still come between once, as `PriorityBackoff` tells.
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
    `other writers changed the table ${maxAttempts} times while this call was at work`,
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

/** What was worked out for one table is nothing to another that has its name since. */
function checkSame(id: readonly string[], named: string | undefined, head: TableHead | undefined): void {
  if (head?.uuid === named) return
  throw new SheafError(
    ErrorCode.ConcurrentModification,
    `table ${idText(id)} was replaced by another while this call was at work`,
    { hint: 'try again' },
  )
}

const overtaken = new Error('overtaken')

// ---- reads

/** A table at one version: what the catalog says, where the rows lie, and a reader of them. */
export interface OpenTable {
  readonly head: TableHead
  readonly version: number
  readonly layout: Layout
  readonly reader: TableReader
}

/** The newest state, then the table in it, at `version` or its latest. Throws codes 0, 4 and 11. */
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

export async function openVersion(
  engine: Engine,
  head: TableHead,
  version: number,
  signal?: AbortSignal,
): Promise<OpenTable> {
  return { head, version, ...(await readerOf(engine, head, version, signal)) }
}

/** A version that was committed, whether it exists still or not, as long as its files do. */
export async function readerOf(
  engine: Engine,
  table: TableAddress,
  version: number,
  signal?: AbortSignal,
): Promise<Pick<OpenTable, 'layout' | 'reader'>> {
  signal?.throwIfAborted()
  const { source, layouts } = engine
  const { location } = table
  // Nearly always it is there.
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

/** The schema of a table's newest version. Reads nothing where it was seen before. */
export function schemaOf(engine: Engine, head: TableHead, signal?: AbortSignal): Promise<TableSchema> {
  return engine.layouts.schemaOf(head, head.schemaId, versionOf(head), signal)
}

/** A layout is immutable and its reader keeps what it learned of its files, so they live as long as each other. */
const readers = new WeakMap<Layout, TableReader>()

/** The record of a version that the state says there is. */
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

/** The folder of a table as callers see it. */
export function locationOf(engine: Engine, head: Pick<TableHead, 'location'>): string {
  return pathOf(engine, head.location)
}

/** A key of the store as callers see it. */
export function pathOf(engine: Engine, key: string): string {
  return engine.location.endsWith('/') ? engine.location + key : `${engine.location}/${key}`
}

// ---- writes

/** Where rows of a table are staged. */
export function stageTarget({ store, clock, root }: Engine, { location }: TableHead): StageTarget {
  return { store, clock, location, birth: root.head }
}

/** What an entry was decided on, for audits of the log. */
export function requirementsOf(head: TableHead | undefined): readonly Json[] {
  return head === undefined ? [] : [{ table: head.uuid, version: latestOf(head) ?? 0 }]
}
