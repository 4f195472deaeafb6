/**
 * Encodes and decodes the file of a slot.
 *
 *     header     one line of JSON, padded with spaces before its "\n" so that the blobs start at a multiple of 8
 *     blobs      back to back
 *     trailer    crc32 u32 | bytes of the header line with its "\n" u32 | bytes of the file u64 | "SHEAFLG1"
 *
 * If later slots may be in a tail of this slot (commit/tail.ts), the trailer ends in "SHEAFLT1" instead.
 *
 * Numbers are little-endian. The checksum covers every byte of the file except its own four. The header is a
 * `SlotHeader`, or in slot 0 `{"f":1,"need":[],"ts":...,"genesis":{"root":...,"format":1}}`.
 *
 * `decodeSlot` decodes every slot that Sheaf wrote. For other bytes it throws an error that names the slot and the
 * defect. A right checksum does not prove that the content is valid, so `decodeSlot` also checks the fields of the
 * header.
 */
import { assert, corrupted, quote, type SheafError, unsupported } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import type { Entry, Genesis, SlotHeader } from './machine.js'

const trailerBytes = 24
const encoder = new TextEncoder()
const magic = Buffer.from('SHEAFLG1')
const magicWithTail = Buffer.from('SHEAFLT1')
/** The need of a slot 0 that is a pointer (commit/external-log.ts). */
const externalLog = 'external-log'
/** The need of the slot that ends a moved log, and of slot 0 of the new log (commit/log-moves.ts). */
export const movedFeature = 'moved'
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** A decoded slot. */
export class Slot {
  readonly header: SlotHeader
  /** The checksum in the slot's trailer. The next slot has it as `prev`. */
  readonly crc: number
  readonly #file: Uint8Array
  readonly #headerBytes: number

  constructor(header: SlotHeader, crc: number, file: Uint8Array, headerBytes: number) {
    this.header = header
    this.crc = crc
    this.#file = file
    this.#headerBytes = headerBytes
  }

  /**
   * Return the bytes of a blob without a copy. The bytes are aligned to 8 within the file if the sizes of all earlier
   * blobs are multiples of 8.
   */
  blob(index: number): Uint8Array {
    const range = this.header.blobs[index]
    assert(range !== undefined, `slot ${this.header.slot} has no blob ${index}`)
    const start = this.#headerBytes + range[0]
    return this.#file.subarray(start, start + range[1])
  }

  /** The size of the slot's file in bytes. */
  get bytes(): number {
    return this.#file.length
  }

  /**
   * The estimated memory of the slot in bytes. Measured: the objects of a header take five times as many bytes as its
   * text.
   */
  get memory(): number {
    return this.#file.length + 5 * this.#headerBytes
  }
}

/** A slot, and the bytes of its file. */
export interface EncodedSlot {
  readonly slot: Slot
  readonly bytes: Uint8Array
}

/**
 * Encode a slot. `entryTexts`: the JSON texts of `header.entries`, in the same order. Every commit runs this code. So the
 * header is joined from its fields, because `JSON.stringify` of copied objects takes several times as long.
 *
 * `mayHaveTail`: whether later slots may be in a tail of this slot.
 */
export function encodeSlot(
  header: Omit<SlotHeader, 'f' | 'blobs'>,
  entryTexts: readonly string[],
  blobs: readonly Uint8Array[],
  mayHaveTail = false,
): EncodedSlot {
  const { need, slot, prev, by, ts, clock, entries } = header
  let end = 0
  let rangeTexts = ''
  const ranges: (readonly [number, number])[] = []
  for (const blob of blobs) {
    ranges.push([end, blob.length])
    rangeTexts += `${rangeTexts === '' ? '' : ','}[${end},${blob.length}]`
    end += blob.length
  }
  const needs = need.length === 0 ? '[]' : JSON.stringify(need)
  const times = clock === undefined ? `"ts":${ts}` : `"ts":${ts},"clock":${clock}`
  const { bytes, crc, headerBytes } = encodeFile(
    `{"f":1,"need":${needs},"slot":${slot},"prev":"${prev}","by":${JSON.stringify(by)},${times},"blobs":[${rangeTexts}],"entries":[${entryTexts.join(',')}]}`,
    blobs,
    end,
    mayHaveTail,
  )
  // Name each field instead of spreading the clock: a spread takes longer than the rest of the header.
  const known: SlotHeader =
    clock === undefined
      ? { f: 1, need, slot, prev, by, ts, blobs: ranges, entries }
      : { f: 1, need, slot, prev, by, ts, clock, blobs: ranges, entries }
  return { bytes, slot: new Slot(known, crc, bytes, headerBytes) }
}

