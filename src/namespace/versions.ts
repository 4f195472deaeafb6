/** Handlers of the operations on versions. */
import { findTable, idText, versionOf } from '../catalog/lookup.js'
import type { CatalogOp } from '../catalog/ops.js'
import { type CatalogState, isUnused, latestOf, type TableHead } from '../catalog/state.js'
import { decideCreateVersion, decideDeleteVersions } from '../catalog/versions.js'
import type { Committed, Entry, ProposalPosition } from '../commit/machine.js'
import { formatTransactionId } from '../commit/transaction-id.js'
import { corrupted, ErrorCode, invalidInput, SheafError } from '../errors.js'
import type { FinalManifest, StagedManifest } from '../manifest/lance-manifests.js'
import { numbersFrom } from '../manifest/runs.js'
import type { ManifestFile, VersionOp, VersionRecord } from '../manifest/version.js'
import { Pacer } from '../primitives/pacer.js'
import type { Handler, Reply } from '../protocol/calls.js'
import { manifestName, parseManifestName } from '../protocol/manifest-name.js'
import { type Listing, paginateNumbers } from '../protocol/page.js'
import type { CreateVersionRequest } from '../protocol/version-shapes.js'
import { commit, type Decision, type Engine, pathOf, recordOf } from './engine.js'

// ---- looking

/** Records described between two looks at the clock. */
const describedAtOnce = 256

export const listTableVersions: Handler<Engine, 'listTableVersions'> = async (engine, request, options) => {
  const { signal } = options
  const head = findTable(await engine.root.refresh(signal), request.id, options.table)
  await finaliseNewest(engine, head, signal)
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
  const versions: WireRecord[] = []
  const pacer = new Pacer(signal, engine.clock)
  for (const [i, record] of records.entries()) {
    versions.push(describeRecord(engine, head, record))
    if (i % describedAtOnce === 0) await pacer.turn()
  }
  return { versions, ...next }
}

/** The records of versions, in the order given, but for those whose manifests a Lance engine has deleted meanwhile. */
async function recordsOf(
  engine: Engine,
  head: TableHead,
  versions: readonly number[],
  signal: AbortSignal | undefined,
): Promise<VersionRecord[]> {
  if (versions.length === 0) return []
  const [first, last] = [versions[0]!, versions.at(-1)!]
  const range = await engine.history.range(head.uuid, Math.min(first, last), Math.max(first, last), signal)
  const byVersion = new Map(range.map(record => [record.version, record]))
  const records = versions.map(version => byVersion.get(version)!)
  if (head.kind !== 'lance') return records
  // One is cheaper looked at, many are cheaper listed.
  const there = records.length === 1 ? null : await engine.lance.list(head, signal)
  const found: VersionRecord[] = []
  for (const record of records) {
    const isThere = there?.has(record.manifest!.path) ?? (await engine.lance.isThere(record, signal))
    if (isThere) found.push(record)
    else await checkDispensable(engine, head, record, signal)
  }
  return found
}

/**
 * Lance engines delete manifests of old versions, never the one of the newest: throws corrupted where that is gone, ServiceUnavailable (17) where
 * it waits for its final name in a root that is read-only.
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
      hint: 'ask a process that may write: it names it',
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
  const head = findTable(await engine.root.refresh(signal), request.id, options.table)
  const version = versionOf(head, request.version)
  if (version === latestOf(head)) await finaliseNewest(engine, head, signal)
  const record = await recordOf(engine, head, version, signal)
  if (head.kind === 'lance' && !(await engine.lance.isThere(record, signal))) {
    await checkDispensable(engine, head, record, signal)
    const message = `the manifest of version ${version} was deleted by a Lance engine`
    throw new SheafError(ErrorCode.TableVersionNotFound, message)
  }
  return { version: describeRecord(engine, head, record) }
}

/**
 * What an answer about a lance table names can be opened (STORAGE S6): its newest version, and those of the same commit, gets
 * its final name. Whoever made that commit did so for all before it.
 */
export async function finaliseNewest(engine: Engine, head: TableHead, signal?: AbortSignal): Promise<void> {
  const latest = latestOf(head)
  if (head.kind !== 'lance' || latest === undefined || engine.lance.isFinal(head, latest)) return
  const newest = await recordOf(engine, head, latest, signal)
  if (newest.manifest?.staged === undefined) return
  const together = [newest]
  for (let version = latest - 1; ; version--) {
    const before = await engine.history.find(head.uuid, version, signal)
    if (before?.txn !== newest.txn) break
    together.push(before)
  }
  for (const record of together.reverse()) await engine.lance.finalise(head, record, signal)
}

type WireRecord = Reply<'describeTableVersion'>['version']

