/**
 * Converts short answers to columns, which are cloned for the other thread. For few rows, writing and reading an Arrow
 * file would take half as much time as finding the rows. Long answers are sent as an Arrow file whose memory is
 * transferred, so the other thread does not copy it.
 */
import { bitmapBytes } from '../../src/arrow/bits.js'
import type { Batch, Column } from '../../src/arrow/column.js'
import { batchBytes, cellBytes } from '../../src/arrow/layout.js'
import type { Schema } from '../../src/arrow/types.js'
import { ReadRows } from '../../src/client/arrow-rows.js'
import type { ArrowReply } from '../../src/protocol/calls.js'

/** Answers with fewer bytes are cloned, because cloning them takes no longer than transferring them. */
const fewBytes = 32 * 1024

/** An answer as data that can be cloned. */
export interface FewRows {
  readonly version: number
  readonly schema: Schema
  readonly batches: readonly Batch[]
}

/** Return the rows of a reply if they have less than 32 KiB, otherwise null. */
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

/** Convert rows back to a reply. Its chunks have the same bytes as those of the original reply. */
export function replyOf({ version, schema, batches }: FewRows): ArrowReply {
  return new ReadRows(version, schema, batches)
}

/**
 * Copy only the rows of a column: cloning a view would clone all memory of its buffer. A dictionary is copied once, so
 * batches that share a dictionary share the copy.
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