/** Encode slot 0. `ts`: milliseconds since 1970. */
export function encodeGenesis(genesis: Genesis, ts: number): Uint8Array {
  return encodeFile(JSON.stringify({ f: 1, need: [], ts, genesis }), [], 0, false).bytes
}

/** The content of a slot 0 that is a pointer (commit/external-log.ts). */
export interface LogPointer {
  /** The id of the root. */
  readonly root: string
  /** The name of the log, for messages. */
  readonly log: string
}

/** Encode a pointer. `ts`: milliseconds since 1970. */
export function encodePointer({ root, log }: LogPointer, ts: number): Uint8Array {
  const genesis = { root, format: 1, log }
  return encodeFile(JSON.stringify({ f: 1, need: [externalLog], ts, genesis }), [], 0, false).bytes
}

/** Decode a pointer. Returns null if the slot 0 is no pointer. Throws the same errors as `decodeSlot`. */
export function decodePointer(bytes: Uint8Array): LogPointer | null {
  const { need, genesis } = decodeFile(bytes, 0).header
  if (!Array.isArray(need) || !need.includes(externalLog)) return null
  const { root } = decodeGenesis(bytes, new Set([externalLog])).genesis
  const { log } = genesis as Record<string, unknown>
  if (typeof log !== 'string') throw badHeader(0, 'log')
  return { root, log }
}

/**
 * Decode slot `number`. Throws Internal ("corrupted") for a slot that is torn, damaged or has another number. Throws
 * Unsupported for a slot that needs a feature that is not in `features`.
 */
export function decodeSlot(bytes: Uint8Array, number: number, features: ReadonlySet<string>): Slot {
  const { header, crc, headerBytes } = decodeFile(bytes, number)
  checkFormat(header, number, features)
  checkHeader(header, number, bytes.length - headerBytes - trailerBytes)
  return new Slot(header, crc, bytes, headerBytes)
}

/**
 * Return the checksum in the trailer of a slot without checking it. Returns null if `bytes` is shorter than a trailer.
 */
export function statedChecksum(bytes: Uint8Array): number | null {
  if (bytes.length < trailerBytes) return null
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(bytes.length - trailerBytes, true)
}

/**
 * Return the checksum of the previous slot that the header of a slot states, without checking the slot. Returns null for
 * slot 0, and if the bytes are not a slot.
 */
export function statedPrevious(bytes: Uint8Array): number | null {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 4096)).toString('latin1')
  const [, prev] = /^\{"f":1,"need":\[[^\]]*\],"slot":\d+,"prev":"([0-9a-f]{8})"/.exec(start) ?? []
  return prev === undefined ? null : Number.parseInt(prev, 16)
}

/** Return whether later slots may be in a tail of the slot with the bytes `bytes`. */
export function mayHaveTail(bytes: Uint8Array): boolean {
  return endsIn(bytes, magicWithTail)
}

/** Return the checksum of a slot if `bytes` is a whole slot without damage, otherwise null. */
export function soundChecksum(bytes: Uint8Array): number | null {
  const stated = statedChecksum(bytes)
  if (stated === null || (!endsIn(bytes, magic) && !endsIn(bytes, magicWithTail))) return null
  return checksum(bytes) === stated ? stated : null
}

