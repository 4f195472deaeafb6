/**
 * The records of all versions that ever existed. New records are in memory, older records in history pages.
 *
 * - A page has the records of a range of slots, sorted by table and version. The range of the first page begins with
 *   slot 1. Each further range begins after the previous one. The last range ends with slot `sealed`.
 * - The bytes of a new page depend only on its slots. So all writers of the page write the same bytes, and a lost page
 *   can be rebuilt from the slots.
 * - Small pages are merged into larger pages, so the number of pages stays small.
 * - A record never changes, and is kept while any reader may need it. So all snapshots of the catalog share one
 *   history. There is one exception: a record of kind `taken` replaces the earlier records of its version and of all
 *   higher versions of the table.
 * - The owner of a history must call `note` once for every slot after `sealed`, in order.
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

/** Number of bytes at the end of a page that are read first. They nearly always contain the whole footer. */
const endGuess = 32 * 1024
/** Size in bytes of the cache if the caller passes no `Memory`. */
const ownBytes = 128 * 1024 * 1024
/** Estimated memory of decoded records: this many times the size of their blocks. */
const memoryPerByte = 3
/** Maximum number of pages or slots that are read concurrently. */
const readAhead = 16
/** Maximum size in bytes of the pages that are merged into one. */
const mergedMax = 8 * 1024 * 1024

/** Records of one table, ascending by version. Arrays in memory are only changed by appending. */
type Records = VersionRecord[]

/** Records of one table that were found in one page. `begins`: the first version in the blocks that were read. */
interface Found {
  readonly records: readonly VersionRecord[]
  readonly begins: number
}

/** A function that reads bytes of a page, from its file or from memory. */
type ReadRange = (offset: number, length: number) => Promise<Uint8Array>

/** A page, and a way to read its bytes. */
interface PageBytes {
  readonly page: PageInfo
  /** The key under which parts of the page are cached. */
  readonly key: string
  readonly read: ReadRange
}

interface ReadRecords {
  readonly all: Records
  /** Estimated memory of the records in bytes. */
  readonly memory: number
}

/** A function that returns whether a record may still be read. */
type IsNeeded = (table: string, record: VersionRecord) => boolean

/** A page that was rebuilt in memory. */
export interface Rebuilt {
  readonly page: PageInfo
  readonly bytes: Uint8Array
}

/** The records of all versions of all tables. See the head of this file. */
export class History {
  readonly #store: BlobStore
  readonly #slots: Slots | undefined
  readonly #lookAgain: (() => Promise<readonly PageInfo[] | null>) | undefined
  #pages: readonly PageInfo[]
  /** The last slot that was passed to `note`, or that pages contain. */
  #noted: number
  /** By table: the records of slots after `sealed`. */
  #tail = new Map<string, Records>()
  readonly #onDamaged: ((key: string, error: SheafError) => void) | undefined
  /** By page name: the error of a page whose file is missing or damaged. */
  readonly #damaged = new Map<string, SheafError>()
  readonly #footers: Partition<Uint8Array>
  readonly #blocks: Partition<ReadRecords>
  readonly #rebuilt: Partition<Rebuilt>

