/**
 * A table frozen at one version: its parts, their columns, and which of their rows are alive.
 *
 * A **part** is one record batch of one fragment, the unit that is loaded, filtered and searched. Everything here
 * is immutable, so what is cached is right for every reader of every version that shares the file. Loads are shared
 * between callers, so one caller's signal ends its own wait, never the load.
 */
import type { Column } from '../arrow/column.js'
import type { FileLayout } from '../arrow/file-reader.js'
import { nullColumn } from '../arrow/fill.js'
import { decodeBatch } from '../arrow/inline-batch.js'
import { aligned } from '../arrow/layout.js'
import { assert, corrupted } from '../errors.js'
import type { DataFile, Fragment, InlineFile, Layout, StoredFile } from '../manifest/layout.js'
import { arrowSchema, type TableField, type TableSchema } from '../manifest/table-schema.js'
import { orAborted } from '../primitives/abort.js'
import { Bitset } from '../primitives/bitset.js'
import { partitionPoint } from '../primitives/partition-point.js'
import { readZone, type Zone } from '../sql/zones/zone.js'
import { readColumn, readFooter } from './data-file.js'
import { type LoadedColumn, loadedColumn } from './loaded-column.js'
import type { TableSource } from './table-source.js'
import { presentVectors, type Vectors, vectorSegment } from './vector-column.js'

export interface Part {
  readonly fragment: Fragment
  /** Which record batch of the fragment's files. */
  readonly batch: number
  /** Offset in the fragment of the part's first row. */
  readonly first: number
  readonly rows: number
}

export class TableReader {
  readonly layout: Layout
  readonly #source: TableSource
  readonly #location: string
  #starts: ReadonlyMap<Fragment, number> | undefined
  readonly #parts = new Map<Fragment, Promise<readonly Part[]>>()

  /** `location`: the table's folder, relative to the root. */
  constructor(source: TableSource, location: string, layout: Layout) {
    this.#source = source
    this.#location = location
    this.layout = layout
  }

  get schema(): TableSchema {
    return this.layout.schema
  }

  /** All parts, in row order. Reads the footers of data files, nothing else. */
  async parts(signal?: AbortSignal): Promise<readonly Part[]> {
    const parts: Part[] = []
    for (const fragment of this.layout.fragments) parts.push(...(await this.partsOf(fragment, signal)))
    return parts
  }

  /** The parts of one fragment, in row order; the same objects every time. Reads the footer of one data file. */
  partsOf(fragment: Fragment, signal?: AbortSignal): Promise<readonly Part[]> {
    let parts = this.#parts.get(fragment)
    if (parts === undefined) {
      parts = this.#listParts(fragment)
      this.#parts.set(fragment, parts)
      parts.catch(() => this.#parts.delete(fragment))
    }
    return orAborted(parts, signal)
  }

  /** How many living rows come before a fragment. */
  liveBeforeFragment(fragment: Fragment): number {
    return this.#liveStarts().get(fragment)!
  }

  /** The number of the first fragment that has a row with at least `rowOffset` living rows before it. */
  fragmentAt(rowOffset: number): number {
    const { fragments } = this.layout
    const end = (fragment: Fragment) => this.liveBeforeFragment(fragment) + liveRows(fragment)
    return partitionPoint(fragments.length, i => end(fragments[i]!) <= rowOffset)
  }

  #liveStarts(): ReadonlyMap<Fragment, number> {
    if (this.#starts === undefined) {
      const starts = new Map<Fragment, number>()
      let live = 0
      for (const fragment of this.layout.fragments) {
        starts.set(fragment, live)
        live += liveRows(fragment)
      }
      this.#starts = starts
    }
    return this.#starts
  }

  /** Between which values the rows of a fragment lie, dead ones included; null when nothing is known. Reads nothing. */
  zone(fragment: Fragment, field: TableField): Zone | null {
    if (fileOf(fragment, field) === undefined) return { least: null, greatest: null, nulls: fragment.rows }
    const record = fragment.zones?.[field.id]
    return record === undefined ? null : readZone(record, field.type)
  }

