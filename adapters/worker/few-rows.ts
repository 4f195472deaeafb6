/**
 * Sends short answers as columns: for few rows, writing an Arrow file here and reading it there takes half as long as finding the rows.
 * Long answers are sent as the file, whose memory is transferred, so the other side does not copy it.
 */
import { bitmapBytes } from '../../src/arrow/bits.js'
import type { Batch, Column } from '../../src/arrow/column.js'
import { batchBytes, cellBytes } from '../../src/arrow/layout.js'
import type { Schema } from '../../src/arrow/types.js'
import { ReadRows } from '../../src/client/arrow-rows.js'
import type { ArrowReply } from '../../src/protocol/calls.js'

/** Below this size, cloning takes no longer than transferring. */
const fewBytes = 32 * 1024

/** An answer as data that can be cloned. */
export interface FewRows {
  readonly version: number
  readonly schema: Schema
  readonly batches: readonly Batch[]
}

/** Return the rows of a reply if they take less than 32 KiB, else null. */
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

/** Return the reply for such rows. Its chunks are the same, byte for byte. */
export function replyOf({ version, schema, batches }: FewRows): ArrowReply {
  return new ReadRows(version, schema, batches)
}

/**
 * Copy the rows of a column and no more: cloning a view would clone all the memory behind it. A dictionary is copied once, so batches that
 * share a dictionary still share it.
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
