/**
 * Keeps the log and the location of a Lance engine's table consistent.
 *
 * - A manifest with a final name is a commit, whichever process wrote it. Before the catalog answers for a table, it
 *   looks for the manifest of the next version, and records all that follow. It lists the folder if the newest known
 *   version is missing, or if a call asks for a version beyond the next.
 * - Versions of a batch get their final names after their slot is committed. If an engine took such a name first, the
 *   log gives the version number to the engine.
 * - Read-only roots, snapshots and transactions record nothing: they answer from the log.
 */
import type { CatalogEntry } from '../catalog/log-types.js'
import { findTable, mayHaveManifests } from '../catalog/lookup.js'
import { type CatalogState, latestOf, type TableHead } from '../catalog/state.js'
import { decideAdoption, decideTaken, type NewManifest } from '../catalog/versions.js'
import { ErrorCode, SheafError } from '../errors.js'
import type { VersionOp, VersionRecord } from '../manifest/version.js'
import type { HandlerOptions } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import { commit } from '../root/commit.js'
import type { Engine } from '../root/engine.js'

/** Most versions that one entry records. */
const recordedAtOnce = 1000

/**
 * Find a table by name (`findTable`), and record all versions at its location. `requestedVersion`: a version that the caller
 * wants to read or create. If the location cannot be read, throws the store's error, and names the newest version of
 * the log.
 */
export async function findCurrent(
  engine: Engine,
  id: readonly string[],
  { signal, table }: HandlerOptions,
  requestedVersion?: number,
): Promise<TableHead> {
  return current(engine, findTable(await engine.root.refresh(signal), id, table), signal, requestedVersion)
}

/** Like `findCurrent`, for a table that was found a moment ago. */
export async function current(
  engine: Engine,
  head: TableHead,
  signal?: AbortSignal,
  requestedVersion = 0,
): Promise<TableHead> {
  for (let now = head; ; ) {
    now = await finaliseNewest(engine, now, signal)
    if (!engine.versions.adopts || !mayHaveManifests(now)) return now
    const found = await newManifests(engine, now, requestedVersion, signal)
    if (found.length === 0) return now
    const { uuid } = now
    await commit(engine, state => {
      const newest = state.tables.get(uuid)
      return { ops: newest === undefined ? [] : decideAdoption(newest, found), reply: null }
    })
    now = findTable(engine.root.state, now.id, uuid)
  }
}

/** Return the manifests of versions that the log does not have. */
function newManifests(
  engine: Engine,
  head: TableHead,
  requestedVersion: number,
  signal: AbortSignal | undefined,
): Promise<readonly NewManifest[]> {
  const latest = latestOf(head)
  return atLocation(head, signal, async () => {
    const { mark } = head
    const following = await engine.versions.lance.following(head, mark, recordedAtOnce, signal)
    if (following.length > 0) return following
    const isNext = requestedVersion <= mark + 1
    if (isNext && (latest === undefined || (await engine.versions.lance.has(head, latest, signal)))) return []
    return engine.versions.lance.above(head, mark, recordedAtOnce, signal)
  })
}

/** List the manifests of versions above those in the log. */
export function manifestsAbove(
  engine: Engine,
  head: TableHead,
  signal: AbortSignal | undefined,
): Promise<readonly NewManifest[]> {
  return atLocation(head, signal, () => engine.versions.lance.above(head, head.mark, recordedAtOnce, signal))
}

/** Read the location of a table. If it cannot be read, the error names the newest version of the log. */
async function atLocation<T>(
  head: TableHead,
  signal: AbortSignal | undefined,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read()
  } catch (error) {
    signal?.throwIfAborted()
    if (!(error instanceof SheafError)) throw error
    const { code, status, kind, hint, message } = error
    const latest = latestOf(head)
    const newest = latest === undefined ? 'the log has none yet' : `the newest in the log is ${latest}`
    throw new SheafError(
      code,
      `the versions of table ${idText(head.id)} cannot be read at its location (${newest}): ${message}`,
      { status, kind, hint, cause: error },
    )
  }
}

/**
 * Give the newest version of a table its final name, and all versions of the same commit, so that callers can open
 * the versions of a reply. Earlier versions have final names, because every commit does this first. Returns the table
 * after that.
 */