function describeRecord(engine: Engine, head: TableHead, record: VersionRecord): WireRecord {
  const { version, ts, kind, manifest } = record
  if (manifest !== undefined) return describeManifest(engine, head.kind, version, ts, manifest)
  // The log is the truth, the file a stored layout that may be written later.
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

// ---- creating

export const createTableVersion: Handler<Engine, 'createTableVersion'> = async (engine, request, options) => {
  const { signal } = options
  const head = findTable(await engine.root.refresh(signal), request.id, options.table)
  const again = await committedBefore(engine, head, request, signal)
  if (again !== null) return again
  try {
    const staged = await prepareVersion(engine, head, request, signal)
    const decide = (state: CatalogState, at: ProposalPosition) => {
      const now = findTable(state, request.id, options.table)
      const { op, record } = newVersion(engine, now, request, staged, at)
      if (staged !== null) checkPreparedOn(head, now)
      return { ops: [op], reply: { version: record, transaction_id: at.transactionId } }
    }
    const { reply, committed } = await commit(engine, decide, options)
    await finaliseCommitted(engine, committed!)
    return reply
  } catch (error) {
    if (error instanceof SheafError && error.kind === 'commit-state-unknown') throw error
    const now = engine.root.state.tables.get(head.uuid)
    if (!(error instanceof SheafError) || now === undefined) throw error
    // Its twin may have been first, and have taken the staging file away.
    const twin = await committedBefore(engine, now, request, signal)
    if (twin !== null) return twin
    // Whoever is told that a version is taken can look at the one that won.
    if (error.status === 409) await finaliseNewest(engine, now)
    throw error
  }
}

/** The same staging file again means the same call again: its reply was lost (STORAGE S5). */
async function committedBefore(
  engine: Engine,
  head: TableHead,
  { version, manifest_path }: CreateVersionRequest,
  signal: AbortSignal | undefined,
): Promise<Reply<'createTableVersion'> | null> {
  const staging = parseManifestName(manifest_path)?.staging
  if (staging == null || head.kind !== 'lance') return null
  const record = await engine.history.find(head.uuid, version, signal)
  if (record?.manifest?.staged !== staging) return null
  await finaliseNewest(engine, head, signal)
  const transaction_id = formatTransactionId(record.slot, record.txn)
  return { version: describeRecord(engine, head, record), transaction_id }
}

/** The manifest a new version comes with: null for a path that is not ours to open. */
export async function prepareVersion(
  engine: Engine,
  head: TableHead,
  { version, manifest_path, manifest_size }: CreateVersionRequest,
  signal: AbortSignal | undefined,
): Promise<StagedManifest | null> {
  const isStaging = parseManifestName(manifest_path)?.staging != null
  if (!isStaging || head.kind === 'pointer' || head.kind === 'sheaf') return null
  await finaliseNewest(engine, head, signal)
  if (!isUnused(head, version)) return unwinnable(manifest_path)
  const staged = await engine.lance.staged(head, version, manifest_path, manifest_size, signal)
  await checkScheme(engine, head, staged, signal)
  const final = await engine.lance.final(head, version, staged.scheme, signal)
  if (final !== null && final.crc !== staged.crc) await adopt(engine, head, version, final)
  return staged
}

/** The manifests of a table all have names of one scheme (rule A-129). */
async function checkScheme(
  engine: Engine,
  head: TableHead,
  { scheme, staged }: StagedManifest,
  signal: AbortSignal | undefined,
): Promise<void> {
  const latest = latestOf(head)
  if (latest === undefined) return
  const { manifest } = await recordOf(engine, head, latest, signal)
  if (manifest === undefined || manifest.scheme === scheme) return
  throw invalidInput(
    `the manifest staged as ${staged} has a name of scheme ${scheme}, those of table ${idText(head.id)} are of ${manifest.scheme}`,
  )
}

/** A number that was used cannot be won: its file, which its writer may have taken away, is not looked at. */
function unwinnable(path: string): StagedManifest {
  const { scheme, staging } = parseManifestName(path)!
  return { staged: staging!, path, scheme, size: 0, crc: 0 }
}

/** Somebody committed past the catalog: the version is recorded, so that whoever loses to it can read it. */
async function adopt(engine: Engine, head: TableHead, v: number, final: FinalManifest): Promise<void> {
  await commit(engine, state => {
    const now = state.tables.get(head.uuid)
    if (now?.mark !== v - 1 || now.kind === 'sheaf' || now.kind === 'pointer') return { ops: [], reply: null }
    return { ops: [decideCreateVersion(now, v, 'lance', { ...final, meta: {} })], reply: null }
  })
}

/** The operation that makes a version, and its record as callers see it. */
export function newVersion(
  engine: Engine,
  head: TableHead,
  request: CreateVersionRequest,
  staged: StagedManifest | null,
  at: ProposalPosition,
): { readonly op: VersionOp; readonly record: WireRecord } {
  const { version, manifest_path, manifest_size, e_tag, metadata = {}, naming_scheme } = request
  const common = { ...(e_tag !== undefined && { etag: e_tag }), meta: metadata }
  // The table may have become one of pointers since its manifest was looked at.
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
 * Who makes a version has seen to it that the one before has its final name; so nobody may come between. Throws code 14 when
 * a lance table is not as it was when its next version was prepared, or another one has its name.
 */
export function checkPreparedOn(prepared: TableHead, now: TableHead | undefined): void {
  if (now?.uuid === prepared.uuid && (now.mark === prepared.mark || now.kind === 'pointer')) return
  const message = `table ${idText(prepared.id)} was changed or replaced while its version was being committed`
  throw new SheafError(ErrorCode.ConcurrentModification, message, { hint: 'try again' })
}

/** `finaliseNew`, after a commit: what goes wrong with the names is no failure of the commit. Send it again, or look at the table. */
export async function finaliseCommitted(engine: Engine, committed: Committed<CatalogState>): Promise<void> {
  const { transactionId, state, entry } = committed
  try {
    await finaliseNew(engine, state, entry)
  } catch (cause) {
    const message = `transaction ${transactionId} is committed, but its manifests have no final names yet`
    const hint =
      'look at the table, which gives them their names; or send the call again under an idempotency key'
    throw new SheafError(ErrorCode.ServiceUnavailable, message, {
      kind: 'commit-state-unknown',
      transactionId,
      hint,
      cause,
    })
  }
}

/** Gives the manifests of versions that an entry made their final names. */
export async function finaliseNew(engine: Engine, state: CatalogState, { ops }: Entry): Promise<void> {
  for (const op of ops as unknown as readonly CatalogOp[]) {
    const head = op.op === 'version' ? state.tables.get(op.t) : undefined
    if (head !== undefined) await finaliseNewest(engine, head)
  }
}

// ---- deleting

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
