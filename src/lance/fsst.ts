/**
 * Decodes text that was compressed with FSST (https://www.vldb.org/pvldb/vol13/p2649-boncz.pdf): each byte is the number
 * of a symbol of 1 to 8 bytes, or 255 before a byte that stands for itself.
 */
import { invalidInput } from '../errors.js'

const magic = 0x46535354
const escapeCode = 255

/** Decodes values that were compressed with one symbol table. */
export class FsstDecoder {
  /** Whether values are compressed. Short columns have a table, but their values are stored as they are. */
  readonly isOn: boolean
  readonly #symbols = new Uint8Array(256 * 8)
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
    this.#symbols.set(table.subarray(8, 8 + 8 * count))
    this.#lengths.set(table.subarray(8 + 8 * count, 8 + 9 * count))
    for (let i = 0; i < count; i++) {
      const length = this.#lengths[i]!
      if (length < 1 || length > 8) throw invalidInput(`an FSST symbol has ${length} bytes, expected 1 to 8`)
    }
  }

  /**
   * Decode `source` from `start` to `end` into `out` at `at`. `out` has at least `8 * (end - start) + 8` bytes from `at`
   * on. Returns the end of the output.
   */
  decode(source: Uint8Array, start: number, end: number, out: Uint8Array, at: number): number {
    const symbols = this.#symbols
    const lengths = this.#lengths
    let to = at
    for (let i = start; i < end; i++) {
      const code = source[i]!
      if (code === escapeCode) {
        if (++i >= end) throw invalidInput('a text that was compressed with FSST is cut off')
        out[to++] = source[i]!
        continue
      }
      const length = lengths[code]!
      if (length === 0) throw invalidInput(`a text refers to the FSST symbol ${code}, which does not exist`)
      const from = code << 3
      // Always copy 8 bytes, because a loop of `length` steps is slower. The next symbol overwrites the surplus.
      out[to] = symbols[from]!
      out[to + 1] = symbols[from + 1]!
      out[to + 2] = symbols[from + 2]!
      out[to + 3] = symbols[from + 3]!
      if (length > 4) {
        out[to + 4] = symbols[from + 4]!
        out[to + 5] = symbols[from + 5]!
        out[to + 6] = symbols[from + 6]!
        out[to + 7] = symbols[from + 7]!
      }
      to += length
    }
    return to
  }
}
