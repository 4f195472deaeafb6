/**
 * What of a table must be there so that some of its versions can be read: the files their rows lie in, the slots that hold
 * their changes and blobs, the stored layouts their folds begin with.
 *
 * Of versions that follow each other the first one's layout and the changes between them say it all, so this costs a
 * layout for each run of versions and a change for each version, however many fragments they have.
 */
import type { SlotReader } from '../commit/slots.js'
import { orAborted } from '../primitives/abort.js'
import type { Pacer } from '../primitives/pacer.js'
import type { Change } from './change.js'
import { filesOfChange, placesOfLayout } from './file-names.js'
import type { History } from './history.js'
import { changeIn, type LayoutStore, type TablePlace } from './layout-store.js'
import type { Runs } from './runs.js'
import type { VersionRecord } from './version.js'

export interface Reach {
  /** By their paths from the table's folder on. */
  readonly files: ReadonlySet<string>
  /** With the changes that the folds go through, and the blobs of rows. */
  readonly slots: ReadonlySet<number>
  /** Versions whose stored layouts folds begin with: what comes before them is not among `slots`. */
  readonly bases: ReadonlySet<number>
  /** Versions whose records are read on the way. */
  readonly versions: ReadonlySet<number>
}

export interface ReachSource {
  readonly layouts: Pick<LayoutStore, 'at'>
  readonly history: Pick<History, 'find' | 'range'>
  readonly slots: SlotReader
}

/** Records, and slots, that are read at the same time. */
const recordsMax = 1024
const readAhead = 16

/**
 * What some versions of a table with rows of ours reach, all of which were committed once. Where only slots are asked for,
 * files are not complete, and changes need not be read.
 */
export async function reachOf(
  source: ReachSource,
  table: TablePlace,
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
  readonly #table: TablePlace
  readonly #pacer: Pacer
  readonly #what: 'all' | 'slots'
  /** Versions whose folds were gone back. */
  readonly #traced = new Set<number>()

  constructor(source: ReachSource, table: TablePlace, pacer: Pacer, what: 'all' | 'slots') {
    this.#source = source
    this.#table = table
    this.#pacer = pacer
    this.#what = what
  }

  async run(first: number, last: number): Promise<void> {
    await this.#wholly(first)
    for (let from = first; from <= last; from += recordsMax) {
      const to = Math.min(last, from + recordsMax - 1)
      await this.#changes(await this.#records(from, to))
    }
  }

  /** What the changes of records bring. A restore may bring back what no version before it had. */
  async #changes(records: readonly VersionRecord[]): Promise<void> {
    const { slots } = this.#source
    for (const { kind, slot, version } of records) {
      this.slots.add(slot)
      this.versions.add(version)
      if (kind === 'restore') await this.#wholly(version)
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

  /** All that one version has, and what its fold needs. */
  async #wholly(version: number): Promise<void> {
    await this.#trace(version)
    const layout = await this.#source.layouts.at(this.#table, version, this.#pacer.signal)
    let count = 0
    for (const place of placesOfLayout(layout)) {
      if (typeof place === 'number') this.slots.add(place)
      else this.files.add(place)
      if (++count % recordsMax === 0) await this.#pacer.turn()
    }
  }

  /** The fold of a version, back to the stored layout it begins with. */
  async #trace(version: number): Promise<void> {
    for (let at = version; !this.#traced.has(at); ) {
      this.#traced.add(at)
      const [record] = await this.#records(at, at)
      this.versions.add(at)
      const start = record!.start ?? 0
      const before = await this.#back(at, start)
      if (before === start) {
        if (start > 0) this.bases.add(start)
        return
      }
      at = before
    }
  }

  /** Goes back from a version to `start`, or to what a restore on the way is made of. Gives the version it comes to. */
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
