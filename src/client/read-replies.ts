/**
 * Reads the rows and the schemas of replies, and converts them for callers. A process that has only a client, without
 * an engine, loads this module lazily, because this code is a third of the client's size.
 */
import type { Batch } from '../arrow/column.js'
import { concatBatches } from '../arrow/concat.js'
import { decodeIpc } from '../arrow/decode-ipc.js'
import { concatChunks } from '../arrow/encode-ipc.js'
import { sliceBatch } from '../arrow/slice.js'
import { takeBatch } from '../arrow/take.js'
import { type ArrowBatch, toArrowBatch, toArrowTable } from '../arrow/to-arrow.js'
import type { Schema } from '../arrow/types.js'
import { assert } from '../errors.js'
import type { Pacer } from '../primitives/pacer.js'
import type { ArrowReply } from '../protocol/calls.js'
import { ReadRows } from './arrow-rows.js'

export { schemaFromJson } from '../arrow/schema-from-json.js'
export { rowObjects } from './row-objects.js'
export { concatChunks, takeBatch, toArrowTable }

/** The rows of a reply, and their schema. */
interface Rows {
  readonly schema: Schema
  readonly batches: readonly Batch[]
  /** Whether no other code uses the memory of the batches. */
  readonly isOwned: boolean
}

/** Return the schema and the batches of a reply, which has them as batches (in this process) or as Arrow IPC bytes. */
export function readReply(reply: ArrowReply): Rows {
  if (reply instanceof ReadRows) return reply
  const { chunks } = reply
  return { ...decodeIpc(concatChunks(chunks)), isOwned: false }
}

/** Batches whose memory no other code uses. */
const owned = new WeakSet<Batch>()

/** Convert a batch to a record batch of apache-arrow. */
export async function arrowBatch(schema: Schema, batch: Batch): Promise<ArrowBatch> {
  return toArrowBatch(schema, batch, owned.has(batch))
}

/** Cut the rows of a reply into batches of at most `rows` rows. */
export function replyPieces(reply: ArrowReply, rows: number, pacer: Pacer): AsyncGenerator<Batch> {
  const { batches, isOwned } = readReply(reply)
  return pieces(batches, rows, pacer, isOwned)
}

/** Cut batches into pieces of at most `rows` rows. `isOwned`: whether no other code uses their memory. */
export async function* pieces(
  batches: AsyncIterable<Batch> | Iterable<Batch>,
  rows: number,
  pacer: Pacer,
  isOwned = false,
): AsyncGenerator<Batch> {
  for await (const batch of batches) {
    for (let from = 0; from < batch.length; from += rows) {
      const piece = sliceBatch(batch, from, Math.min(rows, batch.length - from))
      if (isOwned) owned.add(piece)
      yield piece
      await pacer.turn()
    }
  }
}

/** A page of a scan. */
interface ScanPage {
  readonly rows: ReadRows
  readonly count: number
  /** The offset of the row after the last row of the page; 0 if the page is empty. */
  readonly next: number
}

/**
 * Read a page of a scan. `cursor`: the name of the column with the offsets of the rows. `isSelected`: whether the
 * caller selected this column; if not, the page does not have it.
 */
export function scanPage(reply: ArrowReply, cursor: string, isSelected: boolean): ScanPage {
  const { schema, batches, isOwned } = readReply(reply)
  const number = numberColumn(schema, cursor)
  const selected = allBut(isSelected ? -1 : number)
  const answer = { ...schema, fields: selected(schema.fields) }
  const parts = batches.map(({ length, columns }) => ({ schema: answer, length, columns: selected(columns) }))
  const count = parts.reduce((sum, part) => sum + part.length, 0)
  const last = batches.at(-1)
  return {
    // The engine returns a batch per fragment. Join them, because a page must be one batch.
    rows: new ReadRows(reply.version, answer, parts.length === 0 ? [] : [concatBatches(parts)], isOwned),
    count,
    next:
      last === undefined ? 0 : Number((last.columns[number]!.values as BigUint64Array)[last.length - 1]!) + 1,
  }
}

/** A page of taken rows. */
export interface TakenRows {
  readonly schema: Schema
  /** One batch with the rows of the page. Empty if the page has no rows. */
  readonly batches: readonly Batch[]
}

/**
 * Read the rows with the given `numbers` (row ids or row offsets), in this order. `column`: `_rowid` or `_rowoffset`.
 * `isSelected`: whether the caller selected this column; if not, the result does not have it.
 */
export function takenRows(
  reply: ArrowReply,
  column: string,
  isSelected: boolean,
  numbers: readonly number[],
): TakenRows {
  const { schema, batches } = readReply(reply)
  const number = numberColumn(schema, column)
  const selected = allBut(isSelected ? -1 : number)
  const answer = { ...schema, fields: selected(schema.fields) }
  if (batches.length === 0) return { schema: answer, batches: [] }
  const found = concatBatches(batches)
  const own = { ...found, schema: answer, columns: selected(found.columns) }
  const rows = positionsOf(numbers, found.columns[number]!.values as BigUint64Array)
  return { schema: answer, batches: [rows === null ? own : takeBatch(own, rows)] }
}

function numberColumn(schema: Schema, name: string): number {
  const number = schema.fields.findIndex(field => field.name === name)
  assert(number !== -1, `the reply does not have the requested column ${name}`)
  return number
}

/**
 * Return a function that copies a list without the item at index `left`. If `left` is -1, it returns the list itself.
 */
function allBut(left: number): <T>(list: readonly T[]) => readonly T[] {
  return list => (left === -1 ? list : list.filter((_, i) => i !== left))
}

/**
 * Return the positions of the requested `numbers` in `found`, without numbers that are not found. Null if `found`
 * equals `numbers`, so that no row must be moved.
 */
function positionsOf(numbers: readonly number[], found: BigUint64Array): Uint32Array | null {
  if (numbers.length === found.length && numbers.every((number, i) => Number(found[i]!) === number))
    return null
  const positions = new Map<number, number>()
  for (let i = 0; i < found.length; i++) positions.set(Number(found[i]!), i)
  const rows = new Uint32Array(numbers.length)
  let count = 0
  for (const number of numbers) {
    const position = positions.get(number)
    if (position !== undefined) rows[count++] = position
  }
  return rows.subarray(0, count)
}
