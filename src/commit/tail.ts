/**
 * Encodes and decodes tails. The tail of slot B is a file in which the writer of slot B appends the slots B+1, B+2, ...
 * as records, with one sync each. Any other writer ends the tail first; its end then says which records are slots.
 *
 * The tail, `_log/<B>.tail`, has a fixed size and is full of zeros before its first record:
 *
 *     mark       u32 number of records that are durable | u32 the same number with all bits inverted
 *     magic      "SHEAFTL1"
 *     base       u32 checksum of slot B | u32 CRC-32 of the boot
 *     boot       40 bytes: the boot of the writer's machine, in ASCII, padded with zeros
 *     records    one after the other, each padded to a multiple of 8 bytes
 *
 * A record is one slot:
 *
 *     head       u32 bytes of the slot | u32 checksum of the slot before it
 *     slot       the bytes of a slot file (commit/slot.ts)
 *
 * A record is *valid* if its slot is whole, and follows slot B or a valid record. Records up to the mark are valid and
 * durable. Later records may be valid, because the writer sets the mark after the sync.
 *
 * The end of the tail, `_log/<B>.end`, is written once:
 *
 *     head       "SHEAFTE1" | u32 number of slots in the tail | u32 checksum of the last of them, or of slot B
 *     copies     u32 number of records that follow | u32 zero | the last records of the tail, because its mark does not cover them
 *     trailer    u32 CRC-32 of all earlier bytes | u32 zero
 *
 * Numbers are little-endian.
 */
import { corrupted, quote } from '../errors.js'
import { crc32 } from '../primitives/checksum.js'
import { slotKey } from './blob-log.js'
import { soundChecksum } from './slot.js'

const tailMagic = Buffer.from('SHEAFTL1')
const endMagic = Buffer.from('SHEAFTE1')
/** Offset of the first record of a tail. */
export const tailHeadBytes = 64
const bootAt = 24
/** Bytes before the slot of a record. */
export const recordHeadBytes = 8
const endHeadBytes = 24
const trailerBytes = 8

/** Return the key of the tail of slot `base`. */
export function tailKey(base: number): string {
  return `${slotKey(base)}.tail`
}

/** Return the key of the seal of a tail. A writer that finds it appends no more. */
export function sealKey(base: number): string {
  return `${slotKey(base)}.seal`
}

/** Return the key of the end of a tail. */
export function endKey(base: number): string {
  return `${slotKey(base)}.end`
}

/** The fields of the head of a tail, without the mark. */
export interface TailHead {
  /** The checksum of slot `base`. */
  readonly crc: number
  readonly boot: string
}

/** Return a tail of `size` bytes without records. */
export function emptyTail({ crc, boot }: TailHead, size: number): Uint8Array {
  const bytes = Buffer.alloc(size)
  encodeMark(0).copy(bytes)
  tailMagic.copy(bytes, 8)
  bytes.writeUInt32LE(crc, 16)
  bytes.write(boot, bootAt, tailHeadBytes - bootAt, 'latin1')
  bytes.writeUInt32LE(crc32(bytes.subarray(bootAt, tailHeadBytes)), 20)
  return bytes
}

/** Decode the first `tailHeadBytes` bytes of a tail. Throws Internal ("corrupted") for other bytes. */
export function decodeTailHead(bytes: Uint8Array, base: number): TailHead {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const boot = head.subarray(bootAt, tailHeadBytes)
  if (!head.subarray(8, 16).equals(tailMagic) || crc32(boot) !== head.readUInt32LE(20)) {
    throw corrupted(`${quote(tailKey(base))} is damaged: its head is not that of a tail`)
  }
  return { crc: head.readUInt32LE(16), boot: boot.toString('latin1').replace(/\0+$/, '') }
}

/** Return the 8 bytes of a mark. */
export function encodeMark(records: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt32LE(records, 0)
  bytes.writeUInt32LE(~records >>> 0, 4)
  return bytes
}

/** Return the number of records in a mark. Returns null if the 8 bytes were read while they changed. */
export function decodeMark(bytes: Uint8Array): number | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const records = view.getUint32(0, true)
  return view.getUint32(4, true) === ~records >>> 0 ? records : null
}

