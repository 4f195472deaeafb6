/**
 * Encodes and decodes pages of the history.
 *
 *     blocks     each one line of JSON: an array of records of one table, ascending by version
 *     footer     one line of JSON per block: [table, first version, last version, offset, bytes, checksum]
 *     trailer    bytes of the footer u32 | bytes of the file u64 | "SHEAFHP1"
 *
 * A record is [version, slot, entry, ts, txn, kind, start], or has the manifest instead of `start`. Blocks are in order
 * of (table, version), tables compared by UTF-16 units. A block ends at its 1,000th record, or at the record that makes
 * it 64 K characters long. Numbers in the trailer are little-endian. The CRC-32 of footer and trailer is in the page's
 * name. Together with the checksums of the blocks in the footer it covers every byte.
 */
import { corrupted, quote } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Pacer } from '../primitives/pacer.js'
import type { ManifestFile, VersionRecord } from './version.js'

/** A page: the file `_hist/<name>` with the records of slots `from..to`. */
export interface PageInfo {
  readonly from: number
  readonly to: number
  /** `<from, 20 digits>-<to, 20 digits>-<checksum>.page` */
  readonly name: string
  /** 0 for a page without records, which has no file. */
  readonly bytes: number
}

/** The position of a block in its page, from the footer. */
export interface Block {
  /** Versions of the block's first and last record. */
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
/** Footer lines are encoded this many characters at a time. */
const sliceChars = 64 * 1024

/** Return the key of a page in the blob store. */
export function pageKey(page: PageInfo): string {
  return `_hist/${page.name}`
}

/** Return the name and size of an encoded page of slots `from..to`. */
export function pageInfo(from: number, to: number, { bytes, crc }: EncodedPage): PageInfo {
  const digits = (slot: number) => String(slot).padStart(20, '0')
  return { from, to, name: `${digits(from)}-${digits(to)}-${crcHex(crc)}.page`, bytes: bytes.length }
}

/** Encode the records of tables, which must come in order. Returns no bytes and checksum 0 if there are no records. */
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

/** Return how many of a page's last bytes `decodeFooter` needs. `end`: the last bytes of the page, at least 20. */
export function endBytes(end: Uint8Array, page: PageInfo): number {
  const at = end.length - trailerBytes
  const trailer = Buffer.from(end.buffer, end.byteOffset + at, trailerBytes)
  const bytes = trailer.readUInt32LE(0) + trailerBytes
  const total = trailer.readBigUInt64LE(4)
  if (!trailer.subarray(12).equals(magic)) throw damaged(page, 'it does not end in SHEAFHP1')
  if (total !== BigInt(page.bytes) || bytes > page.bytes)
    throw damaged(page, `its size is not ${page.bytes} bytes`)
  return bytes
}

/** Check the footer, and return its lines. `end`: the last `endBytes` bytes of a page. */
export function decodeFooter(end: Uint8Array, page: PageInfo): Uint8Array {
  const crc = crcHex(crc32(end))
  if (!page.name.endsWith(`-${crc}.page`)) throw damaged(page, `the checksum of its footer is ${crc}`)
  return end.subarray(0, -trailerBytes)
}

/** Return the blocks with versions `first..last` of a table, in order. They are adjacent. */
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
    throw damaged(page, `the checksum of its bytes from ${block.offset} on is not ${crcHex(block.crc)}`)
  }
  return (JSON.parse(textOf(bytes)) as Row[]).map(recordOf)
}

/** Decode all records of a page, by table and version. A table may come in several pieces. */
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

/** Return where the first line of a block starts that is not before (table, version), by binary search. */
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
