/** Handlers of the operations on versions: list, describe, create, delete. */
import { findTable, versionOf } from '../catalog/lookup.js'
import { isUnused, latestOf, type TableHead } from '../catalog/state.js'
import { checkIsNext, decideCreateVersion, decideDeleteVersions } from '../catalog/versions.js'
import type { ProposalPosition } from '../commit/machine.js'
import { formatTransactionId } from '../commit/transaction-id.js'
import { corrupted, ErrorCode, invalidInput, SheafError } from '../errors.js'
import type { StagedManifest } from '../manifest/lance-manifests.js'
import { numbersFrom } from '../manifest/runs.js'
import type { ManifestFile, VersionOp, VersionRecord } from '../manifest/version.js'
import { inParallel } from '../primitives/in-parallel.js'
import { Pacer } from '../primitives/pacer.js'
import type { Handler, HandlerOptions, Reply } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import { manifestName, parseManifestName } from '../protocol/manifest-name.js'
import { type Listing, paginateNumbers } from '../protocol/page.js'
import type { CreateVersionRequest } from '../protocol/version-shapes.js'
import { AlreadyCommitted, commit, type Decide, type Decision } from '../root/commit.js'
import type { Engine } from '../root/engine.js'
import { pathOf } from '../root/open-table.js'
import { current, findCurrent } from './lance-versions.js'

// ---- list, describe

/** Maximum number of manifests of Lance that are read at the same time. */
const manifestsAtOnce = 16

export const listTableVersions: Handler<Engine, 'listTableVersions'> = async (engine, request, options) => {
  const { signal } = options
  const head = await findCurrent(engine, request.id, options)
  const descending = request.descending ?? false
  const listing: Listing<number> = {
    name: 'versions',
    key: version => version,
    descending,
    scope: head.uuid,
  }
  const { items, ...next } = paginateNumbers(listing, request, (after, count) =>
    numbersFrom(head.live, after, count, descending),
  )
  const records = await recordsOf(engine, head, items, signal)
  const pacer = new Pacer(signal, engine.clock)
  const versions = await inParallel(records, manifestsAtOnce, async record => {
    if (pacer.due()) await pacer.pause()
    return describeCurrent(engine, head, record, signal)
  })
  return { versions, ...next }
}

/**
 * Return the records of versions, in the given order. Versions whose manifests a Lance engine has deleted are left out.
 */
async function recordsOf(
  engine: Engine,
  head: TableHead,
  versions: readonly number[],
  signal: AbortSignal | undefined,
): Promise<VersionRecord[]> {
  if (versions.length === 0) return []
  const [first, last] = [versions[0]!, versions.at(-1)!]
  const range = await engine.versions.history.range(
    head.uuid,
    Math.min(first, last),
    Math.max(first, last),
    signal,
  )
  const byVersion = new Map(range.map(record => [record.version, record]))
  // A version has no record if it was removed in the meantime because an engine took its number.
  const records = versions.flatMap(version => byVersion.get(version) ?? [])
  if (head.kind !== 'lance') return records
  // Look up a single manifest; list the folder for several.
  const existing = records.length === 1 ? null : await engine.versions.lance.list(head, signal)
  const found: VersionRecord[] = []
  for (const record of records) {
    const isThere =
      existing?.has(record.manifest!.path) ?? (await engine.versions.lance.isThere(record, signal))
    if (isThere) found.push(record)
    else await checkDispensable(engine, head, record, signal)
  }
  return found
}

/**
 * Check that the manifest of a version may be missing. Lance engines delete the manifests of old versions, but never
 * the manifest of the newest version.
 *
 * Throws `Internal` if the manifest of the newest version is missing. Throws `ServiceUnavailable` if it does not have
 * its final name yet, and in a read-only root, where newer versions may exist that are not recorded.
 */
