/**
 * Slots that were taken out of the log: those that somebody may still ask for lie in packs, word for word.
 *
 *     slots      the bytes of slot files, back to back
 *     index      one line of JSON: [[slot, offset, bytes], ...], ascending
 *     chain      the checksum of every slot that the pack stands for, u32 each
 *     trailer    bytes of the index u32 | first slot u64 | bytes of the file u64 | "SHEAFSP1"
 *
 * - A pack stands for slots `from..to`; what of them is not in it nobody needs. Packs follow each other from slot 1 on.
 * - The CRC-32 of index, chain and trailer stands in the name, and a slot is under its own: that is every byte.
 * - The chain tells whether some bytes were ever a slot of this log, long after it is gone.
 * - A checkpoint names the packs. A slot is deleted from the log only when every checkpoint that is kept does.
 */
import { corrupted, quote } from '../errors.js'
import { crc32, crcHex } from '../primitives/checksum.js'
import { Memory, type Partition } from '../primitives/memory.js'
import { Pacer } from '../primitives/pacer.js'
import { partitionPoint } from '../primitives/partition-point.js'
import type { MaybePromise } from '../primitives/task.js'
import type { BlobStore } from '../storage/blob-store.js'

/** A pack: `_hist/<name>`, in place of slots `from..to`. */
export interface PackInfo {
  readonly from: number
  readonly to: number
  /** `<from, 20 digits>-<to, 20 digits>-<birth, base36>-<checksum>.slots`; an earlier Sheaf wrote no birth. */
  readonly name: string
  readonly bytes: number
}

/** What readers of checkpoints must know where there are packs. */
export const packsFeature = 'packs'

/** A slot for a pack: its checksum, and its bytes where they are needed. */
export interface PackedSlot {
  readonly crc: number
  readonly bytes: Uint8Array | null
}

interface Footer {
  /** Slot, offset, and bytes of each that lies in it, ascending. */
  readonly places: Float64Array
  readonly chain: Uint32Array
}

const trailerBytes = 28
const magic = Buffer.from('SHEAFSP1')
/** What of a pack is read first: nearly always its whole footer. */
const endGuess = 64 * 1024
/** Entries of index and chain that are worked on at once, */
const slice = 4096
/** and bytes of the index. */
const lineSlice = 64 * 1024
/** What footers that share no memory with anything else may take. */
const ownBytes = 16 * 1024 * 1024

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
      ({ places, chain }) => places.byteLength + chain.byteLength,
    )
  }

  /** Those a checkpoint names, in order. */
  get infos(): readonly PackInfo[] {
    return this.#infos
  }

  /** The last slot they stand for; 0 without any. */
  get covered(): number {
    return coveredBy(this.#infos)
  }

  /** Knows these from now on: those of a checkpoint that the log names, so that no slot is gone from the log which they do not stand for. */
  adopt(infos: readonly PackInfo[]): void {
    this.#infos = infos
  }

  /** The bytes of a slot; null when it is in none. */
  async read(number: number): Promise<Uint8Array | null> {
    const info = this.#infoOf(number)
    return info === undefined ? null : this.readIn(info, number)
  }

  /** The key of the pack that stands for a slot; null for a slot that none stands for. */
  keyOf(number: number): string | null {
    const info = this.#infoOf(number)
    return info === undefined ? null : packKey(info)
  }

  /** The bytes of a slot in one pack, known here or not; null when it is not in it. */
  async readIn(info: PackInfo, number: number): Promise<Uint8Array | null> {
    const { places } = await this.#footerOf(info)
    const at = 3 * partitionPoint(places.length / 3, i => places[3 * i]! < number)
    if (places[at] !== number) return null
    return this.#store.getRange(packKey(info), places[at + 1]!, places[at + 2]!)
  }

  /** The checksums of the slots that a pack stands for. */
  async chainOf(info: PackInfo): Promise<Uint32Array> {
    return (await this.#footerOf(info)).chain
  }

  /** The checksum of a slot that they stand for; null for one they do not. */
  async crcOf(number: number): Promise<number | null> {
    const info = this.#infoOf(number)
    return info === undefined ? null : (await this.#footerOf(info)).chain[number - info.from]!
  }

  /** The slots that lie in a pack, ascending. */
  async numbersIn(info: PackInfo): Promise<Float64Array> {
    const { places } = await this.#footerOf(info)
    return Float64Array.from({ length: places.length / 3 }, (_, i) => places[3 * i]!)
  }

  /** How many bytes the slots in a pack take for which `isNeeded` is false. */
  async bytesInVain(info: PackInfo, isNeeded: (slot: number) => boolean, pacer: Pacer): Promise<number> {
    const { places } = await this.#footerOf(info)
    let inVain = 0
    for (let at = 0; at < places.length; at += 3) {
      if (!isNeeded(places[at]!)) inVain += places[at + 2]!
      if (at % slice === 0) await pacer.turn()
    }
    return inVain
  }

  /** Writes a pack in place of the slots from `from` on, durably. `birth`: the slot of the checkpoint that is to name it. */
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

export function packKey({ name }: PackInfo): string {
  return `_hist/${name}`
}

/** The last slot that some packs stand for; 0 without any. */
export function coveredBy(infos: readonly PackInfo[]): number {
  return infos.at(-1)?.to ?? 0
}

/** The bytes of a pack, and the checksum in its name. */
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
    if (entries.length === slice) {
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
  if (length > info.bytes) throw damaged(`it is not ${info.bytes} bytes`)
  const footer =
    length <= guess
      ? end.subarray(guess - length)
      : Buffer.from(await store.getRange(key, info.bytes - length, length))
  if (!info.name.endsWith(`-${crcHex(crc32(footer))}.slots`)) throw damaged('its index has another checksum')
  const pacer = new Pacer()
  const places = new Float64Array(await readIndex(footer.subarray(0, lineBytes), pacer))
  const chain = new Uint32Array(chainBytes / 4)
  for (let i = 0; i < chain.length; i++) {
    chain[i] = footer.readUInt32LE(lineBytes + 4 * i)
    if (i % slice === 0) await pacer.turn()
  }
  return { places, chain }
}

/** The numbers in the line of the index, one after the other; parsed in pieces that begin and end between two entries. */
async function readIndex(line: Buffer, pacer: Pacer): Promise<number[]> {
  const numbers: number[] = []
  const end = line.lastIndexOf(']')
  for (let at = 1; at < end; ) {
    const cut = line.indexOf('],', Math.min(end, at + lineSlice))
    const next = cut === -1 ? end : cut + 1
    const entries = JSON.parse(`[${line.toString('latin1', at, next)}]`) as [number, number, number][]
    for (const entry of entries) numbers.push(...entry)
    at = next + 1
    await pacer.turn()
  }
  return numbers
}
