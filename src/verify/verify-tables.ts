/** Checks all live versions of all tables, and the stored manifests. */

import { mayHaveManifests } from '../catalog/lookup.js'
import { type CatalogState, latestOf, type TableHead } from '../catalog/state.js'
import { corrupted, SheafError } from '../errors.js'
import type { History } from '../manifest/history.js'
import { LanceManifests } from '../manifest/lance-manifests.js'
import { baseKey, decodeBase, hasChecksum, saysItIsOf } from '../manifest/layout-base.js'
import { BaseLost, isForgotten, LayoutStore } from '../manifest/layout-store.js'
import type { Runs } from '../manifest/runs.js'
import type { VersionRecord } from '../manifest/version.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import { Memory } from '../primitives/memory.js'
import { Pacer } from '../primitives/pacer.js'
import { idText } from '../protocol/identifiers.js'
import { parseManifestName } from '../protocol/manifest-name.js'
import type { BlobStore } from '../storage/blob-store.js'
import { TableReader } from '../table/table-reader.js'
import { createTableSource, type TableSource } from '../table/table-source.js'
import { textIndexReaders } from '../table/text-index.js'
import { damageOf } from './findings.js'
import { TableIndexes } from './verify-indexes.js'
import { TableRows } from './verify-rows.js'
import type { Verifying } from './verifying.js'

/** Size of the cache in bytes. It is small, because most data is read only once. */
const cacheBytes = 16 * 1024 * 1024
/** Maximum number of version records that one lookup reads. */
const recordsAtOnce = 1000

/** The services with which the tables of a state are read. */
interface Tables {
  readonly verifying: Verifying
  readonly history: History
  readonly layouts: LayoutStore
  readonly source: TableSource
  readonly pacer: Pacer
}

/** Check all tables of a catalog state. */
export async function verifyTables(
  verifying: Verifying,
  state: CatalogState,
  history: History,
): Promise<void> {
  const { findings, store, slots, analyzers, signal } = verifying
  const memory = new Memory(cacheBytes)
  const tables: Tables = {
    verifying,
    history,
    // With `fromNothing`, manifests are replayed from the slots, not from stored manifests. So stored manifests can be
    // compared with the result.
    layouts: new LayoutStore(slots, history, store, { readOnly: true, memory, fromNothing: true }),
    source: createTableSource(store, slots, memory, analyzers),
    pacer: new Pacer(signal),
  }
  const total = state.tables.size + state.detached.size
  let done = 0
  for (const heads of [state.tables, state.detached]) {
    for (const [, head] of heads) {
      findings.progress('tables', done++, total)
      findings.checked.tables++
      if (head.kind === 'sheaf') await verifyVersions(tables, head)
      if (head.kind === 'lance') await verifyManifests(tables, head)
      if (heads === state.tables && mayHaveManifests(head)) await verifyLocation(verifying, head)
      await tables.pacer.turn()
    }
  }
  findings.progress('tables', total, total)
}

// ---- tables with rows of Sheaf

async function verifyVersions(tables: Tables, head: TableHead): Promise<void> {
  const { verifying, pacer, source, layouts } = tables
  const { findings, signal } = verifying
  const rows = new TableRows(verifying, head.location)
  const indexes = new TableIndexes(verifying, head.location)
  /** Keys of damaged stored manifests that were reported. */
  const lost = new Set<string>()
  for (const version of numbersIn(head.live)) {
    findings.checked.versions++
    try {
      const layout = await layouts.at(head, version, signal)
      const reader = new TableReader(source, head.location, layout)
      await rows.verify(reader)
      await indexes.verify(reader, textIndexReaders(source, head.location, layout))
      if (version === latestOf(head)) {
        await rows.verifyIdsOnce(reader)
        if (layout.fragments.length !== head.fragments || layout.schema.id !== head.schemaId) {
          const what = `version ${version} has other fragments or another schema than the catalog state says`
          await findings.note('rows', head.location, what)
        }
      }
    } catch (error) {
      if (!(error instanceof BaseLost)) {
        await findings.note('rows', head.location, `version ${version}: ${damageOf(error)}`)
      } else if (!lost.has(error.key)) {
        lost.add(error.key)
        await findings.note(
          'layout',
          error.key,
          `${error.message}; the manifest of version ${version} cannot be computed without it`,
        )
      }
    }
    await pacer.turn()
  }
  await verifyBases(tables, head, lost)
}

/**
 * Compare the stored manifests of a table with a replay of its changes, if the changes still exist. A missing stored
 * manifest is not a problem, because it is computed when it is needed. `lost`: keys of damaged stored manifests, which
 * were already reported.
 */
