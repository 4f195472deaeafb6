/**
 * Short answers as columns: to write a file of few rows here, and to read it there, takes longer than a small query. Long ones
 * travel as the file, which is given away, so that nobody copies them on the other side.
 */
import { bitmapBytes } from '../../src/arrow/bits.js'
import type { Batch, Column } from '../../src/arrow/column.js'
import { batchBytes, cellBytes } from '../../src/arrow/layout.js'
import type { Schema } from '../../src/arrow/types.js'
import { ReadRows } from '../../src/namespace/arrow-rows.js'
import type { ArrowReply } from '../../src/protocol/calls.js'

/** To give less than that away takes about as long as to copy it. */
const fewBytes = 32 * 1024

/** An answer as data that can be cloned. */
export interface FewRows {
  readonly version: number
  readonly schema: Schema
  readonly batches: readonly Batch[]
}

/** The rows of a reply if they are few, else null. They share no memory with the engine's. */
export function fewRows(reply: ArrowReply): FewRows | null {
  if (!(reply instanceof ReadRows)) return null
  const { version, schema, batches } = reply
  let bytes = 0
  for (const batch of batches) bytes += batchBytes(batch)
  if (bytes >= fewBytes) return null
  const dictionaries = new Map<Column, Column>()
  return {
    version,
    schema,
    batches: batches.map(({ schema, length, columns }) => {
      return { schema, length, columns: columns.map(column => exactCopy(column, dictionaries)) }
    }),
  }
}

/** The reply whose rows came that way: its file is the same, byte for byte. */
export function replyOf({ version, schema, batches }: FewRows): ArrowReply {
  return new ReadRows(version, schema, batches)
}

/**
 * Buffers exactly as long as the rows need: of a view all the memory behind it would be cloned. Batches that have a dictionary
 * in common still do.
 */
function exactCopy(column: Column, dictionaries: Map<Column, Column>): Column {
  const { type, length, nullCount, validity, values, offsets, children, dictionary } = column
  if (dictionary !== null && !dictionaries.has(dictionary)) {
    dictionaries.set(dictionary, exactCopy(dictionary, dictionaries))
  }
  return {
    type,
    length,
    nullCount,
    validity: validity && validity.slice(0, bitmapBytes(length)),
    values: values && values.slice(0, valueBytes(column) / values.BYTES_PER_ELEMENT),
    offsets: offsets && offsets.slice(0, length + 1),
    children: children.map(child => exactCopy(child, dictionaries)),
    dictionary: dictionary && dictionaries.get(dictionary)!,
  }
}

function valueBytes({ type, length, offsets }: Column): number {
  if (type.kind === 'bool') return bitmapBytes(length)
  return offsets === null ? cellBytes(type) * length : offsets[length]!
}
