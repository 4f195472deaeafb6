/**
 * Encodes and decodes history pages.
 *
 *     blocks     each one line of JSON: an array of records of one table, ascending by version
 *     footer     one line of JSON per block: [table, first version, last version, offset, bytes, checksum]
 *     trailer    bytes of the footer u32 | bytes of the file u64 | "SHEAFHP1"
 *
 * A record is [version, slot, entry, ts, txn, kind, start]. If the rows are not in Sheaf's format, it has the manifest
 * instead of `start`. Blocks are sorted by table, then by version. Tables are compared by UTF-16 code units. A block
 * ends after 1,000 records, or after the record with which it has at least 64 K characters. Numbers in the trailer are
 * little-endian.
 *
 * The name of a page contains the CRC-32 of footer and trailer, and the footer contains the CRC-32 of each block. So
 * every byte is protected by a checksum.
 */
import { corrupted, quote } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Pacer } from '../primitives/pacer.js'
import type { ManifestFile, VersionRecord } from './version.js'

/** A history page: the file `_hist/<name>` with the records of the slots `from..to`. */
export interface PageInfo {
  readonly from: number
  readonly to: number
  /** `<from, 20 digits>-<to, 20 digits>-<checksum>.page` */
  readonly name: string
  /** Size of the file. A page without records has 0 bytes and no file. */
  readonly bytes: number
}

/** An entry of the footer: the position of a block in its page, and its versions. */
export interface Block {
  /** The versions of the first and of the last record of the block. */
  readonly first: number
  readonly last: number
  readonly offset: number
  readonly bytes: number
  readonly crc: number
}

interface EncodedPage {
  readonly bytes: Uint8Array
  readonly crc: number
}

const trailerBytes = 20
const magic = Buffer.from('SHEAFHP1')
const newline = 0x0a
const blockRecords = 1000
const blockChars = 64 * 1024
/** Number of characters of footer lines that are encoded together. */
const sliceChars = 64 * 1024

/** Return the key of a page in the blob store. */
export function pageKey(page: PageInfo): string {
  return `_hist/${page.name}`
}

/** Return the `PageInfo` of an encoded page with the records of the slots `from..to`. */
export function pageInfo(from: number, to: number, { bytes, crc }: EncodedPage): PageInfo {
  const digits = (slot: number) => String(slot).padStart(20, '0')
  return { from, to, name: `${digits(from)}-${digits(to)}-${crcHex(crc)}.page`, bytes: bytes.length }
}

/**
 * Encode a page. `tables`: the records of each table, sorted by table. Returns no bytes and the checksum 0 if there are
 * no records.
 */
export async function encodePage(
  tables: Iterable<readonly [table: string, records: readonly VersionRecord[]]>,
  pacer: Pacer,
): Promise<EncodedPage> {
  const parts: Uint8Array[] = []
  const footer: Uint8Array[] = []
  let offset = 0
  let lines = ''
  for (const [table, records] of tables) {
    for (let at = 0; at < records.length; ) {
      const first = at
      let text = '['
      do {
        if (at > first) text += ','
        text += JSON.stringify(rowOf(records[at++]!))
      } while (at < records.length && at - first < blockRecords && text.length < blockChars)
      const block = Buffer.from(`${text}]\n`)
      const versions = [records[first]!.version, records[at - 1]!.version]
      lines += `${JSON.stringify([table, ...versions, offset, block.length, crcHex(crc32(block))])}\n`
      parts.push(block)
      offset += block.length
      if (lines.length >= sliceChars) {
        footer.push(Buffer.from(lines))
        lines = ''
      }
      if (pacer.due()) await pacer.pause()
    }
  }
  if (parts.length === 0) return { bytes: new Uint8Array(0), crc: 0 }
  footer.push(Buffer.from(lines))
  const footerBytes = footer.reduce((sum, part) => sum + part.length, 0)
  const trailer = Buffer.alloc(trailerBytes)
  trailer.writeUInt32LE(footerBytes, 0)
  trailer.writeBigUInt64LE(BigInt(offset + footerBytes + trailerBytes), 4)
  magic.copy(trailer, 12)
  footer.push(trailer)
  let crc = 0
  for (const part of footer) {
    crc = crc32(part, crc)
    parts.push(part)
  }
  return { bytes: await joined(parts, offset + footerBytes + trailerBytes, pacer), crc }
}

/**
 * Return the number of bytes at the end of a page that `decodeFooter` needs. `end`: at least the last 20 bytes of the
 * page.
 */
