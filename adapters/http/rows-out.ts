/** Writes the rows of replies as text: JSON, JSON lines and CSV. */

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

/** Text in chunks. `rest`: the chunks after those, produced while they are sent. */
interface TextRows {
  readonly body: readonly Uint8Array[]
  readonly rest?: AsyncIterable<Uint8Array> | undefined
}

/**
 * Convert the rows of a reply to text. The first `gatheredBytes` bytes are converted now, so that an error in them is the reply. The other
 * rows are converted while they are sent, one batch at a time.
 *
 * Throws InvalidInput for values that a text cannot represent; `signal.reason`.
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

/** Yield an empty batch if there are none: CSV needs the names of the columns. */
async function* atLeastOne({ schema, batches }: Batches): AsyncGenerator<Batch> {
  let isEmpty = true
  for await (const batch of batches) {
    isEmpty = false
    yield batch
  }
  if (isEmpty) yield { schema, length: 0, columns: schema.fields.map(({ type }) => emptyColumn(type)) }
}