function endsIn(bytes: Uint8Array, suffix: Uint8Array): boolean {
  const start = bytes.length - suffix.length
  return start >= 0 && suffix.every((byte, i) => bytes[start + i] === byte)
}

/** The content of slot 0. */
export interface DecodedGenesis {
  readonly genesis: Genesis
  /** The time of the root's first slot 0. */
  readonly ts: number
  /** The checksum that slot 1 names: that of the root's first slot 0. */
  readonly crc: number
  /** The last move of the log (commit/log-moves.ts). Null: the log was never moved. */
  readonly moved: LogMove | null
}

/** The move of a log, in slot 0 of the new log. */
export interface LogMove {
  /** 1 for the first move of the root, 2 for the next one, ... */
  readonly move: number
  /** The slot that ended the old log. The new log has it, too, and continues after it. */
  readonly slot: number
  /** The name of the new log. Null: it is in the files of the root. */
  readonly log: string | null
  /** A random id of the new log. */
  readonly id: string
}

/** Encode slot 0 of a log after a move. `start`: the content of slot 0 of the old log. */
export function encodeMovedGenesis({ genesis, ts, crc }: DecodedGenesis, moved: LogMove): Uint8Array {
  const content = { root: genesis.root, format: 1, first: crcHex(crc), ...moved }
  return encodeFile(JSON.stringify({ f: 1, need: [movedFeature], ts, genesis: content }), [], 0, false).bytes
}

/** Decode slot 0. Throws the same errors as `decodeSlot`. */
export function decodeGenesis(bytes: Uint8Array, features: ReadonlySet<string>): DecodedGenesis {
  const { header, crc } = decodeFile(bytes, 0)
  checkFormat(header, 0, features)
  const { ts, genesis } = header
  if (!isRecord(genesis) || typeof genesis.root !== 'string' || !isCount(ts)) throw badHeader(0, 'genesis')
  if (genesis.format !== 1) throw tooNew(0, `format ${quote(genesis.format)}`)
  const isMoved = (header.need as readonly unknown[]).includes(movedFeature)
  const own = { genesis: { root: genesis.root, format: 1 }, ts } as const
  if (!isMoved) return { ...own, crc, moved: null }
  const { first, move, slot, log, id } = genesis
  if (typeof first !== 'string' || !/^[0-9a-f]{8}$/.test(first)) throw badHeader(0, 'first')
  if (!isCount(move) || !isCount(slot) || typeof id !== 'string') throw badHeader(0, 'genesis')
  if (log !== null && typeof log !== 'string') throw badHeader(0, 'log')
  return { ...own, crc: Number.parseInt(first, 16), moved: { move, slot, log, id } }
}

function encodeFile(line: string, blobs: readonly Uint8Array[], blobBytes: number, mayHaveTail: boolean) {
  const textBytes = Buffer.byteLength(line) + 1
  const headerBytes = blobBytes === 0 ? textBytes : textBytes + (-textBytes & 7)
  const total = headerBytes + blobBytes + trailerBytes
  const bytes = new Uint8Array(total)
  encoder.encodeInto(line, bytes)
  if (headerBytes > textBytes) bytes.fill(0x20, textBytes - 1, headerBytes - 1)
  bytes[headerBytes - 1] = 0x0a
  let at = headerBytes
  for (const blob of blobs) {
    bytes.set(blob, at)
    at += blob.length
  }
  const trailer = new DataView(bytes.buffer, at)
  trailer.setUint32(4, headerBytes, true)
  trailer.setUint32(8, total >>> 0, true)
  trailer.setUint32(12, Math.floor(total / 2 ** 32), true)
  bytes.set(mayHaveTail ? magicWithTail : magic, at + 16)
  const crc = checksum(bytes)
  trailer.setUint32(0, crc, true)
  return { bytes, crc, headerBytes }
}

function checksum(bytes: Uint8Array): number {
  const at = bytes.length - trailerBytes
  return crc32(bytes.subarray(at + 4), crc32(bytes.subarray(0, at)))
}

