/**
 * Keeps the log consistent with the files of tables whose rows a Lance engine stores.
 *
 * - A manifest with a final name is a commit, whichever process wrote it. Before Sheaf answers a call about a table, it
 *   looks for the manifest of the next version. If this manifest exists, Sheaf records it and the following ones in the
 *   log. Sheaf lists the folder only if the newest known manifest is missing, or if a call needs a version beyond the
 *   next one.
 * - Versions of a batch get their final names after the slot of the batch is committed. If an engine took one of these
 *   names first, the version number belongs to the engine, and Sheaf records this in the log.
 * - Read-only roots, snapshots and transactions record nothing. They answer from the log.
 */
import type { CatalogEntry } from '../catalog/log-types.js'
import { checkRows, findTable, mayHaveManifests, versionOf } from '../catalog/lookup.js'
import { type CatalogState, latestOf, type TableHead } from '../catalog/state.js'
import { decideAdoption, decideTaken, type NewManifest } from '../catalog/versions.js'
import { ErrorCode, SheafError } from '../errors.js'
import type { VersionOp, VersionRecord } from '../manifest/version.js'
import type { HandlerOptions } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import { commit } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { type OpenTable, openVersion } from '../root/open-table.js'

/** Maximum number of versions that one entry of the log records. */
const recordedAtOnce = 1000

/**
 * Find a table by name (`findTable`), and record new versions at its location. `requestedVersion`: the version that the
 * caller wants to read or create. If the location cannot be read, throws the error of the store; its message contains
 * the newest version in the log.
 */
export async function findCurrent(
  engine: Engine,
  id: readonly string[],
  { signal, table }: HandlerOptions,
  requestedVersion?: number,
): Promise<TableHead> {
  return current(engine, findTable(await engine.root.refresh(signal), id, table), signal, requestedVersion)
}

/**
 * Return a table that queries can read, with new versions at its location. Throws Unsupported for a table whose rows are
 * outside of the root.
 */
export async function readable(
  engine: Engine,
  head: TableHead,
  signal: AbortSignal | undefined,
  requestedVersion?: number,
): Promise<TableHead> {
  const now = mayHaveManifests(head) ? await current(engine, head, signal, requestedVersion) : head
  if (now.kind !== 'lance') checkRows(now)
  return now
}

/** Find a table, and open a version that queries can read. `version`: default is the newest version. */
export async function openReadable(
  engine: Engine,
  id: readonly string[],
  version: number | undefined,
  { signal, table }: HandlerOptions,
): Promise<OpenTable> {
  const head = await readable(
    engine,
    findTable(await engine.root.refresh(signal), id, table),
    signal,
    version,
  )
  return openVersion(engine, head, versionOf(head, version), signal)
}

/** Record new versions at the location of a table that was just found. See `findCurrent` for the parameters. */
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

/** Return the manifests of versions that are not in the log yet. */
function newManifests(
  engine: Engine,
  head: TableHead,
  requestedVersion: number,
  signal: AbortSignal | undefined,
): Promise<readonly NewManifest[]> {
  const latest = latestOf(head)
  return atLocation(head, signal, async () => {
    const { mark } = head
    const [following, hasLatest] = await Promise.all([
      engine.versions.lance.following(head, mark, recordedAtOnce, signal),
      latest === undefined || engine.versions.lance.has(head, latest, signal),
    ])
    if (following.length > 0) return following
    if (requestedVersion <= mark + 1 && hasLatest) return []
    return engine.versions.lance.above(head, mark, recordedAtOnce, signal)
  })
}

/** Return the manifests of all versions above the newest version in the log. */
export function manifestsAbove(
  engine: Engine,
  head: TableHead,
  signal: AbortSignal | undefined,
): Promise<readonly NewManifest[]> {
  return atLocation(head, signal, () => engine.versions.lance.above(head, head.mark, recordedAtOnce, signal))
}

/**
 * Run `read`, which reads the location of a table. If it fails, the message of the error contains the newest version in
 * the log.
 */
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
 * Give the newest version of a table its final name, and also the other versions of the same commit, so that callers
 * can open them. Earlier versions already have final names, because every commit does this first. Returns the table
 * after that.
 */
async function finaliseNewest(engine: Engine, head: TableHead, signal?: AbortSignal): Promise<TableHead> {
  for (let now = head; ; now = findTable(await engine.root.refresh(signal), now.id, now.uuid)) {
    const latest = latestOf(now)
    if (now.kind !== 'lance' || latest === undefined || engine.versions.lance.isFinal(now, latest)) return now
    const newest = await engine.versions.history.find(now.uuid, latest, signal)
    // A later entry has removed this version from the table.
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

/** Return whether a table is unchanged. If it is not, the caller must look it up again. */
function isAsKnown(state: CatalogState, known: TableHead): boolean {
  return state.tables.get(known.uuid) === known
}

/**
 * Give all versions of the newest commit their final names. Returns the first version whose name an engine took, or
 * null if there is none.
 */
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
    `version ${version} of table ${idText(head.id)} has another manifest, which a Lance engine wrote and which is not in the log yet`,
    { hint: 'list the versions in a process with write access: this records the version' },
  )
}

/** Give the final names to the manifests of the versions that an entry created. */
export async function finaliseEntry(engine: Engine, entry: CatalogEntry): Promise<void> {
  for (const { t } of stagedIn(entry)) {
    const head = engine.root.state.tables.get(t)
    if (head !== undefined) await finaliseNewest(engine, head)
  }
}

/**
 * Throw `ConcurrentModification` if a Lance engine took a version number of the entry of a batch. The message contains
 * the tables that the batch changed.
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
    `while this batch was committed, a Lance engine wrote ${takenVersions} without the catalog, so the number belongs to the engine; ${
      changed === '' ? 'the batch changed no other table' : `the batch changed table ${changed}`
    }`,
    {
      transactionId,
      hint: 'create the next version of the table on the version of the engine; do not send the whole batch again',
    },
  )
}

function stagedIn({ ops }: CatalogEntry): readonly VersionOp[] {
  return ops.flatMap(op => (op.op === 'version' && op.manifest.staged !== undefined ? op : []))
}

/** Return the names of the tables that an entry changed, by UUID. */
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
