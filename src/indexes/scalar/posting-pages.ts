/**
 * Writes the file of a BITMAP or LABEL_LIST: batches ("pages") of distinct values that ascend, each with its rows as an
 * encoded set and how many they are; of a BITMAP then, in a page of its own, null and the rows without a value, if there
 * are any; last the directory: the first value of every page of values, with no rows, but the count of the whole page
 * (where lists have several elements, of all rows if that is less).
 */
import { type Batch, type Column, isValid } from '../../arrow/column.js'
import { nullColumn } from '../../arrow/fill.js'
import type { Schema } from '../../arrow/types.js'
import type { Pacer } from '../../primitives/pacer.js'
import { equalNeighbours } from '../../sql/kernels/neighbours.js'
import { bitAt, listOffsetsOf } from '../../sql/values/vector.js'
import { RowsEncoder } from './encoded-rows.js'
import {
  type Cut,
  endOfPiece,
  type Ordered,
  rowsAtOnce,
  rowsBeside,
  valuesBetween,
  valuesOf,
} from './paging.js'
import { segmentSchema } from './segment-schema.js'

/** Values of a page: each page takes some hundred bytes in the footer, which is read when a file is opened. */
const pageRows = 1024
const cut: Cut = { rows: pageRows, textBytes: 16 * 1024 }
/** Encoded sets of a page take that much, but for the last of them. */
const setBytes = 64 * 1024

/** `lists`: of which the values are the elements; null where these are of a BITMAP. */
export async function* postingPages(
  ordered: Ordered,
  lists: Column | null,
  pacer: Pacer,
): AsyncGenerator<Batch> {
  const { values, order } = ordered
  const schema = segmentSchema('BITMAP', values.type)
  const { length } = lists ?? values
  const rowOf = lists === null ? null : await rowsOfElements(lists, pacer)
  const page = new PostingPage(schema, length)
  const firsts: number[] = []
  const counts: number[] = []
  for (let from = 0; from < order.length; ) {
    const to = endOfPiece(ordered, from, cut)
    // One more, to know whether the last value goes on.
    const isEqual = equalNeighbours(valuesBetween(ordered, from, Math.min(order.length, to + 1)))
    for (let at = from; at < to; at++) {
      page.addRow(rowOf === null ? order[at]! : rowOf[order[at]!]!)
      if (at + 1 < order.length && bitAt(isEqual, at - from)) continue
      page.endValue(order[at]!)
      if (!page.isFull) continue
      firsts.push(page.first)
      counts.push(Math.min(page.rows, length))
      yield page.take(values)
    }
    from = to
    await pacer.turn()
  }
  if (page.length > 0) {
    firsts.push(page.first)
    counts.push(Math.min(page.rows, length))
    yield page.take(values)
  }
  const nulls = lists === null ? await rowsBeside(order, length, pacer) : []
  if (nulls.length > 0) {
    for (let i = 0; i < nulls.length; i++) {
      page.addRow(nulls[i]!)
      if (i % rowsAtOnce === 0) await pacer.turn()
    }
    page.endValue(nulls[0]!)
    const { columns } = page.take(values)
    yield { schema, length: 1, columns: [nullColumn(schema.fields[0]!.type, 1), ...columns.slice(1)] }
  }
  const none = binaryColumn(schema, new Uint8Array(0), new Int32Array(firsts.length + 1))
  const columns = [
    valuesOf(values, Uint32Array.from(firsts)),
    countColumn(schema, Uint32Array.from(counts)),
    none,
  ]
  yield { schema, length: firsts.length, columns }
}

/** No row. */
const nowhere = 0xffffffff

/** The row of each element of lists; nowhere for what stands under a null. */
async function rowsOfElements(lists: Column, pacer: Pacer): Promise<Uint32Array> {
  const offsets = listOffsetsOf(lists)
  const rows = new Uint32Array(lists.children[0]!.length)
  for (let row = 0; row < lists.length; row++) {
    rows.fill(isValid(lists, row) ? row : nowhere, offsets[row]!, offsets[row + 1]!)
    if (row % rowsAtOnce === 0) await pacer.turn()
  }
  return rows
}

class PostingPage {
  readonly #schema: Schema
  readonly #encoder: RowsEncoder
  /** Of each value a row, or element, that has it. */
  #samples = new Uint32Array(pageRows)
  #counts = new Uint32Array(pageRows)
  #offsets = new Int32Array(pageRows + 1)
  #bytes = new Uint8Array(2 * setBytes)
  length = 0
  /** Rows of all values together. */
  rows = 0

  constructor(schema: Schema, length: number) {
    this.#schema = schema
    this.#encoder = new RowsEncoder(length)
  }

  get isFull(): boolean {
    return this.length === pageRows || this.#offsets[this.length]! >= setBytes
  }

  /** A row, or element, that has the first value. */
  get first(): number {
    return this.#samples[0]!
  }

  addRow(row: number): void {
    if (row !== nowhere) this.#encoder.add(row)
  }

  /** The rows added since the last value have that of `sample`; a value without rows is none. */
  endValue(sample: number): void {
    const { count } = this.#encoder
    if (count === 0) return
    const at = this.#offsets[this.length]!
    const room = at + this.#encoder.bound()
    if (room > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(room, 2 * this.#bytes.length))
      larger.set(this.#bytes.subarray(0, at))
      this.#bytes = larger
    }
    this.#samples[this.length] = sample
    this.#counts[this.length] = count
    this.#offsets[++this.length] = this.#encoder.write(this.#bytes, at)
    this.rows += count
  }

  /** The page, and begins another. */
  take(values: Column): Batch {
    const { length } = this
    const columns = [
      valuesOf(values, this.#samples.subarray(0, length)),
      countColumn(this.#schema, this.#counts.slice(0, length)),
      binaryColumn(
        this.#schema,
        this.#bytes.slice(0, this.#offsets[length]!),
        this.#offsets.slice(0, length + 1),
      ),
    ]
    this.length = 0
    this.rows = 0
    return { schema: this.#schema, length, columns }
  }
}

function countColumn({ fields }: Schema, values: Uint32Array): Column {
  return columnWith(fields[1]!.type, values.length, values, null)
}

function binaryColumn({ fields }: Schema, values: Uint8Array, offsets: Int32Array): Column {
  return columnWith(fields[2]!.type, offsets.length - 1, values, offsets)
}

function columnWith(
  type: Column['type'],
  length: number,
  values: Column['values'],
  offsets: Int32Array | null,
): Column {
  return { type, length, nullCount: 0, validity: null, values, offsets, children: [], dictionary: null }
}
