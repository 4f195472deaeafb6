/** Checks one version of a table: every file and blob that its rows are in, and that the numbers of the rows add up. */

import { slotKey } from '../commit/blob-log.js'
import { corrupted } from '../errors.js'
import { type Fragment, type Layout, type RunsPlace, runsKey } from '../manifest/layout.js'
import { Bitset } from '../primitives/bitset.js'
import { Pacer } from '../primitives/pacer.js'
import type { RunSequence } from '../primitives/run-sequence.js'
import { readWhole } from '../table/data-file.js'
import type { TableReader } from '../table/table-reader.js'
import { verifyFile } from '../table/verify-file.js'
import { damageOf } from './findings.js'
import type { Verifying } from './verifying.js'

/** Row ids that are held against each other at a time. */
const idsAtOnce = 1024 * 1024

/** What of a table was looked at in one version need not be in the next: nothing of it ever changes. */
export class TableRows {
  readonly #verifying: Verifying
  readonly #location: string
  readonly #pacer: Pacer
  readonly #fragments = new WeakSet<Fragment>()
  /** Rows of each batch of a file that is sound; null: it is not. */
  readonly #files = new Map<string, readonly number[] | null>()
  /** Files with ids or offsets that were read. */
  readonly #runs = new Set<string>()
  /** Those of them that are damaged. */
  readonly #lost = new Set<string>()
  /** By fragment id. */
  readonly #dead = new Map<number, Dead>()
  #isSound = true

