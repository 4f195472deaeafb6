/**
 * Checks the rows of versions of a table: all their files and inline blobs, row counts, row ids and deletion vectors.
 */

import { slotKey } from '../commit/blob-log.js'
import { corrupted } from '../errors.js'
import { type Fragment, type Layout, own, type RunsPlace, runsKey } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import { Pacer } from '../primitives/pacer.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import { readWhole } from '../table/data-file.js'
import type { TableReader } from '../table/table-reader.js'
import { verifyFile } from '../table/verify-file.js'
import { damageOf } from './findings.js'
import type { Verifying } from './verifying.js'

/** Size of the range of row ids that is checked for duplicates in one step. */
const idsAtOnce = 1024 * 1024

/**
 * A check of all versions of one table. A file or fragment that was checked in one version is skipped in later
 * versions, because files and fragments do not change.
 */
export class TableRows {
  readonly #verifying: Verifying
  readonly #location: string
  readonly #pacer: Pacer
  readonly #fragments = new WeakSet<Fragment>()
  /** By file name: number of rows of each record batch. Null for a damaged file. */
  readonly #files = new Map<string, readonly number[] | null>()
  /** Names of the checked files with row ids or deletion vectors. */
  readonly #runs = new Set<string>()
  /** Names of the damaged files among `#runs`. */
  readonly #damaged = new Set<string>()
  /** By fragment id: the deleted rows in the version that was checked last. */
  readonly #deleted = new Map<number, DeletedRows>()
  /** Whether no problem was found in the rows so far. */
  #isSound = true

  constructor(verifying: Verifying, location: string) {
    this.#verifying = verifying
    this.#location = location
    this.#pacer = new Pacer(verifying.signal)
  }

