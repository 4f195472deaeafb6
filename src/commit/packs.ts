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
import { Memory, type Room } from '../primitives/memory.js'
import type { BlobStore } from '../storage/blob-store.js'

/** A pack: `_hist/<name>`, in place of slots `from..to`. */
export interface PackInfo {
  readonly from: number
  readonly to: number
  /** `<from, 20 digits>-<to, 20 digits>-<checksum>.slots` */
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
  /** Where each slot lies. */
  readonly places: ReadonlyMap<number, readonly [offset: number, bytes: number]>
  readonly chain: Uint32Array
}

const trailerBytes = 28
const magic = Buffer.from('SHEAFSP1')
/** What of a pack is read first: nearly always its whole footer. */
const endGuess = 64 * 1024
/** What footers that share no memory with anything else may take. */
const ownBytes = 16 * 1024 * 1024

export class Packs {
  readonly #store: BlobStore
  #infos: readonly PackInfo[] = []
  readonly #footers: Room<Footer>

  constructor(store: BlobStore, infos: readonly PackInfo[] = [], memory = new Memory(ownBytes)) {
    this.#store = store
    this.#infos = infos
    this.#footers = memory.room(
      'packFooters',
      'places',
      ({ places, chain }) => 100 * places.size + chain.byteLength,
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

  /** Knows these from now on, if they stand for no fewer slots. */
  adopt(infos: readonly PackInfo[]): void {
    if (coveredBy(infos) >= this.covered) this.#infos = infos
  }

  /** The bytes of a slot; null when it is in none. */
  async read(number: number): Promise<Uint8Array | null> {
    const info = this.#infoOf(number)
    return info === undefined ? null : this.readIn(info, number)
  }

  /** The bytes of a slot in one pack, known here or not; null when it is not in it. */
  async readIn(info: PackInfo, number: number): Promise<Uint8Array | null> {
    const place = (await this.#footerOf(info)).places.get(number)
    return place === undefined ? null : this.#store.getRange(packKey(info), ...place)
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

  /** Slots that lie in a pack, with the bytes each takes. */
  async contents(info: PackInfo): Promise<ReadonlyMap<number, number>> {
    const { places } = await this.#footerOf(info)
    return new Map([...places].map(([number, [, bytes]]) => [number, bytes]))
  }

  /** Writes a pack in place of the slots from `from` on, durably. */
  async write(from: number, slots: readonly PackedSlot[]): Promise<PackInfo> {
    const encoded = encodePack(from, slots)
    const digits = (slot: number) => String(slot).padStart(20, '0')
    const to = from + slots.length - 1
    const name = `${digits(from)}-${digits(to)}-${crcHex(encoded.crc)}.slots`
    const info = { from, to, name, bytes: encoded.bytes.length }
    await this.#store.putIfAbsent(packKey(info), encoded.bytes)
    return info
  }

  #infoOf(number: number): PackInfo | undefined {
    return this.#infos.find(({ from, to }) => from <= number && number <= to)
  }

  #footerOf(info: PackInfo): Promise<Footer> {
    return this.#footers.get(info.name, () => readFooter(this.#store, info))
  }
}

export function packKey({ name }: PackInfo): string {
  return `_hist/${name}`
}

/** The last slot that some packs stand for; 0 without any. */
export function coveredBy(infos: readonly PackInfo[]): number {
  return infos.at(-1)?.to ?? 0
}

function encodePack(from: number, slots: readonly PackedSlot[]) {
  const parts: Uint8Array[] = []
  const index: (readonly [slot: number, offset: number, bytes: number])[] = []
  const chain = Buffer.alloc(4 * slots.length)
  let offset = 0
  for (const [i, { crc, bytes }] of slots.entries()) {
    chain.writeUInt32LE(crc, 4 * i)
    if (bytes === null) continue
    index.push([from + i, offset, bytes.length])
    parts.push(bytes)
    offset += bytes.length
  }
  const line = Buffer.from(`${JSON.stringify(index)}\n`)
  const trailer = Buffer.alloc(trailerBytes)
  trailer.writeUInt32LE(line.length, 0)
  trailer.writeBigUInt64LE(BigInt(from), 4)
  trailer.writeBigUInt64LE(BigInt(offset + line.length + chain.length + trailerBytes), 12)
  magic.copy(trailer, 20)
  const crc = crc32(trailer, crc32(chain, crc32(line)))
  return { bytes: Buffer.concat([...parts, line, chain, trailer]), crc }
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
  const index = JSON.parse(footer.toString('utf8', 0, lineBytes)) as [number, number, number][]
  const chain = new Uint32Array(chainBytes / 4)
  for (let i = 0; i < chain.length; i++) chain[i] = footer.readUInt32LE(lineBytes + 4 * i)
  return { places: new Map(index.map(([slot, offset, bytes]) => [slot, [offset, bytes]])), chain }
}
