import type { Column } from '../arrow/column.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput } from '../errors.js'
import { columnOf } from './vector.js'

/** Bytes a column of byte strings may hold: its offsets are 32 bits wide. */
const maxBytes = 2 ** 31 - 1

const encoder = new TextEncoder()

/** Byte strings of unknown size, row after row, into one utf8 or binary column. */
export class ByteBuilder {
  readonly #offsets: Int32Array
  #bytes: Uint8Array
  #size = 0
  #row = 0

  constructor(length: number, expectedBytes: number) {
    this.#offsets = new Int32Array(length + 1)
    this.#bytes = new Uint8Array(Math.max(64, expectedBytes))
  }

  /** Adds to the current row. */
  bytes(source: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start)
    for (let k = start; k < end; k++) this.#bytes[this.#size++] = source[k]!
  }

  /** Adds to the current row, in UTF-8. */
  text(text: string): void {
    this.#reserve(text.length * 3)
    this.#size += encoder.encodeInto(text, this.#bytes.subarray(this.#size)).written
  }

  endRow(): void {
    this.#offsets[++this.#row] = this.#size
  }

  finish(type: DataType, valid: Uint32Array | null): Column {
    return columnOf(
      type,
      this.#row,
      { values: this.#bytes.subarray(0, this.#size), offsets: this.#offsets },
      valid,
    )
  }

  #reserve(more: number): void {
    const needed = this.#size + more
    if (needed > maxBytes) {
      throw invalidInput('the texts of an expression take more than 2 GiB in one batch', {
        hint: 'use smaller batches',
      })
    }
    if (needed <= this.#bytes.length) return
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2))
    grown.set(this.#bytes.subarray(0, this.#size))
    this.#bytes = grown
  }
}

/** Row `index` of a utf8 column. */
export function textAt(column: Column, index: number): string {
  const bytes = column.values as Uint8Array
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return text.toString('utf8', column.offsets![index]!, column.offsets![index + 1]!)
}