  /** Check the fragments of the reader's version. */
  async verify(reader: TableReader): Promise<void> {
    const { layout } = reader
    const ids = new Set<number>()
    for (const fragment of layout.fragments) {
      ids.add(fragment.id)
      await this.#pacer.turn()
      if (this.#fragments.has(fragment)) continue
      this.#fragments.add(fragment)
      const fault = faultIn(fragment, layout)
      if (fault !== null) await this.#noteRows(layout, fault)
      for (const file of fragment.files) {
        if ('file' in file) await this.#verifyFile(fragment, file, layout)
      }
      await this.#verifyRuns(fragment)
      await this.#noteFaultsOf(() => this.#verifyInline(reader, fragment))
      await this.#noteFaultsOf(() => this.#verifyIds(reader, fragment))
      await this.#noteFaultsOf(() => this.#verifyDeleted(reader, fragment))
    }
    if (ids.size < layout.fragments.length) await this.#noteRows(layout, 'two fragments have the same id')
  }

  /**
   * Check that no two live rows have the same id. Does nothing if `verify` found a problem, because the ids may not be
   * readable then.
   */
  async verifyIdsOnce(reader: TableReader): Promise<void> {
    if (!this.#isSound) return
    const spans: Span[] = []
    for (const fragment of reader.layout.fragments) {
      const ids = await reader.rowIds(fragment, this.#pacer.signal)
      const [least, greatest] = ids.bounds()
      spans.push({ fragment, ids, least, greatest })
    }
    spans.sort((a, b) => a.least - b.least)
    for (let from = 0, to: number; from < spans.length; from = to) {
      let { greatest } = spans[from]!
      for (to = from + 1; to < spans.length && spans[to]!.least <= greatest; to++) {
        greatest = Math.max(greatest, spans[to]!.greatest)
      }
      if (to - from > 1 || !spans[from]!.ids.isAscending)
        await this.#verifyTogether(reader, spans.slice(from, to))
    }
  }

  /** Check the live row ids of fragments whose id ranges overlap. */
  async #verifyTogether(reader: TableReader, spans: readonly Span[]): Promise<void> {
    for (let next = 0; ; ) {
      const begin = Math.min(...spans.map(({ ids }) => leastFrom(ids, next)))
      if (begin === Number.POSITIVE_INFINITY) return
      next = begin + idsAtOnce
      const met = new Bitset(idsAtOnce)
      for (const span of spans) {
        for (const [from, to] of span.ids.rangesBetween(begin, next - 1)) {
          const duplicate = await this.#meet(reader, span, from, to, begin, met)
          if (duplicate !== null)
            return this.#noteRows(reader.layout, `two live rows have the id ${duplicate}`)
        }
      }
    }
  }

  /**
   * Add the ids of the live rows `from` to `to - 1` of a fragment to `met`, as differences to `begin`. Returns an id
   * that `met` already has, or null if there is none.
   */
  async #meet(
    reader: TableReader,
    { fragment, ids }: Span,
    from: number,
    to: number,
    begin: number,
    met: Bitset,
  ): Promise<number | null> {
    const { signal } = this.#pacer
    for (const part of await reader.partsOf(fragment, signal)) {
      const end = Math.min(to, part.first + part.rows)
      const start = Math.max(from, part.first)
      if (start >= end) continue
      const live = await reader.live(part, signal)
      const own = new Float64Array(end - start)
      ids.copy(start, end, own)
      for (let i = 0; i < own.length; i++) {
        const id = own[i]!
        if (live?.has(start + i - part.first) === false) continue
        if (met.has(id - begin)) return id
        met.add(id - begin)
      }
      await this.#pacer.turn()
    }
    return null
  }

  async #verifyFile(
    fragment: Fragment,
    file: Extract<Fragment['files'][number], { file: string }>,
    layout: Layout,
  ): Promise<void> {
    const { findings, store } = this.#verifying
    const path = `${this.#location}/data/${file.file}.arrow`
    let batches = this.#files.get(file.file)
    if (batches === undefined) {
      try {
        batches = await verifyFile(store, path, file, this.#pacer)
      } catch (error) {
        this.#isSound = false
        batches = null
        await findings.note('data', path, damageOf(error))
      }
      findings.file(path, file.bytes)
      this.#files.set(file.file, batches)
    }
    if (batches === null) return
    const rows = batches.reduce((sum, length) => sum + length, 0)
    if (rows === fragment.rows) return
    await this.#noteRows(layout, `${path} has ${rows} rows, but fragment ${fragment.id} has ${fragment.rows}`)
  }

  async #verifyInline(reader: TableReader, fragment: Fragment): Promise<void> {
    for (const part of await this.#partsOf(reader, fragment)) {
      for (const field of reader.schema.fields) {
        const file = fragment.files.findLast(({ fields }) => fields.includes(field.id))
        if (file === undefined || !('slot' in file)) continue
        const { column } = await reader.column(part, field, this.#pacer.signal)
        if (column.length === part.rows) continue
        throw new Fault(
          slotKey(file.slot),
          `blob ${file.blob} has ${column.length} rows, but must have ${part.rows}`,
        )
      }
    }
  }

  async #verifyIds(reader: TableReader, fragment: Fragment): Promise<void> {
    const { rows } = fragment
    const ids = own(fragment.ids)
    if ('row0' in ids || rows === 0 || this.#damaged.has(runsKey(ids))) return
    await this.#runsAt(ids, async () => {
      const runs = await reader.rowIds(fragment, this.#pacer.signal)
      const [least, greatest] = runs.bounds()
      if (least === ids.least && greatest === ids.greatest) return
      throw corrupted(
        `the row ids of fragment ${fragment.id} are from ${least} to ${greatest}, but its record says ${ids.least} to ${ids.greatest}`,
      )
    })
  }

