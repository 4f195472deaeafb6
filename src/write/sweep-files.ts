/**
 * Garbage collection of tables: deletes files to which no version refers, and to which no later version can refer. A
 * file is deleted only if its creation slot is below the GC watermark. The set of needed files is computed from a state
 * that contains this watermark (STORAGE S7, S8).
 *
 * - Only files with names that Sheaf generates are deleted, and only in the folders `tables/<uuid>/`. Files at
 *   locations that callers chose stay.
 * - Another maintenance task deletes the files of dropped tables.
 * - A manifest that a client staged for a Lance table is deleted one day after it was written (by the store's clock).
 *   It stays if a version in the log still needs it.
 * - A file that cannot be deleted now, for example because it is open on Windows, is deleted by a later garbage
 *   collection.
 */
import { versionsWithData } from '../catalog/retention.js'
import { type CatalogState, ownLocation, type TableHead } from '../catalog/state.js'
import { creationSlotOfPath } from '../manifest/file-names.js'
import type { LayoutStore } from '../manifest/layout-store.js'
import { type Reach, type ReachSource, reachOf } from '../manifest/reach.js'
import { hasNumber, type Runs } from '../manifest/runs.js'
import type { ManifestFile } from '../manifest/version.js'
import { crc32 } from '../primitives/checksum.js'
import type { Pacer } from '../primitives/pacer.js'
import { parseManifestName } from '../protocol/manifest-name.js'
import type { BlobStore } from '../storage/blob-store.js'

/** Time in milliseconds after which a staged manifest without a commit is deleted. */
const stagedMs = 24 * 60 * 60 * 1000

/** The services that garbage collection needs. */
export interface SweepSource extends ReachSource {
  readonly store: BlobStore
  readonly layouts: Pick<LayoutStore, 'at' | 'ensureBase'>
}

/** Number of deleted files, and their bytes. */
interface Swept {
  readonly files: number
  readonly bytes: number
}

/** A file that may be deleted. */
interface Candidate {
  readonly key: string
  /** Path relative to the folder of the table. */
  readonly path: string
  readonly size: number
  readonly modified: number
}

/**
 * Delete the files that are not needed. `storeNow`: a time of the store's clock that has passed, in milliseconds.
 * Rejects when `pacer.signal` aborts.
 */
export async function sweepFiles(
  source: SweepSource,
  state: CatalogState,
  storeNow: number,
  pacer: Pacer,
): Promise<Swept> {
  const sweep = new Sweeper(source, state, storeNow, pacer)
  let table: string | null = null
  let files: Candidate[] = []
  for await (const { key, size, modified } of source.store.list('tables/', undefined, pacer.signal)) {
    const [, uuid, path] = /^tables\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/(.+)$/.exec(key) ?? []
    if (uuid === undefined) continue
    if (uuid !== table) {
      if (table !== null) await sweep.tableOrNoted(table, files)
      table = uuid
      files = []
    }
    files.push({ key, path: path!, size, modified })
    await pacer.turn()
  }
  if (table !== null) await sweep.tableOrNoted(table, files)
  if (sweep.trouble !== null) throw sweep.trouble
  return sweep
}

class Sweeper implements Swept {
  files = 0
  bytes = 0
  /** The first error. After an error in one table, the other tables are still collected. */
  trouble: unknown = null
  readonly #source: SweepSource
  readonly #state: CatalogState
  readonly #versionsOf: (head: TableHead) => Runs
  readonly #storeNow: number
  readonly #pacer: Pacer

  constructor(source: SweepSource, state: CatalogState, storeNow: number, pacer: Pacer) {
    this.#source = source
    this.#state = state
    this.#versionsOf = versionsWithData(state)
    this.#storeNow = storeNow
    this.#pacer = pacer
  }

  async tableOrNoted(uuid: string, files: readonly Candidate[]): Promise<void> {
    try {
      await this.table(uuid, files)
    } catch (error) {
      this.#pacer.signal?.throwIfAborted()
      this.trouble ??= error
    }
  }

  /** Delete the unneeded files of a table. `files`: all files in its folder. */
  async table(uuid: string, files: readonly Candidate[]): Promise<void> {
    const location = ownLocation(uuid)
    const { tables, detached, drops, external, sweep } = this.#state
    // The folder of a dropped table is emptied by another task. A caller may also have chosen this folder as the
    // location of another table.
    if (drops.has(location) || external.has(location)) return
    const head = tables.get(uuid) ?? detached.get(location)
    const old = files.filter(({ path }) => (creationSlotOfPath(path) ?? sweep.floor) < sweep.floor)
    const manifests = files.filter(({ path }) => path.startsWith('_versions/'))
    if (head?.kind !== 'sheaf') {
      for (const file of old) await this.#delete(file)
      if (head !== undefined) await this.#sweepStaged(head, manifests)
      return
    }
    const versions = this.#versionsOf(head)
    const bases = manifests.filter(({ path }) => isPastBase(path, head, versions))
    if (old.length + bases.length === 0) return
    const reach = await reachOf(this.#source, head, versions, this.#pacer)
    for (const file of old) if (!reach.files.has(file.path)) await this.#delete(file)
    await this.#sweepBases(head, bases, reach)
  }

  /**
   * Delete stored manifests of expired versions, except those from which the manifests of other versions are computed.
   */
  async #sweepBases(head: TableHead, bases: readonly Candidate[], reach: Reach): Promise<void> {
    const needless = bases.filter(({ path }) => !reach.bases.has(versionOf(path)!))
    if (needless.length === 0) return
    // A needed stored manifest may be missing. Write it now, because it may be computed from a manifest that is deleted
    // below.
    for (const version of reach.bases) {
      await this.#source.layouts.ensureBase(head, version, this.#pacer.signal)
    }
    for (const file of needless) await this.#delete(file)
  }

  async #sweepStaged(head: TableHead, manifests: readonly Candidate[]): Promise<void> {
    for (const file of manifests) {
      const name = parseManifestName(file.path)
      if (name?.staging == null || file.modified + stagedMs > this.#storeNow) continue
      const version = Number(name.version)
      const record = await this.#source.history.find(head.uuid, version, this.#pacer.signal)
      const final = file.key.slice(0, -name.staging.length - 1)
      const isOfVersion = version <= head.mark && record?.manifest?.staged === name.staging
      if (isOfVersion && !(await this.#isFinal(final, record.manifest))) continue
      await this.#delete(file)
    }
  }

  /**
   * Return whether the file `final` is the manifest of a version. The file may be missing, or an engine of Lance may
   * have written another manifest with this name.
   */
  async #isFinal(final: string, { crc }: ManifestFile): Promise<boolean> {
    const bytes = await this.#source.store.get(final, this.#pacer.signal)
    return bytes !== null && crc32(bytes) === crc
  }

  async #delete({ key, size }: Candidate): Promise<void> {
    await this.#pacer.turn()
    try {
      await this.#source.store.delete(key, this.#pacer.signal)
      this.files++
      this.bytes += size
    } catch {
      this.#pacer.signal?.throwIfAborted()
    }
  }
}

/**
 * Return whether a path is the stored manifest of an expired version, except the one with which the replay of the table
 * begins.
 */
function isPastBase(path: string, { mark, start }: TableHead, versions: Runs): boolean {
  const version = versionOf(path)
  return version !== null && version <= mark && version !== start && !hasNumber(versions, version)
}

/**
 * Return the version whose stored manifest has this path. Returns null if the path is not that of a stored manifest.
 */
function versionOf(path: string): number | null {
  const name = parseManifestName(path)
  return name === null || name.staging !== null || name.scheme !== 'V2' ? null : Number(name.version)
}
