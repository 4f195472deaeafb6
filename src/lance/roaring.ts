/**
 * Reads sets of 32-bit numbers as Roaring bitmaps (https://github.com/RoaringBitmap/RoaringFormatSpec). A set consists of
 * containers, one for each value of the upper 16 bits. A container is an array, a bitmap or a list of runs.
 */
import { invalidInput } from '../errors.js'
import { NumberRuns } from '../primitives/number-runs.js'

/** The first number of a file without containers of runs. */
const cookieWithoutRuns = 12346
/** The lower 16 bits of the first number of a file that may have containers of runs. */
const cookieWithRuns = 12347
/** From this number of containers on, a file with containers of runs has the offsets of its containers. */
const offsetsFrom = 4
/** Containers with more numbers are bitmaps. */
const arrayMax = 4096
const bitmapBytes = 8192

/**
 * Decode a set. `name`: the name of the file, for errors. Throws InvalidInput if the bytes are not a Roaring bitmap. The
 * result takes at most 64 times as much memory as the bytes.
 */
export function decodeRoaring(bytes: Uint8Array, name: string): NumberRuns {
  return new RoaringReader(bytes, name).read()
}

class RoaringReader {
  readonly #view: DataView
  readonly #name: string
  #at = 0
  /** The runs so far: their first numbers and lengths. */
  readonly #starts: number[] = []
  readonly #lengths: number[] = []

  constructor(bytes: Uint8Array, name: string) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#name = name
  }

  read(): NumberRuns {
    const cookie = this.#uint32()
    const mayHaveRuns = (cookie & 0xffff) === cookieWithRuns
    if (!mayHaveRuns && cookie !== cookieWithoutRuns) throw this.#damaged(`it begins with ${cookie}`)
    const containers = mayHaveRuns ? (cookie >>> 16) + 1 : this.#uint32()
    if (containers > 65536) throw this.#damaged(`it has ${containers} containers`)
    const runFlags = mayHaveRuns ? this.#skip(Math.ceil(containers / 8)) : null
    const heads = this.#skip(4 * containers)
    if (!mayHaveRuns || containers >= offsetsFrom) this.#skip(4 * containers)
    let before = -1
    for (let i = 0; i < containers; i++) {
      const key = this.#view.getUint16(heads + 4 * i, true)
      const count = this.#view.getUint16(heads + 4 * i + 2, true) + 1
      if (key <= before) throw this.#damaged(`container ${key} follows container ${before}`)
      before = key
      const isRuns = runFlags !== null && ((this.#view.getUint8(runFlags + (i >> 3)) >> (i & 7)) & 1) === 1
      const found = isRuns
        ? this.#runs(key * 65536)
        : count <= arrayMax
          ? this.#array(key * 65536, count)
          : this.#bitmap(key * 65536)
      if (found !== count) throw this.#damaged(`container ${key} has ${found} numbers instead of ${count}`)
    }
    if (this.#at !== this.#view.byteLength)
      throw this.#damaged(`${this.#view.byteLength - this.#at} bytes follow the last container`)
    return new NumberRuns(this.#starts, this.#lengths)
  }

  #array(base: number, count: number): number {
    const from = this.#skip(2 * count)
    let before = -1
    for (let i = 0; i < count; i++) {
      const low = this.#view.getUint16(from + 2 * i, true)
      if (low <= before) throw this.#damaged(`${low} follows ${before}`)
      before = low
      this.#add(base + low, 1)
    }
    return count
  }

  #bitmap(base: number): number {
    const from = this.#skip(bitmapBytes)
    let count = 0
    for (let i = 0; i < bitmapBytes; i++) {
      let bits = this.#view.getUint8(from + i)
      if (bits === 255) {
        this.#add(base + 8 * i, 8)
        count += 8
        continue
      }
      for (let bit = 0; bits !== 0; bit++, bits >>= 1) {
        if ((bits & 1) === 0) continue
        this.#add(base + 8 * i + bit, 1)
        count++
      }
    }
    return count
  }

  #runs(base: number): number {
    const runs = this.#view.getUint16(this.#skip(2), true)
    const from = this.#skip(4 * runs)
    let count = 0
    let end = -1
    for (let i = 0; i < runs; i++) {
      const start = this.#view.getUint16(from + 4 * i, true)
      const length = this.#view.getUint16(from + 4 * i + 2, true) + 1
      if (start < end || start + length > 65536) throw this.#damaged(`a run of ${length} begins at ${start}`)
      this.#add(base + start, length)
      count += length
      end = start + length
    }
    return count
  }

  /** Add a run. Joins it to the run before if there is no gap. */
  #add(start: number, length: number): void {
    const last = this.#starts.length - 1
    if (last >= 0 && this.#starts[last]! + this.#lengths[last]! === start) this.#lengths[last]! += length
    else {
      this.#starts.push(start)
      this.#lengths.push(length)
    }
  }

  #uint32(): number {
    return this.#view.getUint32(this.#skip(4), true)
  }

  /** Consume bytes. Returns their position. */
  #skip(bytes: number): number {
    const from = this.#at
    if (bytes > this.#view.byteLength - from) throw this.#damaged('it is cut off')
    this.#at += bytes
    return from
  }

  #damaged(problem: string): Error {
    return invalidInput(`${this.#name} is not a Roaring bitmap: ${problem} (byte ${this.#at})`)
  }
}