async function finaliseNewest(engine: Engine, head: TableHead, signal?: AbortSignal): Promise<TableHead> {
  for (let now = head; ; now = findTable(await engine.root.refresh(signal), now.id, now.uuid)) {
    const latest = latestOf(now)
    if (now.kind !== 'lance' || latest === undefined || engine.versions.lance.isFinal(now, latest)) return now
    const newest = await engine.versions.history.find(now.uuid, latest, signal)
    // An entry that was committed since has taken the version back.
    if (newest === null && engine.versions.adopts) continue
    const taken = newest && (await finaliseTogether(engine, now, newest, signal))
    if (taken === null) return now
    if (!engine.versions.adopts) throw versionTaken(now, taken.version)
    const known = now
    await commit(engine, state => {
      return { ops: isAsKnown(state, known) ? decideTaken(known, taken) : [], reply: null }
    })
  }
}

/** Return whether a table is unchanged; otherwise it must be looked up again. */
function isAsKnown(state: CatalogState, known: TableHead): boolean {
  return state.tables.get(known.uuid) === known
}

/** Return the first version of the newest commit whose name an engine took; null if all have their names. */
async function finaliseTogether(
  engine: Engine,
  head: TableHead,
  newest: VersionRecord,
  signal: AbortSignal | undefined,
): Promise<NewManifest | null> {
  if (newest.manifest?.staged === undefined) return null
  const together = [newest]
  for (let version = newest.version - 1; ; version--) {
    const before = await engine.versions.history.find(head.uuid, version, signal)
    if (before?.txn !== newest.txn) break
    together.push(before)
  }
  for (const record of together.reverse()) {
    const manifest = await engine.versions.lance.finalise(head, record, signal)
    if (manifest !== null) return { version: record.version, manifest }
  }
  return null
}

function versionTaken(head: TableHead, version: number): SheafError {
  return new SheafError(
    ErrorCode.ServiceUnavailable,
    `version ${version} of table ${idText(head.id)} got another manifest from a Lance engine, which the log does not have yet`,
    { hint: 'list the versions in a process with write access, which records it' },
  )
}

/** Give the manifests of the versions that an entry created their final names. */
export async function finaliseEntry(engine: Engine, entry: CatalogEntry): Promise<void> {
  for (const { t } of stagedIn(entry)) {
    const head = engine.root.state.tables.get(t)
    if (head !== undefined) await finaliseNewest(engine, head)
  }
}

/**
 * Throws `ConcurrentModification` if a Lance engine took a version number of a batch's entry. The message names the
 * tables that the batch did change.
 */
export async function checkNamed(engine: Engine, entry: CatalogEntry, transactionId: string): Promise<void> {
  const taken = new Map<string, number>()
  for (const { t, v, manifest } of stagedIn(entry)) {
    const record = await engine.versions.history.find(t, v)
    if (record?.kind === 'taken' && record.manifest?.staged !== manifest.staged) taken.set(t, v)
  }
  if (taken.size === 0) return
  const names = namesIn(engine.root.state, entry)
  const takenVersions = [...taken].map(([t, v]) => `version ${v} of table ${names.get(t)}`).join(', ')
  for (const t of taken.keys()) names.delete(t)
  const changed = [...names.values()].join(', ')
  throw new SheafError(
    ErrorCode.ConcurrentModification,
    `while this batch was committed, a Lance engine wrote ${takenVersions} without the catalog, and keeps that number; ${
      changed === '' ? 'the batch changed no other table' : `the batch did change table ${changed}`
    }`,
    {
      transactionId,
      hint: 'make the next version of the table on top of that of the engine; do not send the whole batch again',
    },
  )
}

function stagedIn({ ops }: CatalogEntry): readonly VersionOp[] {
  return ops.flatMap(op => (op.op === 'version' && op.manifest.staged !== undefined ? op : []))
}

/** Return the names of the tables that an entry changed, by uuid. */
function namesIn({ tables, detached }: CatalogState, { ops }: CatalogEntry): Map<string, string> {
  const detachedHeads = new Map([...detached].map(([, head]) => [head.uuid, head]))
  const names = new Map<string, string>()
  for (const op of ops) {
    if (!('t' in op) || op.t === undefined) continue
    const head = tables.get(op.t) ?? detachedHeads.get(op.t)
    names.set(op.t, head === undefined ? op.t : idText(head.id))
  }
  return names
}