  constructor(verifying: Verifying, location: string) {
    this.#verifying = verifying
    this.#location = location
    this.#pacer = new Pacer(verifying.signal)
  }

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
      await this.#orNoted(() => this.#verifyInline(reader, fragment))
      await this.#orNoted(() => this.#verifyIds(reader, fragment))
      await this.#orNoted(() => this.#verifyDead(reader, fragment))
    }
    if (ids.size < layout.fragments.length) await this.#noteRows(layout, 'two fragments have one id')
  }

  /** Whether no id is that of two living rows; only asked of rows that are sound. */
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

  /** Fragments whose ids lie among each other. */
  async #verifyTogether(reader: TableReader, spans: readonly Span[]): Promise<void> {
    for (let next = 0; ; ) {
      const begin = Math.min(...spans.map(({ ids }) => leastFrom(ids, next)))
      if (begin === Number.POSITIVE_INFINITY) return
      next = begin + idsAtOnce
      const met = new Bitset(idsAtOnce)
      for (const { fragment, ids } of spans) {
        for (const [from, to] of ids.rangesBetween(begin, next - 1)) {
          const twice = await this.#meet(reader, fragment, ids, from, to, begin, met)
          if (twice !== null) return this.#noteRows(reader.layout, `two living rows have the id ${twice}`)
        }
      }
    }
  }

  /** Notes in `met` the ids, less `begin`, of living rows `from` to `to - 1` of a fragment; gives one that was there. */
  async #meet(
    reader: TableReader,
    fragment: Fragment,
    ids: RunSequence,
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
    await this.#noteRows(layout, `${path} has ${rows} rows, fragment ${fragment.id} has ${fragment.rows}`)
  }

  async #verifyInline(reader: TableReader, fragment: Fragment): Promise<void> {
    for (const part of await this.#partsOf(reader, fragment)) {
      for (const field of reader.schema.fields) {
        const file = fragment.files.findLast(({ fields }) => fields.includes(field.id))
        if (file === undefined || 'file' in file) continue
        const { column } = await reader.column(part, field, this.#pacer.signal)
        if (column.length === part.rows) continue
        throw new Fault(slotKey(file.slot), `blob ${file.blob} has ${column.length} rows, not ${part.rows}`)
      }
    }
  }

  async #verifyIds(reader: TableReader, fragment: Fragment): Promise<void> {
    const { ids, rows } = fragment
    if ('row0' in ids || rows === 0 || this.#lost.has(runsKey(ids))) return
    await this.#runsAt(ids, async () => {
      const runs = await reader.rowIds(fragment, this.#pacer.signal)
      const [least, greatest] = runs.bounds()
      if (least === ids.least && greatest === ids.greatest) return
      throw corrupted(`row ids of fragment ${fragment.id} do not lie between its bounds`)
    })
  }

  /** From one version to the next the dead rows of a fragment mostly grow, by what one commit killed. */
  async #verifyDead(reader: TableReader, fragment: Fragment): Promise<void> {
    const { parts: places, count } = fragment.dead
    if (places.length === 0 || places.some(place => this.#lost.has(runsKey(place)))) return
    const parts = await this.#partsOf(reader, fragment)
    if (parts.length === 0) return
    const before = this.#dead.get(fragment.id)
    const keys = new Set(places.map(runsKey))
    // After a restore they are not those of before and some more.
    const grows = before !== undefined && [...before.counts.keys()].every(key => keys.has(key))
    const dead: Dead = grows ? before : { counts: new Map(), rows: parts.map(({ rows }) => new Bitset(rows)) }
    this.#dead.set(fragment.id, dead)
    for (const place of places) {
      if (dead.counts.has(runsKey(place))) continue
      let killed = 0
      for (const [i, part] of parts.entries()) {
        const some = await this.#runsAt(place, () => reader.marked(part, [place], this.#pacer.signal))
        const all = dead.rows[i]!
        const were = all.count()
        if (all.or(some).count() - were < some.count()) {
          throw new Fault(this.#location, `a row of fragment ${fragment.id} dies twice`)
        }
        killed += some.count()
        await this.#pacer.turn()
      }
      dead.counts.set(runsKey(place), killed)
    }
    const found = places.reduce((sum, place) => sum + dead.counts.get(runsKey(place))!, 0)
    if (found === count) return
    throw new Fault(
      this.#location,
      `fragment ${fragment.id} has ${found} dead rows, its record says ${count}`,
    )
  }

  /** None where its file is not to be read, which is noted. */
  async #partsOf(reader: TableReader, fragment: Fragment) {
    const [first] = fragment.files
    const isLost = first !== undefined && 'file' in first && this.#files.get(first.file) === null
    return isLost ? [] : reader.partsOf(fragment, this.#pacer.signal)
  }

  /** Reads files with ids or offsets, each once. */
  async #verifyRuns({ ids, dead }: Fragment): Promise<void> {
    const { findings, store } = this.#verifying
    for (const place of 'row0' in ids ? dead.parts : [ids, ...dead.parts]) {
      if (!('file' in place) || this.#runs.has(place.file)) continue
      this.#runs.add(place.file)
      const path = `${this.#location}/rows/${place.file}.runs`
      findings.file(path, place.bytes)
      try {
        await readWhole(store, path, place)
      } catch (error) {
        this.#isSound = false
        this.#lost.add(place.file)
        await findings.note('data', path, damageOf(error))
      }
    }
  }

  /** Says where a fault is. */
  async #runsAt<T>(place: RunsPlace, read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      const path = 'file' in place ? `${this.#location}/rows/${place.file}.runs` : slotKey(place.slot)
      throw new Fault(path, damageOf(error))
    }
  }

  async #orNoted(check: () => Promise<void>): Promise<void> {
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

/** Dead rows of a fragment, as one version has them. */
interface Dead {
  /** How many each commit killed, by place. */
  readonly counts: Map<string, number>
  /** By part. */
  readonly rows: readonly Bitset[]
}

interface Span {
  readonly fragment: Fragment
  readonly ids: RunSequence
  readonly least: number
  readonly greatest: number
}

/** The least of the ids that is not less than `id`; infinity without any. */
function leastFrom({ starts, ranks }: RunSequence, id: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let run = 0; run < starts.length; run++) {
    const start = starts[run]!
    if (start + ranks[run + 1]! - ranks[run]! > id) least = Math.min(least, Math.max(start, id))
  }
  return least
}

/** What is wrong in a place. */
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
  if (id >= next.frag) return `fragment ${id} has an id that is not given yet`
  if (greatest >= next.row) return `fragment ${id} has the row id ${greatest}, which is not given yet`
  if (dead.count > rows) return `fragment ${id} has ${dead.count} dead rows of ${rows}`
  return null
}
