import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput, type SheafError } from '../../errors.js'
import { columnOf } from '../values/vector.js'

/** Bytes a column of byte strings may hold: its offsets are 32 bits wide. */
const maxBytes = 2 ** 31 - 1

/** Bytes that functions whose results outgrow their arguments may give per batch: no filter may exhaust the memory. */
const maxGrown = 2 ** 27

/** Bytes that one row of these may have in any case, and how often the bytes of its arguments where that is more. */
const maxGrownRow = 2 ** 20
const maxGrowth = 4

/** Longer runs are copied by the engine's own copy. */
const shortBytes = 24

const encoder = new TextEncoder()

/** Byte strings of unknown size, row after row, into one utf8 or binary column. */
export class ByteBuilder {
  readonly #offsets: Int32Array
  readonly #limit: number
  /** Bytes the current row may add, and where it ends at the latest. */
  readonly #rowSize: number
  #rowLimit: number
  #bytes: Uint8Array
  #size = 0
  #row = 0

  /** `limit`: bytes it holds at most; `rowSize`: those of one row. */
  constructor(length: number, expectedBytes: number, limit = maxBytes, rowSize = maxBytes) {
    this.#offsets = new Int32Array(length + 1)
    this.#bytes = new Uint8Array(Math.max(64, Math.min(expectedBytes, limit)))
    this.#limit = limit
    this.#rowSize = rowSize
    this.#rowLimit = rowSize
  }

  /**
   * For a function whose results may be longer than its arguments, which take `argumentBytes` in memory: all rows may
   * have 128 MiB, or as much as the arguments, and each what `startRow` says.
   */
  static growing(length: number, argumentBytes: number): ByteBuilder {
    const limit = Math.min(maxBytes, Math.max(argumentBytes, maxGrown))
    return new ByteBuilder(length, Math.min(argumentBytes, maxGrown), limit, rowSizeOf(argumentBytes))
  }

  /** The current row, with arguments of `argumentBytes`, may have 1 MiB, or four times as much as they. */
  startRow(argumentBytes: number): void {
    this.#rowLimit = this.#size + rowSizeOf(argumentBytes)
  }

  /** Bytes of all rows so far. */
  get size(): number {
    return this.#size
  }

  /** Adds to the current row. */
  bytes(source: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start)
    if (end - start > shortBytes) {
      this.#bytes.set(source.subarray(start, end), this.#size)
      this.#size += end - start
    } else for (let k = start; k < end; k++) this.#bytes[this.#size++] = source[k]!
  }

  /** Adds a run of bytes to the current row `count` times. */
  repeat(source: Uint8Array, start: number, end: number, count: number): void {
    const total = (end - start) * count
    if (total === 0) return
    this.#reserve(total)
    const first = this.#size
    this.#bytes.set(source.subarray(start, end), first)
    for (let done = end - start; done < total; ) {
      const more = Math.min(done, total - done)
      this.#bytes.copyWithin(first + done, first, first + more)
      done += more
    }
    this.#size += total
  }

  /** Adds to the current row, in UTF-8. */
  text(text: string): void {
    // Three bytes per unit is the most there can be, but not what counts against the limit.
    const most = this.#size + text.length * 3
    if (most > this.#limit || most > this.#rowLimit) this.#reserve(Buffer.byteLength(text))
    else this.#reserve(text.length * 3)
    this.#size += encoder.encodeInto(text, this.#bytes.subarray(this.#size)).written
  }

  endRow(): void {
    this.#offsets[++this.#row] = this.#size
    this.#rowLimit = this.#size + this.#rowSize
  }

  finish(type: DataType, valid: Uint32Array | null): Column {
    return columnOf(
      type,
      this.#row,
      { values: this.#bytes.subarray(0, this.#size), offsets: this.#offsets },
      valid,
    )
  }

  /** Makes room for what the current row goes on with; throws code 13 where that is more than it may have. */
  #reserve(more: number): void {
    const needed = this.#size + more
    if (needed > this.#rowLimit) throw this.#tooLong(needed)
    if (needed > this.#limit) {
      const mebibytes = Math.round(this.#limit / 2 ** 20)
      throw invalidInput(`the texts of an expression take more than ${mebibytes} MiB in one batch`, {
        hint: 'make the texts shorter, or the batches smaller',
      })
    }
    if (needed <= this.#bytes.length) return
    const grown = new Uint8Array(Math.min(this.#limit, Math.max(needed, this.#bytes.length * 2)))
    grown.set(this.#bytes.subarray(0, this.#size))
    this.#bytes = grown
  }

  #tooLong(needed: number): SheafError {
    const start = this.#offsets[this.#row]!
    return invalidInput(
      `an expression gives a text of ${needed - start} bytes or more in one row, where it may have ${this.#rowLimit - start}`,
      { hint: 'make it shorter: a row may have 1 MiB, or four times the bytes of the texts it is made of' },
    )
  }
}

function rowSizeOf(argumentBytes: number): number {
  return Math.max(maxGrownRow, maxGrowth * argumentBytes)
}

/** Row `index` of a utf8 column, or the text in a binary one. */
export function textAt(column: Column, index: number): string {
  const bytes = column.values as Uint8Array
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return text.toString('utf8', column.offsets![index]!, column.offsets![index + 1]!)
}
