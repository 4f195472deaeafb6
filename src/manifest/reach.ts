/**
 * Determines what readers of some versions of a table need: files with rows, slots with changes and blobs, and stored
 * manifests (bases) with which replay begins.
 *
 * For a range of versions, the manifest of the first version and the changes of the others are enough. So the cost is
 * one manifest per range and one change per version. It does not grow with the number of fragments per version.
 */
import type { SlotReader } from '../commit/slots.js'
import { orAborted } from '../primitives/abort.js'
import type { Pacer } from '../primitives/pacer.js'
import type { Change } from './change.js'
import { filesOfChange, referencesOfLayout } from './file-names.js'
import type { History } from './history.js'
import { basesOf } from './layout-base.js'
import { changeIn, type LayoutStore, type TableAddress } from './layout-store.js'
import type { Runs } from './runs.js'
import type { VersionRecord } from './version.js'

/** The files, slots and records that readers of some versions of a table need. */
export interface Reach {
  /** Paths relative to the table's folder. */
  readonly files: ReadonlySet<string>
  /** Slots that replay reads changes from, and slots with blobs of rows. */
  readonly slots: ReadonlySet<number>
  /** Versions with whose stored manifests replay begins. Changes before such a version are not in `slots`. */
  readonly bases: ReadonlySet<number>
  /** Versions whose history records replay reads. */
  readonly versions: ReadonlySet<number>
}

export interface ReachSource {
  readonly layouts: Pick<LayoutStore, 'at'>
  readonly history: Pick<History, 'find' | 'range'>
  readonly slots: SlotReader
}

/** Maximum number of records that are read with one call, and of slots that are read concurrently. */
const recordsMax = 1024
const readAhead = 16

/**
 * Return what readers of some versions of a sheaf table need. All these versions must have been committed.
 *
 * `what`: `all` (default), or `slots` if only the slots are needed. With `slots`, the files of changes are left out.
 */
export async function reachOf(
  source: ReachSource,
  table: TableAddress,
  versions: Runs,
  pacer: Pacer,
  what: 'all' | 'slots' = 'all',
): Promise<Reach> {
  const walk = new Walk(source, table, pacer, what)
  for (const [first, last] of versions) await walk.run(first, last)
  return walk
}

class Walk implements Reach {
  readonly files = new Set<string>()
  readonly slots = new Set<number>()
  readonly bases = new Set<number>()
  readonly versions = new Set<number>()
  readonly #source: ReachSource
  readonly #table: TableAddress
  readonly #pacer: Pacer
  readonly #what: 'all' | 'slots'
  /** Versions for which `#trace` is done. */
  readonly #traced = new Set<number>()

  constructor(source: ReachSource, table: TableAddress, pacer: Pacer, what: 'all' | 'slots') {
    this.#source = source
    this.#table = table
    this.#pacer = pacer
    this.#what = what
  }

  async run(first: number, last: number): Promise<void> {
    await this.#addVersion(first)
    for (let from = first; from <= last; from += recordsMax) {
      const to = Math.min(last, from + recordsMax - 1)
      await this.#addChanges(await this.#records(from, to))
    }
  }

  /**
   * Add the slots of these records and the files that their changes add. After a restore, the version may have files
   * that no earlier version of the range has. So add everything that a restored version needs.
   */
  async #addChanges(records: readonly VersionRecord[]): Promise<void> {
    const { slots } = this.#source
    for (const { kind, slot, version } of records) {
      this.slots.add(slot)
      this.versions.add(version)
      if (kind === 'restore') await this.#addVersion(version)
    }
    if (this.#what === 'slots') return
    for (let i = 0; i < records.length; i += readAhead) {
      const some = records.slice(i, i + readAhead)
      const read = await orAborted(Promise.all(some.map(({ slot }) => slots.get(slot))), this.#pacer.signal)
      for (const [k, record] of some.entries()) {
        const change = changeIn(read[k]!, this.#table.uuid, record)
        for (const path of filesOfChange(change)) this.files.add(path)
        await this.#pacer.turn()
      }
    }
  }

  /** Add everything that readers of one version need. */
  async #addVersion(version: number): Promise<void> {
    await this.#trace(version)
    const layout = await this.#source.layouts.at(this.#table, version, this.#pacer.signal)
    let count = 0
    for (const reference of referencesOfLayout(layout)) {
      if (typeof reference === 'number') this.slots.add(reference)
      else this.files.add(reference)
      if (++count % recordsMax === 0) await this.#pacer.turn()
    }
  }

  /** Add the slots from which replay computes the manifest of a version, back to the base with which replay begins. */
  async #trace(version: number): Promise<void> {
    for (let at = version; !this.#traced.has(at); ) {
      this.#traced.add(at)
      const [record] = await this.#records(at, at)
      this.versions.add(at)
      const start = record!.start ?? 0
      const before = await this.#back(at, start)
      if (before === start) {
        for (const base of basesOf(start)) this.bases.add(base)
        return
      }
      at = before
    }
  }

  /**
   * Add the slots of the versions from `version` back to `start`. If one of them is a restore, stop there and return
   * the restored version, from which replay continues. Otherwise return `start`.
   */
  async #back(version: number, start: number): Promise<number> {
    for (let to = version; to > start; to -= recordsMax) {
      for (const record of (await this.#records(Math.max(start + 1, to - recordsMax + 1), to)).reverse()) {
        this.slots.add(record.slot)
        this.versions.add(record.version)
        if (record.kind === 'restore') return (await this.#changeOf(record)).restore!.version
      }
    }
    return start
  }

  async #changeOf(record: VersionRecord): Promise<Change> {
    const slot = await this.#source.slots.get(record.slot, this.#pacer.signal)
    return changeIn(slot, this.#table.uuid, record)
  }

  #records(first: number, last: number): Promise<VersionRecord[]> {
    return this.#source.history.range(this.#table.uuid, first, last, this.#pacer.signal)
  }
}
