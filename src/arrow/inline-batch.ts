/**
 * Encodes a few rows that are stored inline, for example in a slot. The encoding is a sequence of IPC messages:
 * dictionary batches, if any, then one record batch. There is no schema message, because the reader knows the schema.
 * Buffers are aligned to 8 bytes instead of 64, because with 64 bytes a few rows would be mostly padding.
 */
import { corrupted, SheafError } from '../errors.js'
import { Budget } from './budget.js'
import type { Batch } from './column.js'
import { concatBytes } from './concat-bytes.js'
import { type FlatColumns, flattenColumn } from './flatten.js'
import { IpcDecoder } from './ipc-decoder.js'
import { decodeMessage, decodePrefix, prefixBytes } from './ipc-message.js'
import { DictionaryUnifier, IpcWriter, tightAlignment } from './ipc-writer.js'
import { asBytes } from './layout.js'
import { runAtOnce } from './steps.js'
import type { Schema } from './types.js'
import { wireFields } from './wire-field.js'

/** Encode a batch. Equal batches give equal bytes. */
export function encodeBatch(batch: Batch): Uint8Array {
  const unifier = new DictionaryUnifier(batch.schema)
  const columns = unifier.add(batch)
  const writer = new IpcWriter(tightAlignment)
  for (const { id, values } of unifier.dictionaries()) {
    const flat: FlatColumns = { nodes: [], buffers: [] }
    flattenColumn(values, flat)
    writer.body(values.length, flat, id)
  }
  const flat: FlatColumns = { nodes: [], buffers: [] }
  for (const column of columns) flattenColumn(column, flat)
  writer.body(batch.length, flat, null)
  return concatBytes(writer.takeChunks())
}

/**
 * Decode the result of `encodeBatch`. `schema`: the schema of the encoded batch. Buffers of the columns are views of
 * `bytes` if they are aligned, otherwise copies.
 * @throws Internal if the bytes are not a batch of this schema.
 */
export function decodeBatch(bytes: Uint8Array, schema: Schema): Batch {
  try {
    return decodeMessages(asBytes(bytes), schema)
  } catch (error) {
    if (!(error instanceof SheafError)) throw error
    throw corrupted(`inline rows of ${bytes.length} bytes cannot be read: ${error.message}`, { cause: error })
  }
}

function decodeMessages(bytes: Uint8Array, schema: Schema): Batch {
  const budget = new Budget(Number.POSITIVE_INFINITY)
  const fields = wireFields(schema)
  const decoder = new IpcDecoder({ schema, fields }, { dictionaryBudget: budget, checkText: false })
  let at = 0
  while (at + prefixBytes <= bytes.length) {
    const metadataAt = at + prefixBytes
    const bodyAt = metadataAt + decodePrefix(bytes, at, at)
    const message = decodeMessage(bytes.subarray(metadataAt, bodyAt), metadataAt)
    if (message.kind === 'schema') break
    at = bodyAt + message.bodyBytes
    const body = bytes.subarray(bodyAt, at)
    if (message.kind === 'dictionary') runAtOnce(decoder.addDictionary(message, body, bodyAt))
    else if (at !== bytes.length) break
    else return runAtOnce(decoder.batch(message.header, body, bodyAt, budget))
  }
  throw corrupted('the last message is not a record batch')
}
