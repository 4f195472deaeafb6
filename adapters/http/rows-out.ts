/** Converts the rows of replies to text: JSON, JSON lines or CSV. */

import type { Batch } from '../../src/arrow/column.js'
import { decodeIpcStream } from '../../src/arrow/decode-stream.js'
import { emptyColumn } from '../../src/arrow/fill.js'
import type { Schema } from '../../src/arrow/types.js'
import { readReply } from '../../src/client/read-replies.js'
import type { ArrowReply } from '../../src/protocol/calls.js'
import { type PlainPiece, plainBatches } from '../files/pieces.js'
import { encodeCsv } from '../files/write-csv.js'
import { encodeJsonArray, encodeJsonLines } from '../files/write-json-lines.js'
import type { TextForm } from './accept.js'
import { streamOfFile } from './arrow-stream.js'

/** Text in chunks. `rest`: the chunks after `body`, which are produced while the reply is sent. */
interface TextRows {
  readonly body: readonly Uint8Array[]
  readonly rest?: AsyncIterable<Uint8Array> | undefined
}

/**
 * Convert the rows of a reply to text. The first `gatheredBytes` bytes are converted before this function returns, so
 * that an error in them becomes the reply. The other rows are converted while the reply is sent, one batch at a time.
 *
 * Throws InvalidInput for values that have no text form, and `signal.reason` if the signal aborts.
 */
export async function textRows(
  reply: ArrowReply,
  form: TextForm,
  gatheredBytes: number,
  signal: AbortSignal | undefined,
): Promise<TextRows> {
  const pieces = plainBatches(atLeastOne(await batchesOf(reply, signal)), signal)
  const chunks = encoderOf(form)(pieces)
  const body: Uint8Array[] = []
  for (let bytes = 0; bytes < gatheredBytes; ) {
    const { done, value } = await chunks.next()
    if (done === true) return { body }
    body.push(value)
    bytes += value.length
  }
  return { body, rest: chunks }
}

function encoderOf(form: TextForm): (pieces: AsyncIterable<PlainPiece>) => AsyncGenerator<Uint8Array> {
  switch (form) {
    case 'json':
      return encodeJsonArray
    case 'ndjson':
      return pieces => encodeJsonLines(pieces, { rows: 0 })
    case 'csv':
      return pieces => encodeCsv(pieces, ',', { rows: 0 })
  }
}

interface Batches {
  readonly schema: Schema
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
}

async function batchesOf(reply: ArrowReply, signal: AbortSignal | undefined): Promise<Batches> {
  if (reply.rest === undefined) return readReply(reply)
  const { chunks, rest } = streamOfFile(reply)
  async function* all(): AsyncGenerator<Uint8Array> {
    yield* chunks
    yield* rest!
  }
  return decodeIpcStream(all(), { signal })
}

/** Yield the batches, or one empty batch if there are none, because CSV needs the column names. */
async function* atLeastOne({ schema, batches }: Batches): AsyncGenerator<Batch> {
  let isEmpty = true
  for await (const batch of batches) {
    isEmpty = false
    yield batch
  }
  if (isEmpty) yield { schema, length: 0, columns: schema.fields.map(({ type }) => emptyColumn(type)) }
}