export function endBytes(end: Uint8Array, page: PageInfo): number {
  const at = end.length - trailerBytes
  const trailer = Buffer.from(end.buffer, end.byteOffset + at, trailerBytes)
  const bytes = trailer.readUInt32LE(0) + trailerBytes
  const total = trailer.readBigUInt64LE(4)
  if (!trailer.subarray(12).equals(magic)) throw damaged(page, 'it does not end in SHEAFHP1')
  if (total !== BigInt(page.bytes) || bytes > page.bytes)
    throw damaged(page, `its trailer says ${total} bytes, but the file must have ${page.bytes} bytes`)
  return bytes
}

/**
 * Check a footer. Returns its lines. `end`: the last bytes of a page; their number must be the result of `endBytes`.
 */
export function decodeFooter(end: Uint8Array, page: PageInfo): Uint8Array {
  const crc = crcHex(crc32(end))
  if (!page.name.endsWith(`-${crc}.page`))
    throw damaged(page, `the checksum of its footer is ${crc}, not the one in its name`)
  return end.subarray(0, -trailerBytes)
}

/**
 * Return the blocks of a table that may have records of the versions `first..last`, in order. They are adjacent in the
 * page.
 */
export function findBlocks(footer: Uint8Array, table: string, first: number, last: number): Block[] {
  const found: Block[] = []
  for (let at = seek(footer, table, first); at < footer.length; ) {
    const end = footer.indexOf(newline, at) + 1
    const line = lineAt(footer, at, end)
    if (line[0] !== table || line[1] > last) break
    found.push({
      first: line[1],
      last: line[2],
      offset: line[3],
      bytes: line[4],
      crc: Number(`0x${line[5]}`),
    })
    at = end
  }
  return found
}

/** Check and decode a block. */
export function decodeBlock(bytes: Uint8Array, block: Block, page: PageInfo): VersionRecord[] {
  if (crc32(bytes) !== block.crc) {
    throw damaged(page, `the checksum of its block at byte ${block.offset} is not ${crcHex(block.crc)}`)
  }
  return (JSON.parse(textOf(bytes)) as Row[]).map(recordOf)
}

/**
 * Decode all records of a page, sorted by table and version. Yields once per block, so a table may occur several times.
 */
export function* decodePage(
  bytes: Uint8Array,
  page: PageInfo,
): Generator<readonly [table: string, records: readonly VersionRecord[]]> {
  const footer = decodeFooter(bytes.subarray(bytes.length - endBytes(bytes, page)), page)
  for (let at = 0; at < footer.length; ) {
    const end = footer.indexOf(newline, at) + 1
    const [table, first, last, offset, length, crc] = lineAt(footer, at, end)
    const block = { first, last, offset, bytes: length, crc: Number(`0x${crc}`) }
    yield [table, decodeBlock(bytes.subarray(offset, offset + length), block, page)]
    at = end
  }
}

type Line = readonly [
  table: string,
  first: number,
  last: number,
  offset: number,
  bytes: number,
  checksum: string,
]

/**
 * Return the offset of the first footer line of the table that has the version or a later one, by binary search. If
 * there is none, return the offset at which it would be.
 */
function seek(footer: Uint8Array, table: string, version: number): number {
  let low = 0
  let high = footer.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const start = footer.lastIndexOf(newline, middle - 1) + 1
    const end = footer.indexOf(newline, middle) + 1
    const [name, , last] = lineAt(footer, start, end)
    if (name < table || (name === table && last < version)) low = end
    else high = start
  }
  return low
}

function lineAt(footer: Uint8Array, start: number, end: number): Line {
  return JSON.parse(textOf(footer.subarray(start, end)))
}

type Row = readonly [
  version: number,
  slot: number,
  entry: number,
  ts: number,
  txn: string,
  kind: VersionRecord['kind'],
  more: number | ManifestFile,
]

function rowOf({ version, slot, entry, ts, txn, kind, start, manifest }: VersionRecord) {
  return [version, slot, entry, ts, txn, kind, start ?? manifest]
}

function recordOf([version, slot, entry, ts, txn, kind, more]: Row): VersionRecord {
  return typeof more === 'number'
    ? { version, slot, entry, ts, txn, kind, start: more }
    : { version, slot, entry, ts, txn, kind, manifest: more }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
}

async function joined(parts: readonly Uint8Array[], total: number, pacer: Pacer): Promise<Uint8Array> {
  const all = new Uint8Array(total)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
    if (pacer.due()) await pacer.pause()
  }
  return all
}

function damaged(page: PageInfo, what: string) {
  return corrupted(`${quote(pageKey(page))} is damaged: ${what}`)
}
