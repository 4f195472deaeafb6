/**
 * The records of all versions there ever were: those since the newest checkpoint in memory, the others in pages.
 *
 * - Pages are made one by and by, so that there are never many.
 * - A record never changes, and stays as long as anybody may ask for it, so any snapshot of the catalog can be served from one
 *   history. The one exception: a record of kind `taken` stands for those of its number and of all above that came before it.
 * - A page holds the records of a range of slots, sorted by (table, version); pages follow each other without a gap,
 *   from slot 1 to `sealed`. As it is first written it is a pure function of those slots: whoever writes it writes the same
 *   bytes, and one that is lost is made again from them.
 * - `note` is called once for every slot after `sealed`, in order.
 */
import type { Slot } from '../commit/slot.js'
import type { Slots } from '../commit/slots.js'
import { assert, ErrorCode, SheafError } from '../errors.js'
import { orAborted } from '../primitives/abort.js'
import { Memory, type Partition } from '../primitives/memory.js'
import { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import type { MaybePromise } from '../primitives/task.js'
import { mergedFrom } from '../primitives/tiers.js'
import type { BlobStore } from '../storage/blob-store.js'
import {
  type Block,
  decodeBlock,
  decodeFooter,
  decodePage,
  encodePage,
  endBytes,
  findBlocks,
  type PageInfo,
  pageInfo,
  pageKey,
} from './history-page.js'
import { eachRecord } from './slot-records.js'
import type { VersionRecord } from './version.js'

export type { PageInfo } from './history-page.js'

/** What of a page is read first: nearly always its whole footer. */
const endGuess = 32 * 1024
/** What a history that shares no memory with anything else may keep. */
const ownBytes = 128 * 1024 * 1024
/** Bytes that records take in memory, per byte of their blocks. */
const memoryPerByte = 3
/** Pages that are looked at, and slots that are read, at the same time. */
const readAhead = 16
/** Pages of no more bytes together are made one. */
const mergedMax = 8 * 1024 * 1024

/** Records of one table, ascending. Those in memory only ever grow at their end. */
type Records = VersionRecord[]

/** What one page has of versions of a table: some records, and where its blocks with them begin. */
interface Found {
  readonly records: readonly VersionRecord[]
  readonly begins: number
}

/** Reads bytes of a page, wherever it is. */
type ReadRange = (offset: number, length: number) => Promise<Uint8Array>

interface ReadRecords {
  readonly all: Records
  /** About how many bytes they take. */
  readonly memory: number
}

/** Whether somebody may still ask for a record. */
export type IsNeeded = (table: string, record: VersionRecord) => boolean

/** A page that was made again, in memory. */
export interface Rebuilt {
  readonly page: PageInfo
  readonly bytes: Uint8Array
}

export class History {
  readonly #store: BlobStore
  readonly #slots: Slots | undefined
  readonly #lookAgain: (() => Promise<readonly PageInfo[] | null>) | undefined
  #pages: readonly PageInfo[]
  /** The last slot taken in. */
  #noted: number
  /** Records after `sealed`, by table. */
  #tail = new Map<string, Records>()
  readonly #onDamaged: ((key: string, error: SheafError) => void) | undefined
  /** Pages whose file was found missing or damaged, and how. */
  readonly #damaged = new Map<string, SheafError>()
  readonly #footers: Partition<Uint8Array>
  readonly #blocks: Partition<ReadRecords>
  readonly #rebuilt: Partition<Rebuilt>

  /**
   * `pages`: those a checkpoint names; in order. `slots`: where the records of a page whose file is missing or
   * damaged are found again; without it such a page is an error (corrupted) that names the file. `lookAgain`: the pages that
   * the newest checkpoint names, every slot of which was noted by then, for when those known here were replaced by others.
   * `onDamaged` is told of files that are not what was written.
   */
  constructor(
    store: BlobStore,
    pages: readonly PageInfo[] = [],
    slots?: Slots,
    memory = new Memory(ownBytes),
    lookAgain?: () => Promise<readonly PageInfo[] | null>,
    onDamaged?: (key: string, error: SheafError) => void,
  ) {
    this.#lookAgain = lookAgain
    this.#onDamaged = onDamaged
    this.#store = store
    this.#slots = slots
    this.#footers = memory.partition('historyFooters', 'places', footer => footer.length)
    this.#blocks = memory.partition('historyRecords', 'places', read => read.memory)
    this.#rebuilt = memory.partition('historyPages', 'places', ({ bytes }) => bytes.length)
    this.#pages = pages
    this.#noted = lastSlot(pages)
  }

  /** The last slot whose records lie in pages. */
  get sealed(): number {
    return lastSlot(this.#pages)
  }

  /** Takes in the versions a slot makes. */
  note(slot: Slot): void {
    const { slot: number } = slot.header
    assert(number === this.#noted + 1, `slot ${number} is noted after slot ${this.#noted}`)
    this.#noted = number
    eachRecord(slot, (table, record) => {
      // A page of earlier slots that is being written holds the old map, with the records that are replaced here.
      if (record.kind === 'taken') this.#tail = new Map(this.#tail)
      addRecord(this.#tail, table, record)
    })
  }

  /** The record of a version, or null when there never was one. */
  async find(table: string, version: number, signal?: AbortSignal): Promise<VersionRecord | null> {
    return (await this.range(table, version, version, signal))[0] ?? null
  }

  /** The records of versions `first..last` (inclusive) of a table, ascending; one page read per page that has any. */
  async range(table: string, first: number, last: number, signal?: AbortSignal): Promise<VersionRecord[]> {
    const pages = this.#pages
    try {
      return await this.#rangeIn(pages, table, first, last, signal)
    } catch (error) {
      signal?.throwIfAborted()
      // Pages that were made one go in the end.
      const others = error instanceof SheafError ? await this.#lookAgain?.().catch(() => null) : null
      if (others != null && lastSlot(others) <= this.#noted) await this.adopt(others)
      // Looking may have brought newer ones than it found.
      if (this.#pages === pages) throw error
      return this.#rangeIn(this.#pages, table, first, last, signal)
    }
  }

  async #rangeIn(
    pages: readonly PageInfo[],
    table: string,
    first: number,
    last: number,
    signal: AbortSignal | undefined,
  ): Promise<VersionRecord[]> {
    const tail = this.#tail.get(table) ?? []
    const newestFirst: (readonly VersionRecord[])[] = [between(tail, first, last)]
    const pacer = new Pacer(signal)
    // A table's versions ascend along the slots, so what begins at `first` or before has all that comes after it.
    let begins = tail[0]?.version ?? Number.POSITIVE_INFINITY
    for (
      let end = pages.length, count = 1;
      end > 0 && begins > first;
      count = Math.min(2 * count, readAhead)
    ) {
      const some = pages.slice(Math.max(0, end - count), end).reverse()
      for (const found of await Promise.all(
        some.map(page => this.#inPage(page, table, first, last, signal)),
      )) {
        newestFirst.push(found.records)
        begins = Math.min(begins, found.begins)
      }
      end -= some.length
      await pacer.turn()
    }
    return standing(newestFirst.reverse().flat())
  }

  /**
   * Writes the records of slots after `sealed` up to `to` as a page. Gives all pages up to `to`, for a checkpoint to
   * name; changes nothing in memory: `seal` does, once the checkpoint is durable. Where there is no record there is
   * no file either, only an entry of 0 bytes, one for all such slots in a row. Older pages are made one with it where they are
   * many, without the records for which `isNeeded` is false.
   */
  async writePage(
    to: number,
    signal?: AbortSignal,
    isNeeded: IsNeeded = () => true,
  ): Promise<readonly PageInfo[]> {
    assert(to <= this.#noted, `a page up to slot ${to} is asked for at slot ${this.#noted}`)
    const pages = this.#pages
    const tail = this.#tail
    const from = lastSlot(pages) + 1
    if (to < from) return pages
    const pacer = new Pacer(signal)
    const encoded = await encodePage(upTo(tail, await sorted(tail.keys(), pacer), to), pacer)
    const last = pages.at(-1)
    if (encoded.bytes.length === 0 && last?.bytes === 0) {
      return [...pages.slice(0, -1), pageInfo(last.from, to, encoded)]
    }
    const page = pageInfo(from, to, encoded)
    if (page.bytes > 0) await this.#store.putIfAbsent(pageKey(page), encoded.bytes, signal)
    return this.#merged([...pages, page], isNeeded, pacer)
  }

  /** Pages of which the newest are made one where that is due, so that there are never many. */
  async #merged(pages: readonly PageInfo[], isNeeded: IsNeeded, pacer: Pacer): Promise<readonly PageInfo[]> {
    const start = mergedFrom(
      pages.map(({ bytes }) => bytes),
      mergedMax,
    )
    const some = pages.slice(start)
    if (some.length < 2) return pages
    const tables = new Map<string, Records>()
    try {
      for (const page of some) {
        const bytes = page.bytes === 0 ? null : await this.#store.get(pageKey(page), pacer.signal)
        if (bytes === null && page.bytes > 0) return pages
        for (const [table, records] of bytes === null ? [] : decodePage(bytes, page)) {
          for (const record of records) if (isNeeded(table, record)) addRecord(tables, table, record)
          await pacer.turn()
        }
      }
    } catch (error) {
      // One that is damaged is mended by its readers as long as it stands alone.
      if (error instanceof SheafError && error.code === ErrorCode.Internal) return pages
      throw error
    }
    const { to } = some.at(-1)!
    const encoded = await encodePage(upTo(tables, await sorted(tables.keys(), pacer), to), pacer)
    const one = pageInfo(some[0]!.from, to, encoded)
    if (one.bytes > 0) await this.#store.putIfAbsent(pageKey(one), encoded.bytes, pacer.signal)
    return [...pages.slice(0, start), one]
  }

  /** From now on records up to the last of `pages` are read from them, and no longer kept in memory. */
  seal(pages: readonly PageInfo[]): void {
    const sealed = lastSlot(pages)
    assert(sealed >= this.sealed, `pages up to slot ${sealed} replace those up to ${this.sealed}`)
    // Calls under way hold the old map, hence a new one.
    const tail = new Map<string, Records>()
    for (const [table, records] of this.#tail) {
      const gone = firstAfter(records, sealed)
      if (gone < records.length) tail.set(table, gone === 0 ? records : records.slice(gone))
    }
    this.#tail = tail
    this.#pages = pages
    this.#noted = Math.max(this.#noted, sealed)
  }

  /** As `seal`, of pages that another process wrote; where they end sooner than those known here, slots tell what came after. */
  async adopt(pages: readonly PageInfo[]): Promise<void> {
    if (lastSlot(pages) >= this.sealed || this.#slots === undefined) return this.seal(pages)
    const tail = new Map<string, Records>()
    for (let number = lastSlot(pages) + 1; number <= this.#noted; number++) {
      eachRecord(await this.#slots.get(number), (table, record) => addRecord(tail, table, record))
    }
    // Nothing was noted since the last look, and nothing is awaited here.
    this.#tail = tail
    this.#pages = pages
  }

  async #inPage(
    page: PageInfo,
    table: string,
    first: number,
    last: number,
    signal: AbortSignal | undefined,
  ): Promise<Found> {
    let trouble = this.#damaged.get(page.name)
    if (trouble === undefined) {
      const read: ReadRange = (offset, length) => this.#store.getRange(pageKey(page), offset, length)
      try {
        return await this.#lookUp(page, page.name, read, table, first, last, signal)
      } catch (error) {
        signal?.throwIfAborted()
        if (!(error instanceof SheafError) || this.#slots === undefined) throw error
        trouble = error
        // What the store only refused may be readable the next time.
        if (error.code === ErrorCode.Internal) await this.#note(page, error)
      }
    }
    try {
      const { page: copy, bytes } = await orAborted(this.#rebuiltOnce(page), signal)
      const read: ReadRange = async (offset, length) => bytes.subarray(offset, offset + length)
      return await this.#lookUp(copy, `${page.name} rebuilt`, read, table, first, last, signal)
    } catch (error) {
      signal?.throwIfAborted()
      throw error instanceof SheafError ? trouble : error
    }
  }

  async #note(page: PageInfo, error: SheafError): Promise<void> {
    this.#damaged.set(page.name, error)
    // One that is gone was mostly made one with others.
    const isThere = await this.#store.stat(pageKey(page)).catch(() => null)
    if (isThere !== null) this.#onDamaged?.(pageKey(page), error)
  }

  /** `key`: what the caches know the bytes by. */
  async #lookUp(
    page: PageInfo,
    key: string,
    read: ReadRange,
    table: string,
    first: number,
    last: number,
    signal: AbortSignal | undefined,
  ): Promise<Found> {
    if (page.bytes === 0) return nothing
    const footer = await orAborted(
      this.#footers.get(key, () => readFooter(page, read), pageKey(page)),
      signal,
    )
    const blocks = findBlocks(footer, table, first, last)
    if (blocks.length === 0) return nothing
    const records = await orAborted(
      this.#blocks.get(
        `${key} ${blocks[0]!.offset} ${blocks.length}`,
        () => readBlocks(page, read, blocks),
        pageKey(page),
      ),
      signal,
    )
    return { records: between(records.all, first, last), begins: blocks[0]!.first }
  }

  #rebuiltOnce(page: PageInfo): MaybePromise<Rebuilt> {
    return this.#rebuilt.get(page.name, () => rebuild(page, this.#slots!))
  }
}

const nothing: Found = { records: [], begins: Number.POSITIVE_INFINITY }

async function readFooter(page: PageInfo, read: ReadRange): Promise<Uint8Array> {
  const guess = Math.min(page.bytes, endGuess)
  const end = await read(page.bytes - guess, guess)
  const length = endBytes(end, page)
  return decodeFooter(
    length <= guess ? end.slice(guess - length) : await read(page.bytes - length, length),
    page,
  )
}

/** Blocks that lie next to each other, in one read. */
async function readBlocks(page: PageInfo, read: ReadRange, blocks: readonly Block[]): Promise<ReadRecords> {
  const pacer = new Pacer()
  const { offset } = blocks[0]!
  const last = blocks.at(-1)!
  const bytes = await read(offset, last.offset + last.bytes - offset)
  const records: Records[] = []
  for (const block of blocks) {
    const start = block.offset - offset
    records.push(decodeBlock(bytes.subarray(start, start + block.bytes), block, page))
    await pacer.turn()
  }
  return { all: records.flat(), memory: memoryPerByte * bytes.length }
}

/** A page as whoever wrote it made it. */
export async function rebuild(page: PageInfo, slots: Slots): Promise<Rebuilt> {
  const tables = new Map<string, Records>()
  const pacer = new Pacer()
  for (let first = page.from; first <= page.to; first += readAhead) {
    const count = Math.min(readAhead, page.to - first + 1)
    for (const slot of await Promise.all(Array.from({ length: count }, (_, i) => slots.get(first + i)))) {
      eachRecord(slot, (table, record) => addRecord(tables, table, record))
      await pacer.turn()
    }
  }
  const encoded = await encodePage(upTo(tables, await sorted(tables.keys(), pacer), page.to), pacer)
  return { page: pageInfo(page.from, page.to, encoded), bytes: encoded.bytes }
}

function addRecord(tables: Map<string, Records>, table: string, record: VersionRecord): void {
  const records = tables.get(table)
  if (records === undefined) {
    tables.set(table, [record])
    return
  }
  if (record.kind === 'taken') {
    tables.set(table, [...records.slice(0, firstFrom(records, record.version)), record])
    return
  }
  const { version } = records.at(-1)!
  assert(record.version > version, `version ${record.version} of table ${table} follows version ${version}`)
  records.push(record)
}

/** Records of a table in the order of the log, without those that later ones stand for. */
function standing(records: Records): Records {
  if (records.every(({ version }, i) => i === 0 || version > records[i - 1]!.version)) return records
  const left: Records = []
  for (const record of records) {
    while (left.length > 0 && left.at(-1)!.version >= record.version) left.pop()
    left.push(record)
  }
  return left
}

/** The records of some tables up to slot `to`, tables in order, those without any left out. More may be noted while they are written. */
function* upTo(
  tables: ReadonlyMap<string, Records>,
  order: readonly string[],
  to: number,
): Iterable<readonly [table: string, records: readonly VersionRecord[]]> {
  for (const table of order) {
    const records = tables.get(table)!
    const count = firstAfter(records, to)
    if (count > 0) yield [table, records.slice(0, count)]
  }
}

/** Strings by UTF-16 units, in groups of the same first two: sorting 100,000 at once would hold the event loop. */
async function sorted(texts: Iterable<string>, pacer: Pacer): Promise<string[]> {
  const groups = new Map<number, string[]>()
  for (const text of texts) {
    const start = (text.charCodeAt(0) || 0) * 0x10000 + (text.charCodeAt(1) || 0)
    const group = groups.get(start)
    if (group === undefined) groups.set(start, [text])
    else group.push(text)
    if (pacer.due()) await pacer.pause()
  }
  const all: string[][] = []
  for (const start of [...groups.keys()].sort((a, b) => a - b)) {
    all.push(groups.get(start)!.sort())
    await pacer.turn()
  }
  return all.flat()
}

/** The records of versions `first..last`. */
function between(records: Records, first: number, last: number): Records {
  return records.slice(firstFrom(records, first), firstFrom(records, last + 1))
}

/** How many records come before version `version`. */
function firstFrom(records: Records, version: number): number {
  return partitionPoint(records.length, i => records[i]!.version < version)
}

/** How many records come from slot `slot` or before. */
function firstAfter(records: Records, slot: number): number {
  return partitionPoint(records.length, i => records[i]!.slot <= slot)
}

function lastSlot(pages: readonly PageInfo[]): number {
  return pages.at(-1)?.to ?? 0
}