  /** One column of one part; all null where the fragment was written before the field existed. */
  column(part: Part, field: TableField, signal?: AbortSignal): Promise<LoadedColumn> {
    const file = fileOf(part.fragment, field)
    if (file === undefined) return Promise.resolve(loadedColumn(nullColumn(field.type, part.rows)))
    const loaded = this.#source.columns.get(this.#keyOf(file, part, field), () =>
      'slot' in file ? this.#inlineColumn(file, field) : this.#storedColumn(file, part, field),
    )
    return orAborted(loaded, signal)
  }

  /** The vectors of a part, where the kernels can read them. */
  async vectors(part: Part, field: TableField, signal?: AbortSignal): Promise<Vectors> {
    const loaded = await this.column(part, field, signal)
    const present = presentVectors(loaded.column)
    if (loaded.segment !== null) return { segment: loaded.segment, present }
    const file = fileOf(part.fragment, field)
    const key = file === undefined ? null : `${this.#keyOf(file, part, field)}/vectors`
    const convert = async () => {
      const segment = vectorSegment(loaded.column)
      return { column: loaded.column, segment, bytes: loaded.bytes + segment.byteLength }
    }
    const { segment } = await orAborted(
      key === null ? convert() : this.#source.columns.get(key, convert),
      signal,
    )
    return { segment: segment!, present }
  }

  /** The rows of a part that are alive, by offset in the part; null when all are. */
  async live(part: Part, signal?: AbortSignal): Promise<Bitset | null> {
    const { fragment, batch } = part
    if (fragment.dead.count === 0) return null
    const newest = fragment.dead.parts.at(-1)!
    const key = `${this.layout.table}/${fragment.id}/${newest.slot}/${newest.blob}/${batch}`
    return orAborted(
      this.#source.live.get(key, () => this.#loadLive(part)),
      signal,
    )
  }

  /** How many rows of a part's fragment that come before the part are alive. */
  async liveBefore({ fragment, first }: Part, signal?: AbortSignal): Promise<number> {
    if (first === 0 || fragment.dead.count === 0) return first
    const dead = await orAborted(this.#deadOffsets(fragment), signal)
    return dead.reduce((live, offsets) => live - countBelow(offsets, first), first)
  }

  /** The row id of a part's first row; the others follow. */
  firstRowId(part: Part): number {
    return part.fragment.ids.row0 + part.first
  }

  async #loadLive({ fragment, first, rows }: Part): Promise<Bitset> {
    const live = Bitset.full(rows)
    for (const offsets of await this.#deadOffsets(fragment)) {
      const end = countBelow(offsets, first + rows)
      for (let i = countBelow(offsets, first); i < end; i++) live.remove(offsets[i]! - first)
    }
    return live
  }

  /** The offsets of a fragment's dead rows, ascending in each list; the lists are disjoint. */
  async #deadOffsets(fragment: Fragment): Promise<readonly Uint32Array[]> {
    const lists: Uint32Array[] = []
    for (const { slot, blob } of fragment.dead.parts) {
      const offsets = readOffsets((await this.#source.slots.get(slot)).blob(blob))
      const last = offsets.at(-1) ?? 0
      if (last >= fragment.rows) throw corrupted(`slot ${slot} marks row ${last} of ${fragment.rows} dead`)
      lists.push(offsets)
    }
    return lists
  }

  async #listParts(fragment: Fragment): Promise<readonly Part[]> {
    const parts: Part[] = []
    let first = 0
    for (const [batch, rows] of (await this.#batchRows(fragment)).entries()) {
      parts.push({ fragment, batch, first, rows })
      first += rows
    }
    if (first !== fragment.rows) {
      throw corrupted(`fragment ${fragment.id} holds ${first} rows, its record says ${fragment.rows}`)
    }
    return parts
  }

  async #batchRows(fragment: Fragment): Promise<readonly number[]> {
    const file = fragment.files[0]
    if (file === undefined || 'slot' in file) return [fragment.rows]
    return (await this.#footer(file)).batches.map(batch => batch.length)
  }

  #footer(file: StoredFile): Promise<FileLayout> {
    const path = this.#path(file.file)
    return this.#source.footers.get(path, () => readFooter(this.#source.store, path, file))
  }

  #keyOf(file: DataFile, part: Part, field: TableField): string {
    if ('slot' in file) return `${file.slot}/${file.blob}/${field.id}`
    return `${this.#location}/${file.file}/${part.batch}/${field.id}`
  }

  #path(file: string): string {
    return `${this.#location}/data/${file}.arrow`
  }

  async #storedColumn(file: StoredFile, part: Part, field: TableField): Promise<LoadedColumn> {
    const footer = await this.#footer(file)
    const column = file.fields.indexOf(field.id)
    return readColumn(this.#source.store, this.#path(file.file), footer, part.batch, column, field)
  }

  async #inlineColumn(file: InlineFile, field: TableField): Promise<LoadedColumn> {
    const slot = await this.#source.slots.get(file.slot)
    const fields = file.fields.map(id => this.layout.schema.fields.find(known => known.id === id))
    assert(!fields.includes(undefined), `slot ${file.slot} holds a field that is in no schema`)
    const batch = decodeBatch(slot.blob(file.blob), arrowSchema({ id: 0, fields: fields as TableField[] }))
    const column: Column | undefined = batch.columns[file.fields.indexOf(field.id)]
    assert(column !== undefined, `slot ${file.slot} lacks field ${field.id}`)
    return loadedColumn(column)
  }
}

/** The file of a fragment that holds `field`. */
function fileOf(fragment: Fragment, field: TableField): DataFile | undefined {
  return fragment.files.find(file => file.fields.includes(field.id))
}

function liveRows({ rows, dead }: Fragment): number {
  return rows - dead.count
}

/** Ascending u32 row offsets, as a blob of dead rows holds them. */
function readOffsets(bytes: Uint8Array): Uint32Array {
  if (bytes.length % 4 !== 0) throw corrupted(`a blob of row offsets has ${bytes.length} bytes`)
  const { buffer, byteOffset } = aligned(bytes, 4, bytes.length / 4)
  return new Uint32Array(buffer, byteOffset, bytes.length / 4)
}

/** How many of some ascending offsets are less than `offset`. */
function countBelow(offsets: Uint32Array, offset: number): number {
  return partitionPoint(offsets.length, i => offsets[i]! < offset)
}
