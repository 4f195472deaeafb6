/** Reads the rows of a request. Only writes load this module. */
import type { Batch } from '../arrow/column.js'
import { decodeIpc } from '../arrow/decode-ipc.js'
import { decodeIpcStream } from '../arrow/decode-stream.js'
import type { Schema } from '../arrow/types.js'
import type { ArrowBody, HandlerOptions } from '../protocol/calls.js'
import { ArrowRows } from './arrow-rows.js'
import { PlainRows } from './plain-rows.js'

type BodyOptions = Pick<HandlerOptions, 'signal' | 'maxMessageBytes' | 'callKey' | 'memory'>

/** Rows that arrive batch by batch. */
export interface IncomingRows {
  readonly schema: Schema
  readonly batches: AsyncIterable<Batch> | Iterable<Batch>
}

/**
 * Read the schema and the batches of a body. `keeps`: whether the caller keeps all batches in memory until the call
 * ends. Default false.
 *
 * Throws `InvalidInput` for bytes that are not Arrow data, with status 413 if there are too many. Throws
 * `ServiceUnavailable` if other calls use the memory that the rows need.
 */
export async function readBody(
  body: ArrowBody,
  { signal, maxMessageBytes, callKey, memory }: BodyOptions,
  keeps = false,
): Promise<IncomingRows> {
  callKey?.beginRows()
  if (body instanceof ArrowRows) return body
  if (body instanceof PlainRows) return body.typed()
  if (body instanceof Uint8Array) return decodeIpc(body)
  return decodeIpcStream(body, {
    signal,
    memory,
    keeps,
    ...(maxMessageBytes !== undefined && { maxBytes: maxMessageBytes }),
  })
}