async function checkDispensable(
  engine: Engine,
  { uuid, id }: TableHead,
  { version, manifest }: VersionRecord,
  signal: AbortSignal | undefined,
): Promise<void> {
  const now = (await engine.root.refresh(signal)).tables.get(uuid)
  if (now === undefined || latestOf(now) !== version || manifest === undefined) return
  const { path, staged } = manifest
  const what = `the manifest of version ${version}, the newest of table ${idText(id)},`
  if (staged !== undefined && (await engine.store.stat(`${path}-${staged}`, signal)) !== null) {
    throw new SheafError(ErrorCode.ServiceUnavailable, `${what} has no final name yet`, {
      hint: 'repeat the call in a process with write access: it gives the manifest its name',
    })
  }
  if (!engine.versions.adopts) {
    throw new SheafError(ErrorCode.ServiceUnavailable, `${what} is missing: ${path}`, {
      hint: 'a Lance engine may have written newer versions: repeat the call in a process with write access, which records them',
    })
  }
  throw corrupted(`${what} is missing: ${path}`, { hint: 'restore that file from a backup' })
}

export const describeTableVersion: Handler<Engine, 'describeTableVersion'> = async (
  engine,
  request,
  options,
) => {
  const { signal } = options
  const head = await findCurrent(engine, request.id, options, request.version)
  const version = versionOf(head, request.version)
  const record = await engine.versions.history.find(head.uuid, version, signal)
  if (record === null)
    throw versionNotFound(version, 'was removed, because a Lance engine took its number first')
  if (head.kind === 'lance' && !(await engine.versions.lance.isThere(record, signal))) {
    await checkDispensable(engine, head, record, signal)
    throw versionNotFound(version, 'was deleted by a Lance engine')
  }
  return { version: await describeCurrent(engine, head, record, signal) }
}

function versionNotFound(version: number, what: string): SheafError {
  return new SheafError(ErrorCode.TableVersionNotFound, `the manifest of version ${version} ${what}`)
}

/**
 * Describe a version. For a version that a Lance engine committed without the catalog, the time is that of its manifest.
 * The record has the time when Sheaf found the version.
 */
async function describeCurrent(
  engine: Engine,
  head: TableHead,
  record: VersionRecord,
  signal: AbortSignal | undefined,
): Promise<WireRecord> {
  const described = describeRecord(engine, head, record)
  const { version, manifest } = record
  if (head.kind !== 'lance' || manifest === undefined || manifest.staged !== undefined) return described
  const time = await engine.versions.lanceLayouts.committedAt(head, version, manifest, signal)
  return time === null ? described : { ...described, timestamp_millis: time }
}

type WireRecord = Reply<'describeTableVersion'>['version']

function describeRecord(engine: Engine, head: TableHead, record: VersionRecord): WireRecord {
  const { version, ts, kind, manifest } = record
  if (manifest !== undefined) return describeManifest(engine, head.kind, version, ts, manifest)
  // The log is authoritative. The file is derived from it, and may be written later.
  const path = pathOf(engine, `${head.location}/_versions/${manifestName(version, 'V2')}`)
  return { version, manifest_path: path, timestamp_millis: ts, metadata: { operation: kind } }
}

function describeManifest(
  engine: Engine,
  kind: TableHead['kind'],
  version: number,
  timestamp_millis: number,
  { path, size, etag, meta }: ManifestFile,
): WireRecord {
  return {
    version,
    manifest_path: kind === 'pointer' ? path : pathOf(engine, path),
    ...(size !== undefined && { manifest_size: size }),
    ...(etag !== undefined && { e_tag: etag }),
    timestamp_millis,
    metadata: meta,
  }
}

// ---- create

export const createTableVersion: Handler<Engine, 'createTableVersion'> = (engine, request, options) => {
  return engine.writers.inTurn([request.id], () => createVersion(engine, request, options), options.signal)
}

async function createVersion(
  engine: Engine,
  request: CreateVersionRequest,
  options: HandlerOptions,
): Promise<Reply<'createTableVersion'>> {
  const { signal } = options
  const { id, version } = request
  const head = await findCurrent(engine, id, options, version)
  const earlierReply = await committedBefore(engine, head, request, signal)
  if (earlierReply !== null) return earlierReply
  const staged = await prepareVersion(engine, head, request, signal)
  const decide: Decide<Reply<'createTableVersion'>> = (state, at) => {
    const now = findTable(state, id, options.table)
    const { op, record } = newVersion(engine, now, request, staged, at)
    if (isStaging(request.manifest_path)) checkPreparedOn(head, now)
    return { ops: [op], reply: { version: record, transaction_id: at.transactionId } }
  }
  if (staged === null) return (await commit(engine, decide, options)).reply
  checkIsNext(head, version)
  signal?.throwIfAborted()
  const isNamed = await nameVersion(engine, staged)
  try {
    if (!isNamed) throw versionTaken(head, version)
    // The version is committed once its manifest has the final name, so the signal no longer cancels the call.
    const { reply, committed } = await commit(engine, decide, { ...options, signal: undefined })
    if (committed?.state.tables.get(head.uuid)?.kind === 'lance') {
      await engine.versions.lance.named(head, version, staged).catch(() => {})
    }
    return reply
  } catch (error) {
    const repeatedReply = await replyAfterConflict(engine, head, request, isNamed, error)
    if (repeatedReply === null) throw error
    return repeatedReply
  }
}