function decodeFile(bytes: Uint8Array, number: number) {
  const at = bytes.length - trailerBytes
  if (at < 1) throw corrupted(`slot ${number} is torn: it has only ${bytes.length} bytes`)
  const trailer = new DataView(bytes.buffer, bytes.byteOffset + at, trailerBytes)
  if (!endsIn(bytes, magic) && !endsIn(bytes, magicWithTail)) {
    throw corrupted(`slot ${number} is torn or foreign: it does not end in ${magic}`)
  }
  const total = trailer.getBigUint64(8, true)
  if (total !== BigInt(bytes.length)) {
    throw corrupted(`slot ${number} is torn: it has ${bytes.length} bytes, but its trailer says ${total}`)
  }
  const crc = trailer.getUint32(0, true)
  const actual = checksum(bytes)
  if (crc !== actual) {
    throw corrupted(
      `slot ${number} is damaged: its checksum is ${crcHex(actual)}, but its trailer says ${crcHex(crc)}`,
    )
  }
  const headerBytes = trailer.getUint32(4, true)
  if (headerBytes < 1 || headerBytes > at || bytes[headerBytes - 1] !== 0x0a) {
    throw corrupted(`slot ${number} is damaged: its header does not end at byte ${headerBytes}`)
  }
  let header: unknown
  try {
    header = JSON.parse(utf8.decode(bytes.subarray(0, headerBytes)))
  } catch (cause) {
    throw corrupted(`slot ${number} is damaged: its header is not JSON`, { cause })
  }
  if (!isRecord(header)) throw badHeader(number, 'object')
  return { header, crc, headerBytes }
}

function checkFormat(header: Record<string, unknown>, number: number, features: ReadonlySet<string>): void {
  const { f, need } = header
  if (!isCount(f)) throw badHeader(number, 'f')
  if (f !== 1) throw tooNew(number, `slot format ${f}`)
  if (!Array.isArray(need)) throw badHeader(number, 'need')
  for (const feature of need) {
    if (!features.has(feature)) throw tooNew(number, `the feature ${quote(feature)}`)
  }
}

function checkHeader(
  header: Record<string, unknown>,
  number: number,
  blobBytes: number,
): asserts header is Record<string, unknown> & SlotHeader {
  const { slot, prev, by, ts, blobs, entries } = header
  if (!isCount(slot)) throw badHeader(number, 'slot')
  if (slot !== number)
    throw corrupted(`slot ${number} has the wrong number: its header is that of slot ${slot}`)
  if (typeof prev !== 'string' || !/^[0-9a-f]{8}$/.test(prev)) throw badHeader(number, 'prev')
  if (typeof by !== 'string') throw badHeader(number, 'by')
  if (!isCount(ts)) throw badHeader(number, 'ts')
  if (!Array.isArray(blobs)) throw badHeader(number, 'blobs')
  let end = 0
  for (const range of blobs) {
    if (!Array.isArray(range) || range.length !== 2 || range[0] !== end || !isCount(range[1])) {
      throw badHeader(number, 'blobs')
    }
    end += range[1]
  }
  if (end !== blobBytes) throw badHeader(number, 'blobs')
  if (!Array.isArray(entries) || entries.length === 0 || !entries.every(isEntry)) {
    throw badHeader(number, 'entries')
  }
}

function isEntry(value: unknown): value is Entry {
  return (
    isRecord(value) && typeof value.txn === 'string' && Array.isArray(value.req) && Array.isArray(value.ops)
  )
}

/** Return whether a parsed JSON value is an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Return whether a parsed JSON value is an integer from 0 to 2^53 - 1. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function badHeader(number: number, field: string): SheafError {
  return corrupted(`slot ${number} is damaged: its header has no valid ${quote(field)}`)
}

function tooNew(number: number, what: string): SheafError {
  return unsupported(`slot ${number} was written by a newer Sheaf: this version does not support ${what}`, {
    hint: 'open this root with the version of Sheaf that wrote it, or with a later version',
  })
}
