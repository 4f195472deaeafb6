/**
 * The records of all versions that ever existed. Records since the newest checkpoint are in memory, older ones in
 * pages.
 *
 * - A page holds the records of a range of slots, sorted by (table, version). The ranges are consecutive, from slot 1
 *   to `sealed`.
 * - A new page is a pure function of its slots: all writers write the same bytes, and a lost page is rebuilt from the
 *   slots.
 * - Pages are merged over time, so that there are never many.
 * - A record never changes, and is kept as long as anything may need it. So one history serves every snapshot of the
 *   catalog. The only exception: a record of kind `taken` replaces the earlier records of its version number and of all
 *   higher ones.
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

/** How many bytes of a page's end are read first: nearly always its whole footer. */
const endGuess = 32 * 1024
/** Cache size for a history that has a `Memory` of its own. */
const ownBytes = 128 * 1024 * 1024
/** Memory of records, bytes per byte of their blocks. */
const memoryPerByte = 3
/** Pages and slots that are read at the same time. */
const readAhead = 16
/** Pages of at most this many bytes together are merged. */
const mergedMax = 8 * 1024 * 1024

/** Records of one table, ascending. The arrays in memory only grow at their end. */
type Records = VersionRecord[]

/** The records of a table's versions in one page, and the first version of its blocks. */
interface Found {
  readonly records: readonly VersionRecord[]
  readonly begins: number
}

/** Reads bytes of a page, from a file or from memory. */
type ReadRange = (offset: number, length: number) => Promise<Uint8Array>

/** A page and its bytes. */
interface PageBytes {
  readonly page: PageInfo
  /** The key of the bytes in the caches. */
  readonly key: string
  readonly read: ReadRange
}

interface ReadRecords {
  readonly all: Records
  /** About the memory of the records, bytes. */
  readonly memory: number
}

/** Returns whether a record may still be read. */
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
  /** The last slot that was noted. */
  #noted: number
  /** Records after `sealed`, by table. */
  #tail = new Map<string, Records>()
  readonly #onDamaged: ((key: string, error: SheafError) => void) | undefined
  /** Errors of pages whose file is missing or damaged. */
  readonly #damaged = new Map<string, SheafError>()
  readonly #footers: Partition<Uint8Array>
  readonly #blocks: Partition<ReadRecords>
  readonly #rebuilt: Partition<Rebuilt>

  /**
   * Create a history.
   *
   * - `pages`: the pages that a checkpoint names, in order.
   * - `slots`: where to read the slots of a page whose file is missing or damaged. Without `slots`, such a page is an
   *   error (Internal, "corrupted") that names the file.
   * - `lookAgain`: returns the pages of the newest checkpoint, after every slot of it was noted. Called when known
   *   pages may have been replaced.
   * - `onDamaged`: called for damaged files.
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

  /** Add the records of a slot's versions. */
  note(slot: Slot): void {
    const { slot: number } = slot.header
    assert(number === this.#noted + 1, `slot ${number} is noted after slot ${this.#noted}`)
    this.#noted = number
    eachRecord(slot, (table, record) => {
      // A page of earlier slots may be under way. It uses the old map, with the records that are replaced here.
      if (record.kind === 'taken') this.#tail = new Map(this.#tail)
      addRecord(this.#tail, table, record)
    })
  }

  /** Return the record of a version, or null if the version never existed. */
  async find(table: string, version: number, signal?: AbortSignal): Promise<VersionRecord | null> {
    return (await this.range(table, version, version, signal))[0] ?? null
  }

  /**
   * Return the records of versions `first..last` (inclusive) of a table, ascending. Reads each page with such records
   * once.
   */
  async range(table: string, first: number, last: number, signal?: AbortSignal): Promise<VersionRecord[]> {
    const pages = this.#pages
    try {
      return await this.#rangeIn(pages, table, first, last, signal)
    } catch (error) {
      signal?.throwIfAborted()
      // Pages that were merged are deleted in the end.
      const others = error instanceof SheafError ? await this.#lookAgain?.().catch(() => null) : null
      if (others != null && lastSlot(others) <= this.#noted) await this.adopt(others)
      // `lookAgain` may have led to newer pages than it returned.
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
    // A table's versions ascend along the slots. So a page that begins at `first` or before has all records after it.
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
   * Write a page with the records of the slots after `sealed` up to `to`, and merge it with older pages if there are
   * many. A merged page leaves out records for which `isNeeded` is false.
   *
   * Returns all pages up to `to`, for a checkpoint to name. A page without records has no file, only an entry of 0
   * bytes; consecutive empty pages share an entry. Changes nothing in memory: call `seal` once the checkpoint is
   * durable.
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
    if (page.bytes > 0) await this.#store.putIfAbsent(pageKey(page), encoded.bytes, signal)
    return this.#merged([...pages, page], isNeeded, pacer)
  }

  /** Merge the newest pages if that is due, so that there are never many pages. */
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
      // Readers rebuild a damaged page as long as it is not merged.
      if (error instanceof SheafError && error.code === ErrorCode.Internal) return pages
      throw error
    }
    const { to } = some.at(-1)!
    const encoded = await encodePage(upTo(tables, await sorted(tables.keys(), pacer), to), pacer)
    const one = pageInfo(some[0]!.from, to, encoded)
    if (one.bytes > 0) await this.#store.putIfAbsent(pageKey(one), encoded.bytes, pacer.signal)
    return [...pages.slice(0, start), one]
  }

  /** Read the records of these pages from files from now on, and drop them from memory. */
  seal(pages: readonly PageInfo[]): void {
    const sealed = lastSlot(pages)
    assert(sealed >= this.sealed, `pages up to slot ${sealed} replace those up to ${this.sealed}`)
    // Calls under way use the old map, so make a new one.
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
   * Like `seal`, for pages that another process wrote. If they end earlier than the known pages, the later records are
   * read from slots.
   */
  async adopt(pages: readonly PageInfo[]): Promise<void> {
    if (lastSlot(pages) >= this.sealed || this.#slots === undefined) return this.seal(pages)
    const tail = new Map<string, Records>()
    for (let number = lastSlot(pages) + 1; number <= this.#noted; number++) {
      eachRecord(await this.#slots.get(number), (table, record) => addRecord(tail, table, record))
    }
    // There is no await since the last check of `#noted`, so nothing was noted in between.
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
        // If the store only refused the read, the page may be readable the next time.
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
    // A missing page was mostly merged with others, which is not an error.
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

/** Read adjacent blocks at once. */
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

/** Rebuild a page from its slots, as its writer wrote it. */
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

/** Drop the records that later records of kind `taken` replace. `records`: of one table, in log order. */
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
 * Return the records of tables up to slot `to`, in table order. Tables without such records are left out. More records
 * may be noted meanwhile.
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
 * Sort strings by UTF-16 units. Sorts groups with the same first two units: sorting 100,000 strings at once would block
 * the event loop.
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

/** Return the records of versions `first..last`. */
function between(records: Records, first: number, last: number): Records {
  return records.slice(firstFrom(records, first), firstFrom(records, last + 1))
}

/** Return the number of records before version `version`. */
function firstFrom(records: Records, version: number): number {
  return partitionPoint(records.length, i => records[i]!.version < version)
}

/** Return the number of records of slots up to `slot`. */
function firstAfter(records: Records, slot: number): number {
  return partitionPoint(records.length, i => records[i]!.slot <= slot)
}

function lastSlot(pages: readonly PageInfo[]): number {
  return pages.at(-1)?.to ?? 0
}