async function verifyBases(
  { verifying, layouts, pacer }: Tables,
  head: TableHead,
  lost: ReadonlySet<string>,
): Promise<void> {
  const { findings, store, signal } = verifying
  for await (const { key, size } of store.list(`${head.location}/_versions/`, undefined, signal)) {
    const name = parseManifestName(key)
    if (name === null || name.staging !== null) continue
    const version = Number(name.version)
    // Skip other files: a location that a caller chose may contain files of other programs. Also skip manifests of
    // versions that are newer than the slot at which the root is read.
    if (version > head.mark || key !== baseKey(head.location, version)) continue
    findings.file(key, size)
    if (lost.has(key)) continue
    const bytes = await store.get(key, signal)
    if (bytes === null) continue
    let right: Uint8Array
    try {
      right = await layouts.encodedBase(head, await layouts.at(head, version, signal), signal)
    } catch (error) {
      const what = damageOf(error)
      const areGone = isForgotten(error)
      if (areGone && (await conditionOf(bytes, head, version, key, pacer)) !== 'damaged') continue
      await findings.note('layout', key, `${areGone ? 'it is damaged' : 'it cannot be checked'}: ${what}`)
      continue
    }
    if (Buffer.compare(bytes, right) === 0) continue
    // A manifest in the format of another release of Sheaf is not a problem. This release does not use it.
    if ((await conditionOf(bytes, head, version, key, pacer)) === 'of another form') continue
    const [found, expected] = [crcHex(crc32(bytes)), crcHex(crc32(right))]
    const what = `it has ${bytes.length} bytes with checksum ${found}, but a replay of the log gives ${right.length} bytes with checksum ${expected}`
    await findings.note('layout', key, what, () => replaced(store, key, right))
  }
}

/**
 * Return the condition of a stored manifest of a version. 'of another form': it is undamaged, but has the format of
 * another release of Sheaf.
 */
async function conditionOf(
  bytes: Uint8Array,
  { uuid }: TableHead,
  version: number,
  key: string,
  pacer: Pacer,
): Promise<'readable' | 'of another form' | 'damaged'> {
  try {
    await decodeBase(bytes, uuid, version, key, pacer)
    return 'readable'
  } catch (error) {
    if (!(error instanceof SheafError)) throw error
    return hasChecksum(bytes) && saysItIsOf(bytes, uuid, version) ? 'of another form' : 'damaged'
  }
}

/**
 * Delete a file, and write it again with the bytes `bytes`. Only for files that can be computed from the log, because
 * readers compute such a file if it is missing. Throws Internal if the key cannot be written, for example because a
 * folder has this name.
 */
export async function replaced(store: BlobStore, key: string, bytes: Uint8Array): Promise<void> {
  await store.delete(key)
  if ((await store.putIfAbsent(key, bytes)) === 'taken' && !isSame(await store.get(key), bytes)) {
    throw corrupted(`${key} cannot be written, because something else has this name, for example a folder`)
  }
}

function isSame(found: Uint8Array | null, bytes: Uint8Array): boolean {
  return found !== null && Buffer.compare(found, bytes) === 0
}

// ---- tables of Lance engines

async function verifyManifests({ verifying, history, pacer }: Tables, head: TableHead): Promise<void> {
  const { findings, signal } = verifying
  const { uuid, location, live, tags } = head
  const needed = new Set([latestOf(head), ...[...tags].map(([, version]) => version)])
  for (const [first, last] of live) {
    for (let from = first; from <= last; from += recordsAtOnce) {
      const to = Math.min(last, from + recordsAtOnce - 1)
      const records = await history.range(uuid, from, to, signal)
      if (records.length < to - from + 1) {
        await findings.note(
          'manifest',
          location,
          `some of the versions ${from} to ${to} have no record in the history`,
        )
      }
      for (const record of records) {
        findings.checked.versions++
        await verifyManifest(verifying, record, needed.has(record.version))
        await pacer.turn()
      }
    }
  }
}

/**
 * Report manifests at the location of a table whose versions are not in the log. An engine of Lance wrote them, and no
 * call to Sheaf has used the table since.
 */
async function verifyLocation({ findings, store, signal }: Verifying, head: TableHead): Promise<void> {
  const found = await new LanceManifests(store, true).above(head, head.mark, recordsAtOnce, signal)
  for (const { version, manifest } of found) {
    findings.file(manifest.path, manifest.size)
    await findings.note(
      'manifest',
      manifest.path,
      `the log does not have version ${version}; to record it, list the versions of table ${idText(head.id)}`,
    )
  }
}

/**
 * Check the manifest of a version. It has its final name, or the name of its staging file if its writer died before it
 * renamed the file. `isNeeded`: whether the manifest must exist. Engines of Lance delete old manifests and do not
 * report this, but they keep the newest manifest and manifests with a tag.
 */
async function verifyManifest(
  { findings, store, signal }: Verifying,
  { manifest }: VersionRecord,
  isNeeded: boolean,
): Promise<void> {
  if (manifest === undefined) return
  const { path, staged, size, crc } = manifest
  let key = path
  let bytes = await store.get(key, signal)
  if (bytes === null && staged !== undefined) {
    key = `${path}-${staged}`
    bytes = await store.get(key, signal)
  }
  if (bytes === null) {
    if (isNeeded) await findings.note('manifest', path, 'it is missing')
    return
  }
  findings.file(key, bytes.length)
  if (size !== undefined && bytes.length !== size) {
    await findings.note('manifest', path, `it has ${bytes.length} bytes, but ${size} were committed`)
  } else if (crc !== undefined && crc32(bytes) !== crc) {
    await findings.note(
      'manifest',
      path,
      `its checksum is ${crcHex(crc32(bytes))}, but the committed checksum is ${crcHex(crc)}`,
    )
  }
}

function* numbersIn(runs: Runs): Generator<number> {
  for (const [first, last] of runs) for (let number = first; number <= last; number++) yield number
}
