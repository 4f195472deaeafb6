/**
 * Packs: files with copies of slots that were trimmed from the log and may still be read.
 *
 *     slots      the bytes of slot files, back to back
 *     index      one line of JSON: [[slot, offset, bytes], ...], ascending
 *     chain      the checksums of all slots of the range, u32 each
 *     trailer    bytes of the index u32 | first slot u64 | bytes of the file u64 | "SHEAFSP1"
 *
 * - A pack replaces the slots `from..to`. It contains only those slots of this range that were still needed. The range
 *   of the first pack begins with slot 1, and each further range begins after the previous one.
 * - A checksum protects every byte. The CRC-32 of index, chain and trailer is in the name of the file. Each slot has
 *   its own checksum.
 * - With the chain, a reader can check whether given bytes were a slot of this log, even after the slot was deleted.
 * - Checkpoints contain the list of packs. A slot is deleted from the log only when every kept checkpoint lists its
 *   pack.
 */
import { corrupted, quote } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import { Memory, type Partition } from '../primitives/memory.js'
import { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import type { MaybePromise } from '../primitives/task.js'
import type { BlobStore } from '../storage/blob-store.js'

/** A pack: the file `_hist/<name>`, which replaces slots `from..to`. */
export interface PackInfo {
  readonly from: number
  readonly to: number
  /**
   * `<from, 20 digits>-<to, 20 digits>-<creation slot, base36>-<checksum>.slots`. Names that earlier releases of Sheaf
   * wrote have no creation slot.
   */
  readonly name: string
  readonly bytes: number
}

/** The feature that readers of a checkpoint must support if the checkpoint lists packs. */
export const packsFeature = 'packs'

/** A slot of a pack's range. `bytes`: the bytes of the slot if it is still needed, otherwise null. */
export interface PackedSlot {
  readonly crc: number
  readonly bytes: Uint8Array | null
}

interface Footer {
  /** Slot number, offset and byte length of each slot in the pack, ascending. */
  readonly positions: Float64Array
  readonly chain: Uint32Array
}

const trailerBytes = 28
const magic = Buffer.from('SHEAFSP1')
/** Number of bytes at the end of a pack that are read first. They nearly always contain the whole footer. */
const endGuess = 64 * 1024
/** Number of entries of the index or the chain that are processed before the code may pause. */
const entriesAtOnce = 4096
/** Number of bytes of the index that are parsed before the code may pause. */
const indexBytesAtOnce = 64 * 1024
/** Size in bytes of the cache of footers if the caller passes no `Memory`. */
const ownBytes = 16 * 1024 * 1024

/** Reads and writes packs. See the head of this file. */
export class Packs {
  readonly #store: BlobStore
  #infos: readonly PackInfo[] = []
  readonly #footers: Partition<Footer>

  constructor(store: BlobStore, infos: readonly PackInfo[] = [], memory = new Memory(ownBytes)) {
    this.#store = store
    this.#infos = infos
    this.#footers = memory.partition(
      'packFooters',
      'places',
      ({ positions, chain }) => positions.byteLength + chain.byteLength,
    )
  }

  /** The packs in use, in slot order: those of the last call of `adopt`, or of the constructor. */
  get infos(): readonly PackInfo[] {
    return this.#infos
  }

  /** The last slot that the packs replace; 0 if there are no packs. */
  get covered(): number {
    return coveredBy(this.#infos)
  }

  /**
   * Use these packs from now on. They must come from a checkpoint that the log names, because only such a checkpoint is
   * certain to list the packs of all trimmed slots.
   */
  adopt(infos: readonly PackInfo[]): void {
    this.#infos = infos
  }

  /** Read the bytes of a slot. Returns null if no pack contains the slot. */
  async read(number: number): Promise<Uint8Array | null> {
    const info = this.#infoOf(number)
    return info === undefined ? null : this.readIn(info, number)
  }

  /** Return the key of the pack that replaces a slot; null if there is none. */
  keyOf(number: number): string | null {
    const info = this.#infoOf(number)
    return info === undefined ? null : packKey(info)
  }

  /**
   * Read the bytes of a slot from a given pack, which need not be adopted. Returns null if the pack does not contain
   * the slot.
   */
  async readIn(info: PackInfo, number: number): Promise<Uint8Array | null> {
    const { positions } = await this.#footerOf(info)
    const at = 3 * partitionPoint(positions.length / 3, i => positions[3 * i]! < number)
    if (positions[at] !== number) return null
    return this.#store.getRange(packKey(info), positions[at + 1]!, positions[at + 2]!)
  }

  /** Return the checksums of all slots of a pack's range. */
  async chainOf(info: PackInfo): Promise<Uint32Array> {
    return (await this.#footerOf(info)).chain
  }

  /** Return the checksum of a slot in the range of a pack; null for any other slot. */
  async crcOf(number: number): Promise<number | null> {
    const info = this.#infoOf(number)
    return info === undefined ? null : (await this.#footerOf(info)).chain[number - info.from]!
  }

  /** Return the numbers of the slots that a pack contains, ascending. */
  async numbersIn(info: PackInfo): Promise<Float64Array> {
    const { positions } = await this.#footerOf(info)
    return Float64Array.from({ length: positions.length / 3 }, (_, i) => positions[3 * i]!)
  }

  /** Return the size in bytes of the slots in a pack for which `isNeeded` returns false. */
  async bytesInVain(info: PackInfo, isNeeded: (slot: number) => boolean, pacer: Pacer): Promise<number> {
    const { positions } = await this.#footerOf(info)
    let unneeded = 0
    for (let at = 0; at < positions.length; at += 3) {
      if (!isNeeded(positions[at]!)) unneeded += positions[at + 2]!
      if (at % entriesAtOnce === 0) await pacer.turn()
    }
    return unneeded
  }

  /**
   * Write a pack durably. It replaces the slots from `from` on. `birth`: the creation slot of the pack, which is the
   * slot of the checkpoint that will list it.
   */
  async write(
    from: number,
    slots: readonly PackedSlot[],
    birth: number,
    pacer = new Pacer(),
  ): Promise<PackInfo> {
    const encoded = await encodePack(from, slots, pacer)
    const digits = (slot: number) => String(slot).padStart(20, '0')
    const to = from + slots.length - 1
    const name = `${digits(from)}-${digits(to)}-${birth.toString(36)}-${crcHex(encoded.crc)}.slots`
    const info = { from, to, name, bytes: encoded.bytes.length }
    await this.#store.putIfAbsent(packKey(info), encoded.bytes)
    return info
  }

  #infoOf(number: number): PackInfo | undefined {
    return this.#infos.find(({ from, to }) => from <= number && number <= to)
  }

  #footerOf(info: PackInfo): MaybePromise<Footer> {
    return this.#footers.get(packKey(info), () => readFooter(this.#store, info))
  }
}

/** Return the key of a pack in the blob store. */
export function packKey({ name }: PackInfo): string {
  return `_hist/${name}`
}

/** Return the last slot that these packs replace; 0 if there are no packs. */
export function coveredBy(infos: readonly PackInfo[]): number {
  return infos.at(-1)?.to ?? 0
}

/** Encode a pack. Returns its bytes, and the checksum that its name must contain. */
async function encodePack(from: number, slots: readonly PackedSlot[], pacer: Pacer) {
  const lines: string[] = []
  const chain = Buffer.alloc(4 * slots.length)
  let offset = 0
  let entries: string[] = []
  for (const [i, { crc, bytes }] of slots.entries()) {
    chain.writeUInt32LE(crc, 4 * i)
    if (bytes !== null) {
      entries.push(`[${from + i},${offset},${bytes.length}]`)
      offset += bytes.length
    }
    if (entries.length === entriesAtOnce) {
      lines.push(entries.join())
      entries = []
    }
    if (pacer.due()) await pacer.pause()
  }
  if (entries.length > 0) lines.push(entries.join())
  const line = Buffer.from(`[${lines.join()}]\n`)
  await pacer.turn()
  const trailer = Buffer.alloc(trailerBytes)
  trailer.writeUInt32LE(line.length, 0)
  trailer.writeBigUInt64LE(BigInt(from), 4)
  trailer.writeBigUInt64LE(BigInt(offset + line.length + chain.length + trailerBytes), 12)
  magic.copy(trailer, 20)
  const footer = Buffer.concat([line, chain, trailer])
  const encoded = Buffer.allocUnsafe(offset + footer.length)
  let end = 0
  for (const { bytes } of slots) {
    if (bytes === null) continue
    encoded.set(bytes, end)
    end += bytes.length
    if (pacer.due()) await pacer.pause()
  }
  encoded.set(footer, end)
  await pacer.turn()
  return { bytes: encoded, crc: crc32(footer) }
}

async function readFooter(store: BlobStore, info: PackInfo): Promise<Footer> {
  const key = packKey(info)
  const damaged = (what: string) => corrupted(`${quote(key)} is damaged: ${what}`)
  const guess = Math.min(info.bytes, endGuess)
  const end = Buffer.from(await store.getRange(key, info.bytes - guess, guess))
  const trailer = end.subarray(-trailerBytes)
  if (trailer.length < trailerBytes || !trailer.subarray(20).equals(magic)) {
    throw damaged('it does not end in SHEAFSP1')
  }
  const lineBytes = trailer.readUInt32LE(0)
  const chainBytes = 4 * (info.to - info.from + 1)
  const length = lineBytes + chainBytes + trailerBytes
  if (length > info.bytes)
    throw damaged(`its footer has ${length} bytes, but the file has only ${info.bytes}`)
  const footer =
    length <= guess
      ? end.subarray(guess - length)
      : Buffer.from(await store.getRange(key, info.bytes - length, length))
  if (!info.name.endsWith(`-${crcHex(crc32(footer))}.slots`))
    throw damaged('the checksum of its footer is not the one in its name')
  const pacer = new Pacer()
  const positions = new Float64Array(await readIndex(footer.subarray(0, lineBytes), pacer))
  const chain = new Uint32Array(chainBytes / 4)
  for (let i = 0; i < chain.length; i++) {
    chain[i] = footer.readUInt32LE(lineBytes + 4 * i)
    if (i % entriesAtOnce === 0) await pacer.turn()
  }
  return { positions, chain }
}

/**
 * Parse the index of a pack. Returns one array with the slot number, the offset and the byte length of each
 * entry. Parses pieces of several entries, and yields to the event loop in between.
 */
async function readIndex(line: Buffer, pacer: Pacer): Promise<number[]> {
  const numbers: number[] = []
  const end = line.lastIndexOf(']')
  for (let at = 1; at < end; ) {
    const cut = line.indexOf('],', Math.min(end, at + indexBytesAtOnce))
    const next = cut === -1 ? end : cut + 1
    const entries = JSON.parse(`[${line.toString('latin1', at, next)}]`) as [number, number, number][]
    for (const entry of entries) numbers.push(...entry)
    at = next + 1
    await pacer.turn()
  }
  return numbers
}
