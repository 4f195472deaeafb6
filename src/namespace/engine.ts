/** One opened root: what handlers work on, and the few steps all of them share. */
import { findTable, versionOf } from '../catalog/lookup.js'
import type { CatalogOp } from '../catalog/ops.js'
import { type CatalogState, pathKey, type TableHead } from '../catalog/state.js'
import type { Committer } from '../commit/committer.js'
import type { Committed, Json, ProposalPosition } from '../commit/machine.js'
import { ErrorCode, SheafError } from '../errors.js'
import type { Layout } from '../manifest/layout.js'
import type { LayoutStore } from '../manifest/layout-store.js'
import type { VersionRecord } from '../manifest/version.js'
import type { Clock } from '../primitives/clock.js'
import type { KeyedMutex } from '../primitives/keyed-mutex.js'
import type { BlobStore } from '../storage/blob-store.js'
import { TableReader } from '../table/table-reader.js'
import type { TableSource } from '../table/table-source.js'

export interface Engine {
  /** Where the root lies, for `location` in answers: an absolute path, or `memory://`. */
  readonly location: string
  readonly store: BlobStore
  readonly committer: Committer<CatalogState>
  readonly layouts: LayoutStore
  readonly source: TableSource
  readonly clock: Clock
  /** By table path: calls of this process that work on a table's newest version take turns; none waits for a client. */
  readonly turns: KeyedMutex
  /** By table path: calls of this process that create a table which is not there yet take turns, uploads included. */
  readonly creations: KeyedMutex
}

/** What a decision comes to: operations in order, the blobs they refer to, what they were decided on. */
export interface Decision {
  readonly ops: readonly CatalogOp[]
  readonly blobs?: readonly Uint8Array[]
  readonly req?: readonly Json[]
}

export type Decide = (state: CatalogState, at: ProposalPosition) => Decision

/**
 * Commits what `decide` decides on the state the entry will follow. Null: there was nothing to do. `decide` runs
 * again after a lost race, so all it knows of the state it must take from its argument.
 */
export async function commit(
  engine: Engine,
  decide: Decide,
  signal?: AbortSignal,
): Promise<Committed<CatalogState> | null> {
  const propose = (state: CatalogState, at: ProposalPosition) => {
    const { ops, blobs, req } = decide(state, at)
    if (ops.length === 0) throw nothingToDo
    return { ops: ops as unknown as readonly Json[], blobs: blobs ?? [], req: req ?? [] }
  }
  try {
    return await engine.committer.commit(propose, signal === undefined ? {} : { signal })
  } catch (error) {
    if (error === nothingToDo) return null
    throw error
  }
}

const nothingToDo = new Error('nothing to do')

/** Times a call starts over on a newer version before it gives up. */
const maxAttempts = 20

/**
 * Commits a change that was worked out on the table's newest version, and only if that is still the newest: else it
 * is worked out again. `prepare` may read; `decide` numbers what it found. Calls on one table
 * take turns, so they lose only to appends and to other processes. Throws code 14 after 20 lost races.
 */
export function commitOnNewest<P>(
  engine: Engine,
  id: readonly string[],
  find: (state: CatalogState) => TableHead | undefined,
  prepare: (open: OpenTable | null) => Promise<P>,
  decide: (state: CatalogState, prepared: P, at: ProposalPosition) => Decision,
  signal?: AbortSignal,
): Promise<OnNewest<P>> {
  return engine.turns.run(pathKey(id), () => tryOnNewest(engine, find, prepare, decide, signal), signal)
}

export interface OnNewest<P> {
  readonly prepared: P
  /** Null: there was nothing to do. */
  readonly committed: Committed<CatalogState> | null
}

async function tryOnNewest<P>(
  engine: Engine,
  find: (state: CatalogState) => TableHead | undefined,
  prepare: (open: OpenTable | null) => Promise<P>,
  decide: (state: CatalogState, prepared: P, at: ProposalPosition) => Decision,
  signal?: AbortSignal,
): Promise<OnNewest<P>> {
  for (let attempt = 1; ; attempt++) {
    const head = find(await engine.committer.refresh(signal))
    const prepared = await prepare(
      head?.latest == null ? null : await openVersion(engine, head, head.latest, signal),
    )
    const decideIfNewest: Decide = (state, at) => {
      const now = find(state)
      if (now?.uuid !== head?.uuid || now?.mark !== head?.mark) throw overtaken
      return decide(state, prepared, at)
    }
    try {
      return { prepared, committed: await commit(engine, decideIfNewest, signal) }
    } catch (error) {
      if (error !== overtaken) throw error
      if (attempt === maxAttempts) {
        throw new SheafError(
          ErrorCode.ConcurrentModification,
          `other writers changed the table ${attempt} times while this call was at work`,
          { hint: 'try again' },
        )
      }
      await engine.clock.sleep(engine.clock.random() * 2 ** Math.min(attempt, 6), signal, true)
    }
  }
}

const overtaken = new Error('overtaken')

/** `transaction_id` of a reply, where something was committed. */
export function transactionOf(committed: Committed<CatalogState> | null): { transaction_id?: string } {
  return committed === null ? {} : { transaction_id: committed.transactionId }
}

/** A table at one version: what the catalog says, where the rows lie, and a reader of them. */
export interface OpenTable {
  readonly head: TableHead
  readonly record: VersionRecord
  readonly layout: Layout
  readonly reader: TableReader
}

/** The newest state, then the table in it, at `version` or its latest. Throws codes 4 and 11. */
export async function openTable(
  engine: Engine,
  id: readonly string[],
  version?: number,
  signal?: AbortSignal,
): Promise<OpenTable> {
  const head = findTable(await engine.committer.refresh(signal), id)
  return openVersion(engine, head, versionOf(head, version), signal)
}

export async function openVersion(
  engine: Engine,
  head: TableHead,
  record: VersionRecord,
  signal?: AbortSignal,
): Promise<OpenTable> {
  const layout = await engine.layouts.at(head.uuid, record, signal)
  let reader = readers.get(layout)
  if (reader === undefined) {
    reader = new TableReader(engine.source, head.location, layout)
    readers.set(layout, reader)
  }
  return { head, record, layout, reader }
}

/** A layout is immutable and its reader keeps what it learned of its files, so they live as long as each other. */
const readers = new WeakMap<Layout, TableReader>()

/** The folder of a table as callers see it. */
export function locationOf(engine: Engine, head: TableHead): string {
  return engine.location.endsWith('/')
    ? engine.location + head.location
    : `${engine.location}/${head.location}`
}