  /**
   * Check the deletion vector of a fragment. A newer version usually has all parts of the deletion vector of the
   * version before, and more parts. Then only the new parts are read.
   */
  async #verifyDeleted(reader: TableReader, fragment: Fragment): Promise<void> {
    const { parts: places, count } = fragment.dead
    if (places.length === 0 || places.some(place => this.#damaged.has(runsKey(place)))) return
    const parts = await this.#partsOf(reader, fragment)
    if (parts.length === 0) return
    const before = this.#deleted.get(fragment.id)
    const keys = new Set(places.map(runsKey))
    // After a restore or a merge of the parts, this version does not have all parts of the version before. Then read
    // all parts.
    const grows = before !== undefined && [...before.counts.keys()].every(key => keys.has(key))
    const deleted: DeletedRows = grows
      ? before
      : { counts: new Map(), rows: parts.map(({ rows }) => new Bitset(rows)) }
    this.#deleted.set(fragment.id, deleted)
    for (const place of places) {
      if (deleted.counts.has(runsKey(place))) continue
      let added = 0
      for (const [i, part] of parts.entries()) {
        const some = await this.#runsAt(place, () => reader.marked(part, [place], this.#pacer.signal))
        const all = deleted.rows[i]!
        const were = all.count()
        if (all.or(some).count() - were < some.count()) {
          throw new Fault(
            this.#location,
            `two parts of the deletion vector of fragment ${fragment.id} have the same row: it is deleted twice`,
          )
        }
        added += some.count()
        await this.#pacer.turn()
      }
      deleted.counts.set(runsKey(place), added)
    }
    const found = places.reduce((sum, place) => sum + deleted.counts.get(runsKey(place))!, 0)
    if (found === count) return
    throw new Fault(
      this.#location,
      `fragment ${fragment.id} has ${found} deleted rows, but its record says ${count}`,
    )
  }

  /**
   * Return the parts of a fragment. Returns an empty array if its first file is damaged, which was already reported.
   */
  async #partsOf(reader: TableReader, fragment: Fragment) {
    const [first] = fragment.files
    const isLost = first !== undefined && 'file' in first && this.#files.get(first.file) === null
    return isLost ? [] : reader.partsOf(fragment, this.#pacer.signal)
  }

  /** Check the files with the row ids and the deletion vector of a fragment. Each file is read only once. */
  async #verifyRuns({ ids: known, dead }: Fragment): Promise<void> {
    const { findings, store } = this.#verifying
    const ids = own(known)
    for (const place of 'row0' in ids ? dead.parts : [ids, ...dead.parts]) {
      if (!('file' in place) || this.#runs.has(place.file)) continue
      this.#runs.add(place.file)
      const path = `${this.#location}/rows/${place.file}.runs`
      findings.file(path, place.bytes)
      try {
        await readWhole(store, path, place)
      } catch (error) {
        this.#isSound = false
        this.#damaged.add(place.file)
        await findings.note('data', path, damageOf(error))
      }
    }
  }

  /** Call `read`. Converts an error into a `Fault` with the file or slot of `place`. */
  async #runsAt<T>(place: RunsPlace, read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      const path = 'file' in place ? `${this.#location}/rows/${place.file}.runs` : slotKey(own(place).slot)
      throw new Fault(path, damageOf(error))
    }
  }

  async #noteFaultsOf(check: () => Promise<void>): Promise<void> {
    const { findings } = this.#verifying
    try {
      await check()
    } catch (error) {
      this.#isSound = false
      if (error instanceof Fault) await findings.note('rows', error.path, error.message)
      else await findings.note('rows', this.#location, damageOf(error))
    }
  }

  async #noteRows({ version }: Layout, what: string): Promise<void> {
    this.#isSound = false
    await this.#verifying.findings.note('rows', this.#location, `version ${version}: ${what}`)
  }
}

/** The deleted rows of a fragment in one version. */
interface DeletedRows {
  /** By key of a part of the deletion vector (`runsKey`): number of rows of the part. */
  readonly counts: Map<string, number>
  /** For each record batch of the fragment: its deleted rows. */
  readonly rows: readonly Bitset[]
}

/** A fragment with its row ids, and their minimum and maximum. */
interface Span {
  readonly fragment: Fragment
  readonly ids: RunSequence
  readonly least: number
  readonly greatest: number
}

/** Return the smallest number of a sequence that is at least `id`. Returns Infinity if there is none. */
function leastFrom({ starts, ranks }: RunSequence, id: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < starts.length; run++) {
    const start = starts[run]!
    if (start + ranks[run + 1]! - ranks[run]! > id) least = Math.min(least, Math.max(start, id))
  }
  return least
}

/** A problem in the file or slot `path`. */
class Fault extends Error {
  readonly path: string

  constructor(path: string, what: string) {
    super(what)
    this.path = path
  }
}

function faultIn({ id, rows, ids, dead }: Fragment, { next }: Layout): string | null {
  const greatest = 'row0' in ids ? ids.row0 + rows - 1 : ids.greatest
  if (rows === 0) return `fragment ${id} has no rows`
  if (id >= next.frag) return `fragment ${id} has an id that has not been assigned yet`
  if (greatest >= next.row)
    return `fragment ${id} has the row id ${greatest}, which has not been assigned yet`
  if (dead.count > rows) return `fragment ${id} has ${dead.count} deleted rows, but only ${rows} rows`
  return null
}