  /**
   * Create a history.
   *
   * - `pages`: the pages that the checkpoint lists, in order.
   * - `slots`: reads slots, to rebuild a page whose file is missing or damaged. Without `slots`, reading such a page
   *   throws Internal ("corrupted").
   * - `lookAgain`: calls `note` for all slots up to the newest checkpoint, and returns the pages of this checkpoint.
   *   The history calls it after a failed read, because known pages may have been merged and deleted.
   * - `onDamaged`: called for each damaged file.
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

  /** The last slot whose records are in pages. */
  get sealed(): number {
    return lastSlot(this.#pages)
  }

  /** Add the records of the versions that a slot made. */
  note(slot: Slot): void {
    const { slot: number } = slot.header
    assert(
      number === this.#noted + 1,
      `slot ${number} cannot be noted: the last noted slot is ${this.#noted}`,
    )
    this.#noted = number
    eachRecord(slot, (table, record) => {
      // `writePage` may be reading the old map. Copy the map, so that the page keeps the records that are replaced
      // here.
      if (record.kind === 'taken') this.#tail = new Map(this.#tail)
      addRecord(this.#tail, table, record)
    })
  }

  /** Return the record of a version, or null if the version never existed. */
  async find(table: string, version: number, signal?: AbortSignal): Promise<VersionRecord | null> {
    return (await this.range(table, version, version, signal))[0] ?? null
  }

  /**
   * Return the records of the versions `first..last` (inclusive) of a table, ascending. A page that has such records is
   * read once.
   */
  async range(table: string, first: number, last: number, signal?: AbortSignal): Promise<VersionRecord[]> {
    const pages = this.#pages
    try {
      return await this.#rangeIn(pages, table, first, last, signal)
    } catch (error) {
      signal?.throwIfAborted()
      // The page may have been merged into another page and deleted. So use the pages of the newest checkpoint.
      const others = error instanceof SheafError ? await this.#lookAgain?.().catch(() => null) : null
      if (others != null && lastSlot(others) <= this.#noted) await this.adopt(others)
      // Compare `#pages`, not `others`, because a call during `lookAgain` may have set newer pages.
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
    // Later slots have higher versions of a table. So if a page has the version `first` or an earlier one, no earlier
    // page has records of the range.
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
    return withoutReplaced(newestFirst.reverse().flat())
  }

  /**
   * Write a page with the records of the slots after `sealed` up to `to`. If there are many pages, merge it with older
   * pages. A merged page leaves out records for which `isNeeded` returns false.
   *
   * Returns all pages up to slot `to`, for the list in a checkpoint. A page without records is listed with 0 bytes and
   * has no file. Consecutive pages without records are listed as one. Does not change this history: call `seal` when
   * the checkpoint is durable.
   */
  async writePage(
    to: number,
    signal?: AbortSignal,
    isNeeded: IsNeeded = () => true,
  ): Promise<readonly PageInfo[]> {
    assert(
      to <= this.#noted,
      `a page up to slot ${to} cannot be written: the last noted slot is ${this.#noted}`,
    )
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
    const merged = await this.#merged(pages, page, encoded.bytes, isNeeded, pacer)
    if (merged !== null) return merged
    if (page.bytes > 0) await this.#store.putIfAbsent(pageKey(page), encoded.bytes, signal)
    return [...pages, page]
  }

  /**
   * Merge a new page with the newest pages if there are too many, and return the new list of pages. Returns null if the
   * new page should be written as it is. `bytes`: the bytes of the new page, which is not written yet.
   */
  async #merged(
    pages: readonly PageInfo[],
    page: PageInfo,
    bytes: Uint8Array,
    isNeeded: IsNeeded,
    pacer: Pacer,
  ): Promise<readonly PageInfo[] | null> {
    const all = [...pages, page]
    const start = mergedFrom(
      all.map(each => each.bytes),
      mergedMax,
    )
    const some = all.slice(start)
    if (some.length < 2) return null
    const tables = new Map<string, Records>()
    try {
      for (const each of some) {
        const read = each === page ? bytes : await this.#bytesOf(each, pacer.signal)
        if (read === null) return null
        for (const [table, records] of each.bytes === 0 ? [] : decodePage(read, each)) {
          for (const record of records) if (isNeeded(table, record)) addRecord(tables, table, record)
          await pacer.turn()
        }
      }
    } catch (error) {
      // Do not merge a damaged page: readers can still rebuild it from its slots.
      if (error instanceof SheafError && error.code === ErrorCode.Internal) return null
      throw error
    }
    const encoded = await encodePage(upTo(tables, await sorted(tables.keys(), pacer), page.to), pacer)
    const one = pageInfo(some[0]!.from, page.to, encoded)
    if (one.bytes > 0) await this.#store.putIfAbsent(pageKey(one), encoded.bytes, pacer.signal)
    return [...all.slice(0, start), one]
  }

  /** Return the bytes of a page; null if its file is missing. */
  async #bytesOf(page: PageInfo, signal: AbortSignal | undefined): Promise<Uint8Array | null> {
    return page.bytes === 0 ? new Uint8Array(0) : this.#store.get(pageKey(page), signal)
  }

  /** Replace the list of pages, and drop the records that these pages contain from memory. */
  seal(pages: readonly PageInfo[]): void {
    const sealed = lastSlot(pages)
    assert(sealed >= this.sealed, `pages up to slot ${sealed} cannot replace pages up to slot ${this.sealed}`)
    // Create a new map, because running calls still read the old map.
    const tail = new Map<string, Records>()
    for (const [table, records] of this.#tail) {
      const gone = firstAfter(records, sealed)
      if (gone < records.length) tail.set(table, gone === 0 ? records : records.slice(gone))
    }
    this.#tail = tail
    this.#pages = pages
    this.#noted = Math.max(this.#noted, sealed)
  }

  /**
   * Like `seal`, but for pages that another process wrote. If they end before the slot `sealed`, the records of the
   * slots in between are read from the slots again.
   */
  async adopt(pages: readonly PageInfo[]): Promise<void> {
    if (lastSlot(pages) >= this.sealed || this.#slots === undefined) return this.seal(pages)
    const tail = new Map<string, Records>()
    for (let number = lastSlot(pages) + 1; number <= this.#noted; number++) {
      eachRecord(await this.#slots.get(number), (table, record) => addRecord(tail, table, record))
    }
    // Nothing was noted in between: there is no `await` after the last comparison with `#noted`.
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
    let pageError = this.#damaged.get(page.name)
    if (pageError === undefined) {
      const read: ReadRange = (offset, length) => this.#store.getRange(pageKey(page), offset, length)
      try {
        return await this.#lookUp({ page, key: page.name, read }, table, first, last, signal)
      } catch (error) {
        signal?.throwIfAborted()
        if (!(error instanceof SheafError) || this.#slots === undefined) throw error
        pageError = error
        // Other errors come from the store, so the page may be readable the next time.
        if (error.code === ErrorCode.Internal) await this.#noteDamaged(page, error)
      }
    }
    try {
      const { page: copy, bytes } = await orAborted(this.#rebuiltOnce(page), signal)
      const read: ReadRange = async (offset, length) => bytes.subarray(offset, offset + length)
      return await this.#lookUp({ page: copy, key: `${page.name} rebuilt`, read }, table, first, last, signal)
    } catch (error) {
      signal?.throwIfAborted()
      throw error instanceof SheafError ? pageError : error
    }
  }

  async #noteDamaged(page: PageInfo, error: SheafError): Promise<void> {
    this.#damaged.set(page.name, error)
    // Report only files that exist. A missing page usually was merged with others, which is not an error.
    const isThere = await this.#store.stat(pageKey(page)).catch(() => null)
    if (isThere !== null) this.#onDamaged?.(pageKey(page), error)
  }

  async #lookUp(
    { page, key, read }: PageBytes,
    table: string,
    first: number,
    last: number,
    signal: AbortSignal | undefined,
  ): Promise<Found> {
    if (page.bytes === 0) return noRecords
    const footer = await orAborted(
      this.#footers.get(key, () => readFooter(page, read), pageKey(page)),
      signal,
    )
    const blocks = findBlocks(footer, table, first, last)
    if (blocks.length === 0) return noRecords
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

const noRecords: Found = { records: [], begins: Number.POSITIVE_INFINITY }

async function readFooter(page: PageInfo, read: ReadRange): Promise<Uint8Array> {
  const guess = Math.min(page.bytes, endGuess)
  const end = await read(page.bytes - guess, guess)
  const length = endBytes(end, page)
  return decodeFooter(
    length <= guess ? end.slice(guess - length) : await read(page.bytes - length, length),
    page,
  )
}

/** Read adjacent blocks with one request. */
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

/** Rebuild a page from its slots. The result has the same bytes as the page when it was new. */
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
  assert(
    record.version > version,
    `version ${record.version} of table ${table} cannot follow version ${version}`,
  )
  records.push(record)
}

/** Remove the records that later records of kind `taken` replace. `records`: the records of one table in log order. */
function withoutReplaced(records: Records): Records {
  if (records.every(({ version }, i) => i === 0 || version > records[i - 1]!.version)) return records
  const left: Records = []
  for (const record of records) {
    while (left.length > 0 && left.at(-1)!.version >= record.version) left.pop()
    left.push(record)
  }
  return left
}

/**
 * Yield the records of each table up to slot `to`, in the order of `order`. Skips tables without such records. Records
 * may be appended to the arrays meanwhile.
 */
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

/**
 * Sort strings by UTF-16 code units. Strings are grouped by their first two units, and one group is sorted at a time.
 * Sorting 100,000 strings in one call would block the event loop.
 */
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

/** Return the records of the versions `first..last`, both included. */
function between(records: Records, first: number, last: number): Records {
  return records.slice(firstFrom(records, first), firstFrom(records, last + 1))
}

/** Return the number of records whose version is less than `version`. */
function firstFrom(records: Records, version: number): number {
  return partitionPoint(records.length, i => records[i]!.version < version)
}

/** Return the number of records whose slot is at most `slot`. */
function firstAfter(records: Records, slot: number): number {
  return partitionPoint(records.length, i => records[i]!.slot <= slot)
}

function lastSlot(pages: readonly PageInfo[]): number {
  return pages.at(-1)?.to ?? 0
}
