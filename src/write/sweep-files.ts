/**
 * Deletes files of tables that nothing refers to any more and nothing can refer to again: those that were born before the
 * sweep floor, judged on a state in which that floor stands (STORAGE S7, S8).
 *
 * - Only names that Sheaf gave are deleted, and only in folders of its own: `tables/<uuid>/`. What lies at a location that a
 *   caller chose stays.
 * - Files of dropped tables are left to who empties the queue of drops.
 * - Manifests that clients staged for Lance tables go by the store's own time, a day after they were written, and never one
 *   that a version in the log still needs.
 * - A file that cannot be deleted now (open on Windows) is deleted by a later sweep.
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

/** How long a manifest that a client staged waits to be committed. */
const stagedMs = 24 * 60 * 60 * 1000

export interface SweepSource extends ReachSource {
  readonly store: BlobStore
  readonly layouts: Pick<LayoutStore, 'at' | 'ensureBase'>
}

export interface Swept {
  readonly files: number
  readonly bytes: number
}

interface Candidate {
  readonly key: string
  /** From the table's folder on. */
  readonly path: string
  readonly size: number
  readonly modified: number
}

/** `storeNow`: a time by the store's own clock that has passed. Ends early, with an error, when `pacer.signal` fires. */
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
  /** What kept a table from being swept: the others were. */
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

  /** `files`: all there are in the folder of a table. */
  async table(uuid: string, files: readonly Candidate[]): Promise<void> {
    const location = ownLocation(uuid)
    const { tables, detached, drops, external, sweep } = this.#state
    // Somebody may have chosen the folder of a table that is gone.
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

  /** Of the stored layouts of versions that are gone those stay that a fold begins with. */
  async #sweepBases(head: TableHead, bases: readonly Candidate[], reach: Reach): Promise<void> {
    const needless = bases.filter(({ path }) => !reach.bases.has(versionOf(path)!))
    if (needless.length === 0) return
    // One that was lost is made again while it still can be.
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

  /** Whether a version has its own manifest under its final name: it may be missing, or a Lance engine may have taken the name. */
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

/** Whether a path is that of the stored layout of a version that is gone, and is not what newer folds begin with. */
function isPastBase(path: string, { mark, start }: TableHead, held: Runs): boolean {
  const version = versionOf(path)
  return version !== null && version <= mark && version !== start && !hasNumber(held, version)
}

/** The version whose stored layout would lie at a path; null for other names. */
function versionOf(path: string): number | null {
  const name = parseManifestName(path)
  return name === null || name.staging !== null || name.scheme !== 'V2' ? null : Number(name.version)
}
