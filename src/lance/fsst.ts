/**
 * Decodes text that was compressed with FSST (https://www.vldb.org/pvldb/vol13/p2649-boncz.pdf): each byte is the number
 * of a symbol of 1 to 8 bytes, or 255 before a byte that stands for itself.
 */
import { invalidInput } from '../errors.js'

const magic = 0x46535354
const escapeCode = 255

/** Bytes of decoded values, of which `length` are used. */
interface DecodedBytes {
  readonly bytes: Uint8Array
  length: number
}

/** Decodes values that were compressed with one symbol table. */
export class FsstDecoder {
  /** Whether values are compressed. Short columns have a table, but their values are stored as they are. */
  readonly isOn: boolean
  /** By symbol: its first 4 and its last 4 bytes as little-endian integers. */
  readonly #low = new Uint32Array(256)
  readonly #high = new Uint32Array(256)
  readonly #lengths = new Uint8Array(256)

  /**
   * `table`: 4 bytes with flags and the number of symbols, 4 bytes "FSST", 8 bytes for each symbol, and the length of
   * each symbol.
   */
  constructor(table: Uint8Array) {
    const view = new DataView(table.buffer, table.byteOffset, table.byteLength)
    const count = table[0] ?? 0
    if (table.length < 8 + 9 * count || table.length < 8 || view.getUint32(4, true) !== magic) {
      throw invalidInput(`a table of FSST symbols of ${table.length} bytes is damaged`)
    }
    this.isOn = (table[3]! & 1) === 1
    for (let i = 0; i < count; i++) {
      this.#low[i] = view.getUint32(8 + 8 * i, true)
      this.#high[i] = view.getUint32(12 + 8 * i, true)
    }
    this.#lengths.set(table.subarray(8 + 8 * count, 8 + 9 * count))
    for (let i = 0; i < count; i++) {
      const length = this.#lengths[i]!
      if (length < 1 || length > 8) throw invalidInput(`an FSST symbol has ${length} bytes, expected 1 to 8`)
    }
  }

  /**
   * Decode the values of `source` that lie between `offsets`, and append them to `out`. Writes the end of each value to
   * `ends` from `at` on. `out.bytes` has room for 8 bytes per byte of the values, and 8 more.
   */
  decode(source: Uint8Array, offsets: Int32Array, out: DecodedBytes, ends: Int32Array, at: number): void {
    const low = this.#low
    const high = this.#high
    const lengths = this.#lengths
    const { bytes } = out
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const count = offsets.length - 1
    let to = out.length
    for (let value = 0, i = offsets[0]!; value < count; value++) {
      const end = offsets[value + 1]!
      while (i < end) {
        const code = source[i++]!
        if (code === escapeCode) {
          if (i >= end) throw invalidInput('a text that was compressed with FSST is cut off')
          bytes[to++] = source[i++]!
          continue
        }
        const length = lengths[code]!
        if (length === 0) throw invalidInput(`a text refers to the FSST symbol ${code}, which does not exist`)
        // Always write 4 or 8 bytes, because a loop of `length` steps is slower. The next symbol overwrites the surplus.
        view.setUint32(to, low[code]!, true)
        if (length > 4) view.setUint32(to + 4, high[code]!, true)
        to += length
      }
      ends[at + value] = to
    }
    out.length = to
  }
}
