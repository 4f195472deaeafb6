/**
 * Writes the file of a BITMAP or LABEL_LIST segment, as record batches ("pages"):
 *
 * - Pages of distinct values, ascending. Each value is stored with the set of its rows and the number of these rows.
 * - BITMAP only: one page with null and the rows whose value is null, if there are such rows.
 * - Last, the directory. For every page of values it has the first value and the sum of the row counts, but no set of
 *   rows. A row of a LABEL_LIST can have several values, so the sum is limited to the number of rows of the segment.
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
  rowsNotIn,
  valuesBetween,
  valuesOf,
} from './paging.js'
import { segmentSchema } from './segment-schema.js'

/**
 * Maximum number of values in a page. Smaller pages would make the footer longer: each page adds a few hundred bytes,
 * and every open reads the footer.
 */
const pageRows = 1024
const cut: Cut = { rows: pageRows, textBytes: 16 * 1024 }
/** Minimum bytes of the encoded sets at which a page is full. */
const setBytes = 64 * 1024

/**
 * Write the pages of a segment. `lists`: for a LABEL_LIST, the column of lists that contain the values; null for a
 * BITMAP.
 */
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
    // Compare one more value, to find out whether the last value of this piece also begins the next piece.
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
  const nulls = lists === null ? await rowsNotIn(order, length, pacer) : []
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

/** The row number of a list element that belongs to no row. */
const noRow = 0xffffffff

/** Return, by list element, the row that contains it. An element of a null list has the row `noRow`. */
async function rowsOfElements(lists: Column, pacer: Pacer): Promise<Uint32Array> {
  const offsets = listOffsetsOf(lists)
  const rows = new Uint32Array(lists.children[0]!.length)
  for (let row = 0; row < lists.length; row++) {
    rows.fill(isValid(lists, row) ? row : noRow, offsets[row]!, offsets[row + 1]!)
    if (row % rowsAtOnce === 0) await pacer.turn()
  }
  return rows
}

/** Collects the values of one page. */
class PostingPage {
  readonly #schema: Schema
  readonly #encoder: RowsEncoder
  /** For each value, the number of a row or list element that has this value. */
  #samples = new Uint32Array(pageRows)
  #counts = new Uint32Array(pageRows)
  #offsets = new Int32Array(pageRows + 1)
  #bytes = new Uint8Array(2 * setBytes)
  length = 0
  /** Sum of the row counts of all values. */
  rows = 0

  constructor(schema: Schema, length: number) {
    this.#schema = schema
    this.#encoder = new RowsEncoder(length)
  }

  get isFull(): boolean {
    return this.length === pageRows || this.#offsets[this.length]! >= setBytes
  }

  /** The number of a row or list element that has the first value of the page. */
  get first(): number {
    return this.#samples[0]!
  }

  addRow(row: number): void {
    if (row !== noRow) this.#encoder.add(row)
  }

  /**
   * End a value. The rows that were added since the previous value have this value. Ignores a value without rows.
   * `sample`: the number of a row or list element with the value.
   */
  endValue(sample: number): void {
    const { count } = this.#encoder
    if (count === 0) return
    const at = this.#offsets[this.length]!
    const needed = at + this.#encoder.bound()
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.#bytes.length))
      larger.set(this.#bytes.subarray(0, at))
      this.#bytes = larger
    }
    this.#samples[this.length] = sample
    this.#counts[this.length] = count
    this.#offsets[++this.length] = this.#encoder.write(this.#bytes, at)
    this.rows += count
  }

  /** Return the page as a batch and begin the next page. */
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