/**
 * Give a staged manifest its final name. Returns false if the name is taken (`LanceManifests.name`). If the store
 * fails, the error says that the manifest may have the name.
 */
async function nameVersion(engine: Engine, staged: StagedManifest): Promise<boolean> {
  try {
    return await engine.versions.lance.name(staged)
  } catch (cause) {
    if (cause instanceof SheafError && cause.status === 400) throw cause
    throw nameUnknown(staged, cause)
  }
}

function nameUnknown({ path }: StagedManifest, cause: unknown): SheafError {
  return new SheafError(
    ErrorCode.ServiceUnavailable,
    `the outcome of the commit is unknown: the manifest may have its final name, ${path}`,
    {
      kind: 'commit-state-unknown',
      hint: 'describe the version, which records a manifest that has its final name; or send the call again',
      cause,
    },
  )
}

function versionTaken(head: TableHead, version: number): SheafError {
  return new SheafError(
    ErrorCode.ConcurrentModification,
    `another process has written version ${version} of table ${idText(head.id)} in the meantime`,
    { hint: 'read that version, and create the next version on it' },
  )
}

/**
 * Return the reply for a version that the log refused with `error`, although the version has the manifest of this call.
 * This happens if another process recorded the version, or a repeated call committed it first. Returns null if the
 * version number has another manifest; the caller can then read that version. Throws `commit-state-unknown` if the
 * manifest has its final name and may be recorded later.
 */
async function replyAfterConflict(
  engine: Engine,
  { uuid, id, location }: TableHead,
  request: CreateVersionRequest,
  isNamed: boolean,
  error: unknown,
): Promise<Reply<'createTableVersion'> | null> {
  if (error instanceof AlreadyCommitted) return null
  let isOver: boolean
  try {
    const known = (await engine.root.refresh()).tables.get(uuid)
    const now = known && (await current(engine, known))
    const repeatedReply = now && (await committedBefore(engine, now, request, undefined))
    if (repeatedReply != null) return repeatedReply
    // The outcome is open if the table was deregistered, because registering it again records the manifests at its
    // location.
    isOver = now !== undefined || engine.root.state.detached.get(location)?.uuid !== uuid
  } catch {
    isOver = false
  }
  if (!isNamed || isOver) return null
  const message = `version ${request.version} of table ${idText(id)} has its final name, but is not in the log yet`
  throw new SheafError(ErrorCode.ServiceUnavailable, message, {
    kind: 'commit-state-unknown',
    hint: 'describe the version, which records it; or send the call again',
    cause: error,
  })
}

/**
 * Return the reply of an earlier call for the same version, or null if there was none. The same staging file or the
 * same bytes mean that the call is repeated because its reply was lost (STORAGE S5).
 */
async function committedBefore(
  engine: Engine,
  head: TableHead,
  { version, manifest_path }: CreateVersionRequest,
  signal: AbortSignal | undefined,
): Promise<Reply<'createTableVersion'> | null> {
  if (head.kind !== 'lance' || isUnused(head, version)) return null
  const record = await engine.versions.history.find(head.uuid, version, signal)
  if (record === null || !(await engine.versions.lance.isStagedAgain(head, record, manifest_path, signal)))
    return null
  const transaction_id = formatTransactionId(record.slot, record.txn)
  return { version: describeRecord(engine, head, record), transaction_id }
}

/**
 * Read the manifest of a new version. Returns null if Sheaf does not open the path. `head`: the table, brought up to
 * date by `current`.
 */