/** Return the size of the record of a slot file with `slotBytes` bytes. */
export function recordBytes(slotBytes: number): number {
  return recordHeadBytes + 8 * Math.ceil(slotBytes / 8)
}

/** Return the record of a slot. `prev`: the checksum of the slot before it. */
export function encodeRecord(slot: Uint8Array, prev: number): Uint8Array {
  const bytes = new Uint8Array(recordBytes(slot.length))
  const view = new DataView(bytes.buffer)
  view.setUint32(0, slot.length, true)
  view.setUint32(4, prev, true)
  bytes.set(slot, recordHeadBytes)
  return bytes
}

/** A record in some bytes. */
interface TailRecord {
  /** Offset and length of the slot in the bytes. */
  readonly start: number
  readonly length: number
  /** The checksum that the slot states. */
  readonly crc: number
  /** Offset of the next record. */
  readonly next: number
}

/**
 * Return the valid record at offset `at` of `bytes`, which follows a slot with the checksum `prev`. Returns null if
 * there is none.
 */
export function validRecord(bytes: Uint8Array, at: number, prev: number): TailRecord | null {
  if (at + recordHeadBytes > bytes.length) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const length = view.getUint32(at, true)
  const next = at + recordBytes(length)
  if (length === 0 || next > bytes.length || view.getUint32(at + 4, true) !== prev) return null
  const start = at + recordHeadBytes
  const crc = soundChecksum(bytes.subarray(start, start + length))
  return crc === null ? null : { start, length, crc, next }
}

/** The end of a tail. */
export interface TailEnd {
  /** Number of slots in the tail. */
  readonly records: number
  /** The checksum of the last of them, or of the tail's base if there are none. */
  readonly crc: number
  /** The bytes of the last slots of the tail, in order. The tail itself may have lost them. */
  readonly copies: readonly Uint8Array[]
}

/** Encode the end of a tail. `prev`: the checksum of the slot before the first copy. */
export function encodeTailEnd({ records, crc, copies }: TailEnd, prev: number): Uint8Array {
  const head = Buffer.alloc(endHeadBytes)
  endMagic.copy(head)
  head.writeUInt32LE(records, 8)
  head.writeUInt32LE(crc, 12)
  head.writeUInt32LE(copies.length, 16)
  const parts: Uint8Array[] = [head]
  for (const copy of copies) {
    parts.push(encodeRecord(copy, prev))
    prev = soundChecksum(copy)!
  }
  const trailer = Buffer.alloc(trailerBytes)
  trailer.writeUInt32LE(crc32(Buffer.concat(parts)), 0)
  return Buffer.concat([...parts, trailer])
}

/** Decode the end of the tail of slot `base`. Throws Internal ("corrupted") for damaged bytes. */
export function decodeTailEnd(bytes: Uint8Array, base: number): TailEnd {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const end = file.length - trailerBytes
  const isWhole = end >= endHeadBytes && file.subarray(0, 8).equals(endMagic)
  if (!isWhole || crc32(file.subarray(0, end)) !== file.readUInt32LE(end)) throw badEnd(base, 'it is torn')
  const [records, crc, count] = [file.readUInt32LE(8), file.readUInt32LE(12), file.readUInt32LE(16)]
  const copies: Uint8Array[] = []
  let at = endHeadBytes
  for (let last: number | null = null; copies.length < count; ) {
    const prev = last ?? (at + recordHeadBytes <= end ? file.readUInt32LE(at + 4) : 0)
    const record = validRecord(file.subarray(0, end), at, prev)
    if (record === null) throw badEnd(base, `its copy ${copies.length} is damaged`)
    copies.push(new Uint8Array(file.subarray(record.start, record.start + record.length)))
    last = record.crc
    at = record.next
  }
  if (at !== end || count > records) throw badEnd(base, 'its counts are wrong')
  return { records, crc, copies }
}

function badEnd(base: number, what: string) {
  return corrupted(`${quote(endKey(base))} is damaged: ${what}`)
}
