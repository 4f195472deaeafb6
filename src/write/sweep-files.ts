/**
 * Garbage collection: deletes files of tables that no version refers to and none can refer to again. These are files
 * created before the GC watermark, judged on a state that contains this watermark (STORAGE S7, S8).
 *
 * - Only files with names that Sheaf generates are deleted, and only in folders of its own: `tables/<uuid>/`. Files at
 *   locations that callers chose stay.
 * - Files of dropped tables are deleted by the task that empties the queue of drops.
 * - Manifests that clients staged for Lance tables are deleted a day after they were written, by the store's clock. A
 *   manifest that a version in the log still needs is never deleted.
 * - A file that cannot be deleted now (open on Windows) is deleted by a later garbage collection.
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

/** How long a staged manifest may wait for its commit. */
const stagedMs = 24 * 60 * 60 * 1000

/** The services that garbage collection needs. */
export interface SweepSource extends ReachSource {
  readonly store: BlobStore
  readonly layouts: Pick<LayoutStore, 'at' | 'ensureBase'>
}

/** Number and bytes of deleted files. */
interface Swept {
  readonly files: number
  readonly bytes: number
}

interface Candidate {
  readonly key: string
  /** Relative to the table's folder. */
  readonly path: string
  readonly size: number
  readonly modified: number
}

/** Delete unreferenced files. `storeNow`: a past time by the store's own clock. Rejects when `pacer.signal` aborts. */
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
  /** The first error of a table. The other tables are collected anyway. */
  trouble: unknown = null
  readonly #source: SweepSource
  readonly #state: CatalogState
  readonly #held: (head: TableHead) => Runs
  readonly #storeNow: number
  readonly #pacer: Pacer

  constructor(source: SweepSource, state: CatalogState, storeNow: number, pacer: Pacer) {
    this.#source = source
    this.#state = state
    this.#held = versionsWithData(state)
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

  /** Collect the files of a table. `files`: all files in its folder. */
  async table(uuid: string, files: readonly Candidate[]): Promise<void> {
    const location = ownLocation(uuid)
    const { tables, detached, drops, external, sweep } = this.#state
    // A caller may have created another table in the folder of a dropped table.
    if (drops.has(location) || external.has(location)) return
    const head = tables.get(uuid) ?? detached.get(location)
    const old = files.filter(({ path }) => (creationSlotOfPath(path) ?? sweep.floor) < sweep.floor)
    const manifests = files.filter(({ path }) => path.startsWith('_versions/'))
    if (head?.kind !== 'sheaf') {
      for (const file of old) await this.#delete(file)
      if (head !== undefined) await this.#sweepStaged(head, manifests)
      return
    }
    const held = this.#held(head)
    const bases = manifests.filter(({ path }) => isPastBase(path, head, held))
    if (old.length + bases.length === 0) return
    const reach = await reachOf(this.#source, head, held, this.#pacer)
    for (const file of old) if (!reach.files.has(file.path)) await this.#delete(file)
    await this.#sweepBases(head, bases, reach)
  }

  /** Delete stored manifests of expired versions, unless a later manifest is built from them. */
  async #sweepBases(head: TableHead, bases: readonly Candidate[], reach: Reach): Promise<void> {
    const needless = bases.filter(({ path }) => !reach.bases.has(versionOf(path)!))
    if (needless.length === 0) return
    // Write missing base manifests again while their source still exists.
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
   * Whether a version has its manifest under the final name. It may be missing, or a Lance engine may have taken the
   * name.
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
 * Whether a path is the stored manifest of an expired version, other than the version from which newer manifests start.
 */
function isPastBase(path: string, { mark, start }: TableHead, held: Runs): boolean {
  const version = versionOf(path)
  return version !== null && version <= mark && version !== start && !hasNumber(held, version)
}

/** The version whose stored manifest has this path; null for other names. */
function versionOf(path: string): number | null {
  const name = parseManifestName(path)
  return name === null || name.staging !== null || name.scheme !== 'V2' ? null : Number(name.version)
}
