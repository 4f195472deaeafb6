import type { Column } from '../../arrow/column.js'
import type { DataType } from '../../arrow/types.js'
import { invalidInput, type SheafError } from '../../errors.js'
import { columnOf } from '../values/vector.js'

/** Maximum bytes of a column of byte strings, because its offsets have 32 bits. */
const maxBytes = 2 ** 31 - 1

/**
 * Maximum bytes per batch of a function whose results can be longer than its arguments. If the arguments are larger,
 * the maximum is their size. Without a maximum, a filter with such a function could exhaust the memory.
 */
const maxGrown = 2 ** 27

/**
 * Maximum bytes per row of such a function. If the arguments are large, the maximum is `maxGrowth` times their size.
 */
const maxGrownRow = 2 ** 20
const maxGrowth = 4

/**
 * Maximum bytes that are copied one by one. More bytes are copied by `TypedArray.set`, which has a higher fixed cost.
 */
const shortBytes = 24

const encoder = new TextEncoder()

/** Builds a utf8 or binary column row by row, without knowing its total size in advance. */
export class ByteBuilder {
  readonly #offsets: Int32Array
  readonly #limit: number
  /** Maximum bytes of a row. */
  readonly #rowSize: number
  /** The offset up to which the current row may extend. */
  #rowLimit: number
  #bytes: Uint8Array
  #size = 0
  #row = 0

  /**
   * `length`: number of rows. `expectedBytes`: initial size of the buffer. `limit`: maximum bytes of all rows.
   * `rowSize`: maximum bytes of one row.
   */
  constructor(length: number, expectedBytes: number, limit = maxBytes, rowSize = maxBytes) {
    this.#offsets = new Int32Array(length + 1)
    this.#bytes = new Uint8Array(Math.max(64, Math.min(expectedBytes, limit)))
    this.#limit = limit
    this.#rowSize = rowSize
    this.#rowLimit = rowSize
  }

  /**
   * Create a builder for a function whose results can be longer than its arguments. `argumentBytes`: bytes of the
   * arguments of all rows. All rows together may have 128 MiB, or `argumentBytes` if that is more. Call `startRow`
   * before each row to set its limit.
   */
  static growing(length: number, argumentBytes: number): ByteBuilder {
    const limit = Math.min(maxBytes, Math.max(argumentBytes, maxGrown))
    return new ByteBuilder(length, Math.min(argumentBytes, maxGrown), limit, rowSizeOf(argumentBytes))
  }

  /**
   * Start a row. `argumentBytes`: bytes of the arguments of this row. The row may have 1 MiB, or four times
   * `argumentBytes` if that is more.
   */
  startRow(argumentBytes: number): void {
    this.#rowLimit = this.#size + rowSizeOf(argumentBytes)
  }

  /** Number of bytes of all rows so far. */
  get size(): number {
    return this.#size
  }

  /** Append bytes to the current row. */
  bytes(source: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start)
    if (end - start > shortBytes) {
      this.#bytes.set(source.subarray(start, end), this.#size)
      this.#size += end - start
    } else for (let k = start; k < end; k++) this.#bytes[this.#size++] = source[k]!
  }

  /** Append the bytes from `start` up to `end` to the current row, `count` times. */
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

  /** Append a text to the current row, as UTF-8. */
  text(text: string): void {
    // UTF-8 takes at most three bytes per UTF-16 unit. If this estimate exceeds a limit, compute the exact size.
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

  /**
   * Reserve space for `more` bytes of the current row. Throws `InvalidInput` if the row or the batch would exceed its
   * limit.
   */
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
      `an expression returns a text of ${needed - start} bytes or more in one row, but at most ${this.#rowLimit - start} are allowed`,
      { hint: 'make the text shorter: a row may have 1 MiB, or four times the bytes of its arguments' },
    )
  }
}

function rowSizeOf(argumentBytes: number): number {
  return Math.max(maxGrownRow, maxGrowth * argumentBytes)
}

/** Return row `index` of a utf8 or binary column as a string. */
export function textAt(column: Column, index: number): string {
  const bytes = column.values as Uint8Array
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return text.toString('utf8', column.offsets![index]!, column.offsets![index + 1]!)
}