export async function prepareVersion(
  engine: Engine,
  head: TableHead,
  { version, manifest_path, manifest_size }: CreateVersionRequest,
  signal: AbortSignal | undefined,
): Promise<StagedManifest | null> {
  if (!isStaging(manifest_path) || head.kind === 'pointer' || head.kind === 'sheaf') return null
  if (!isUnused(head, version)) return unreadManifest(manifest_path)
  const staged = await engine.versions.lance.staged(head, version, manifest_path, manifest_size, signal)
  await checkScheme(engine, head, staged, signal)
  return staged
}

/** Return whether a path has the name of a staged manifest. */
export function isStaging(path: string): boolean {
  return parseManifestName(path)?.staging != null
}

/** Check that all manifests of a table have names of the same scheme (rule A-129). */
async function checkScheme(
  engine: Engine,
  head: TableHead,
  { scheme, staged }: StagedManifest,
  signal: AbortSignal | undefined,
): Promise<void> {
  const latest = latestOf(head)
  if (latest === undefined) return
  const newest = await engine.versions.history.find(head.uuid, latest, signal)
  const known = newest?.manifest?.scheme
  if (known === undefined || known === scheme) return
  throw invalidInput(
    `the manifest staged as ${staged} has a name of scheme ${scheme}, but the manifests of table ${idText(head.id)} have names of scheme ${known}`,
  )
}

/**
 * Return the facts about a staged manifest without reading it. A used version number cannot be committed again, so its
 * writer may already have deleted the file.
 */
function unreadManifest(path: string): StagedManifest {
  const { scheme, staging } = parseManifestName(path)!
  return { staged: staging!, path, scheme, size: 0, crc: 0 }
}

/** Return the operation that creates a version, and the record of the version for replies. */
export function newVersion(
  engine: Engine,
  head: TableHead,
  request: CreateVersionRequest,
  staged: StagedManifest | null,
  at: ProposalPosition,
): { readonly op: VersionOp; readonly record: WireRecord } {
  const { version, manifest_path, manifest_size, e_tag, metadata = {}, naming_scheme } = request
  const common = { ...(e_tag !== undefined && { etag: e_tag }), meta: metadata }
  // The table may have become a pointer table after its manifest was read.
  const isPointer = staged === null || head.kind === 'pointer'
  const manifest: ManifestFile = isPointer
    ? {
        path: manifest_path,
        scheme: naming_scheme ?? parseManifestName(manifest_path)?.scheme ?? 'V2',
        ...(manifest_size !== undefined && { size: manifest_size }),
        ...common,
      }
    : { ...staged, ...common }
  const op = decideCreateVersion(head, version, isPointer ? 'pointer' : 'lance', manifest)
  return { op, record: describeManifest(engine, op.kind, version, at.ts, manifest) }
}

/**
 * Check that the table is unchanged since the version was prepared. Throws `ConcurrentModification` if a Lance table
 * has changed, or if another table has its name.
 *
 * The preparation of a version gives the previous version its final name. So no other version may be committed between
 * the two.
 */
export function checkPreparedOn(prepared: TableHead, now: TableHead | undefined): void {
  if (now?.uuid === prepared.uuid && (now.mark === prepared.mark || now.kind === 'pointer')) return
  const message = `table ${idText(prepared.id)} was changed or replaced while its version was being committed`
  throw new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
}

// ---- delete

export const batchDeleteTableVersions: Handler<Engine, 'batchDeleteTableVersions'> = async (
  engine,
  request,
  options,
) => {
  const { reply } = await commit(
    engine,
    (state, at) => deleteVersions(findTable(state, request.id, options.table), request.ranges, at),
    options,
  )
  return reply
}

/** Decide the deletion of ranges of versions. If the ranges contain no version, nothing is committed. */
export function deleteVersions(
  head: TableHead,
  ranges: readonly { readonly start_version: number; readonly end_version: number }[],
  { transactionId }: ProposalPosition,
): Decision<Reply<'batchDeleteTableVersions'>> {
  const { op, count } = decideDeleteVersions(head, ranges)
  return op === null
    ? { ops: [], reply: { deleted_count: 0 } }
    : { ops: [op], reply: { deleted_count: count, transaction_id: transactionId } }
}
