/** Reads the pages of a column chunk in order. */
import { unsupported } from '../../../src/errors.js'
import { crc32 } from '../../../src/primitives/checksum.js'
import { brokenParquet } from './fault.js'
import type { FileRange } from './metadata.js'
import type { RangeFile } from './random-access.js'
import { readThrift, ThriftEnd, type ThriftStruct } from './thrift-reader.js'

interface PageBase {
  /** Read the bytes of the page. Throws InvalidInput if they do not have the checksum in the header. */
  readonly load: () => Promise<Uint8Array>
  /** Bytes of the page after decompression. */
  readonly plainBytes: number
  /** The byte of the file at which the bytes of the page begin. */
  readonly at: number
}

export interface DataPage extends PageBase {
  readonly kind: 'data'
  readonly entries: number
  readonly encoding: number
  /** Bytes of both kinds of levels before the values, which are not compressed. Null: the page has the older form. */
  readonly levelBytes: readonly [repetition: number, definition: number] | null
  readonly isCompressed: boolean
  readonly hasBitPackedLevels: boolean
}

type PageOfChunk =
  | DataPage
  | (PageBase & { readonly kind: 'dictionary'; readonly entries: number; readonly encoding: number })
  | { readonly kind: 'other' }

/** Maximum bytes of a page after decompression. */
const maxPageBytes = 2 ** 30

/** Lengths in which the header of a page is read. Most headers have less than 100 bytes. */
const headerBytes = [256, 16 * 1024, 1 << 20, 1 << 24] as const

export class PageStream {
  readonly #file: RangeFile
  readonly #end: number
  readonly #windowBytes: number
  #window: Uint8Array = new Uint8Array(0)
  #windowAt = 0
  #peeked: PageOfChunk | null = null
  position: number

  readonly #places: readonly FileRange[] | null

  /**
   * `windowBytes`: bytes that are read at once, if the chunk has them. `places`: the places of the pages, so that whole
   * pages are read at once. Null: the places are not known.
   */
  constructor(file: RangeFile, range: FileRange, windowBytes: number, places: readonly FileRange[] | null) {
    this.#file = file
    this.position = range.offset
    this.#end = range.offset + range.length
    this.#windowBytes = windowBytes
    this.#places = places
  }

  seek(offset: number): void {
    this.position = offset
    this.#peeked = null
  }

  /** Return the next page without passing over it, or null after the last page. */
  async peek(): Promise<PageOfChunk | null> {
    this.#peeked ??= await this.#read()
    return this.#peeked
  }

  /** Return the next page, or null after the last page. */
  async next(): Promise<PageOfChunk | null> {
    const page = await this.peek()
    this.#peeked = null
    return page
  }

  async #read(): Promise<PageOfChunk | null> {
    if (this.position >= this.#end) return null
    const start = this.position
    const { struct, length } = await this.#header()
    const packed = struct.neededCount(3)
    const plainBytes = struct.neededCount(2)
    const at = start + length
    if (packed > this.#end - at) throw brokenParquet('a page ends after its column', at)
    if (plainBytes > maxPageBytes || packed > maxPageBytes)
      throw unsupported(`the Parquet file has a page of more than ${maxPageBytes} bytes (byte ${start})`)
    this.position = at + packed
    const load = async () => checked(await this.#bytes(at, packed), struct, at)
    const kind = struct.neededCount(1)
    const data = struct.struct(5)
    if (kind === 0 && data !== null) {
      return {
        kind: 'data',
        entries: data.neededCount(1),
        encoding: data.neededCount(2),
        levelBytes: null,
        isCompressed: true,
        hasBitPackedLevels: data.count(3) === 4,
        load,
        plainBytes,
        at,
      }
    }
    const newer = struct.struct(8)
    if (kind === 3 && newer !== null) {
      return {
        kind: 'data',
        entries: newer.neededCount(1),
        encoding: newer.neededCount(4),
        levelBytes: [newer.neededCount(6), newer.neededCount(5)],
        isCompressed: newer.flag(7) ?? true,
        hasBitPackedLevels: false,
        load,
        plainBytes,
        at,
      }
    }
    const dictionary = struct.struct(7)
    if (kind === 2 && dictionary !== null) {
      return {
        kind: 'dictionary',
        entries: dictionary.neededCount(1),
        encoding: dictionary.neededCount(2),
        load,
        plainBytes,
        at,
      }
    }
    if (kind === 0 || kind === 2 || kind === 3) throw struct.fault('a page has no header of its kind')
    return { kind: 'other' }
  }

  async #header(): Promise<{ struct: ThriftStruct; length: number }> {
    const left = this.#end - this.position
    for (const most of headerBytes) {
      try {
        return readThrift(await this.#bytes(this.position, Math.min(most, left)), this.position)
      } catch (error) {
        if (!(error instanceof ThriftEnd)) throw error
        if (most >= left) break
      }
    }
    throw brokenParquet('the header of a page is cut off or longer than 16 MiB', this.position)
  }

  async #bytes(offset: number, length: number): Promise<Uint8Array> {
    const from = offset - this.#windowAt
    if (length === 0) return new Uint8Array(0)
    if (from < 0 || from + length > this.#window.length) {
      const page = this.#places?.find(place => place.offset === offset)?.length ?? 0
      const most = Math.max(length, page, Math.min(this.#windowBytes, this.#end - offset))
      this.#window = await this.#file.read(offset, most)
      this.#windowAt = offset
      return this.#window.subarray(0, length)
    }
    return this.#window.subarray(from, from + length)
  }
}

/** Return the bytes of a page, if they have the checksum in its header. */
function checked(bytes: Uint8Array, header: ThriftStruct, at: number): Uint8Array {
  const sum = header.integer(4)
  if (sum !== null && sum !== (crc32(bytes) | 0)) throw brokenParquet('a page has a wrong checksum', at)
  return bytes
}
