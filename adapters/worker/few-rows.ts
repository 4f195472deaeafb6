/**
 * Short answers as columns: to write an Arrow file of few rows here, and to read it there, takes half as long as finding them.
 * Long ones travel as the file, which is given away: the other side copies none of it.
 */
import { bitmapBytes } from '../../src/arrow/bits.js'
import type { Batch, Column } from '../../src/arrow/column.js'
import { batchBytes, cellBytes } from '../../src/arrow/layout.js'
import type { Schema } from '../../src/arrow/types.js'
import { ReadRows } from '../../src/client/arrow-rows.js'
import type { ArrowReply } from '../../src/protocol/calls.js'

/** To clone less than that takes no longer than to give it away. */
const fewBytes = 32 * 1024

/** An answer as data that can be cloned. */
export interface FewRows {
  readonly version: number
  readonly schema: Schema
  readonly batches: readonly Batch[]
}

/** The rows of a reply where they take less than 32 KiB, else null. */
export function fewRows(reply: ArrowReply): FewRows | null {
  if (!(reply instanceof ReadRows)) return null
  const { version, schema, batches } = reply
  let bytes = 0
  for (const batch of batches) bytes += batchBytes(batch)
  if (bytes >= fewBytes) return null
  const dictionaries = new Map<Column, Column>()
  const copied = batches.map((batch): Batch => {
    return { ...batch, columns: batch.columns.map(column => exactCopy(column, dictionaries)) }
  })
  return { version, schema, batches: copied }
}

/** The reply whose rows came that way: its chunks are the same, byte for byte. */
export function replyOf({ version, schema, batches }: FewRows): ArrowReply {
  return new ReadRows(version, schema, batches)
}

/**
 * A copy that holds the rows and no more: with a view all the memory behind it would be cloned. A dictionary is copied once, so
 * batches that have it in common still do.
 */
function exactCopy(column: Column, dictionaries: Map<Column, Column>): Column {
  const { type, length, nullCount, validity, values, offsets, children, dictionary } = column
  return {
    type,
    length,
    nullCount,
    validity: validity?.slice(0, bitmapBytes(length)) ?? null,
    values: values?.slice(0, valueBytes(column) / values.BYTES_PER_ELEMENT) ?? null,
    offsets: offsets?.slice(0, length + 1) ?? null,
    children: children.map(child => exactCopy(child, dictionaries)),
    dictionary: dictionary && dictionaryCopy(dictionary, dictionaries),
  }
}

function dictionaryCopy(dictionary: Column, dictionaries: Map<Column, Column>): Column {
  const known = dictionaries.get(dictionary)
  if (known !== undefined) return known
  const copy = exactCopy(dictionary, dictionaries)
  dictionaries.set(dictionary, copy)
  return copy
}

function valueBytes({ type, length, offsets }: Column): number {
  if (type.kind === 'bool') return bitmapBytes(length)
  return offsets === null ? cellBytes(type) * length : offsets[length]!
}
