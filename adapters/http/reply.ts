/** Replies: decided as data, then sent. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { SheafError } from '../../src/errors.js'
import type { ArrowReply } from '../../src/protocol/calls.js'
import { errorBody } from '../../src/protocol/errors-wire.js'
import { type OperationEntry, type OperationName, operations } from '../../src/protocol/operations.js'
import { writeReply } from '../../src/protocol/wire.js'
import { lengthOf } from '../bytes.js'
import { streamOfFile } from './arrow-stream.js'
import { bodyIn, type Dialect, errorIn } from './dialect.js'
import { first } from './events.js'

/** Sent with every reply: from 0.3.0 on LanceDB's client sends full-text queries whole, from 0.4.0 on it sends multipart writes. */
export const serverVersion = { 'phalanx-version': '0.3.0' } as const

/** Header field with the version of the table that a query read. */
export const tableVersion = 'x-lancedb-version'

export const arrowFile = 'application/vnd.apache.arrow.file'
export const arrowStream = 'application/vnd.apache.arrow.stream'

/** Seconds after which a client may ask again, where the error is one of load. */
const retryAfterSeconds = '1'

export interface HttpReply {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly chunks: readonly Uint8Array[]
}

export function jsonReply(status: number, body: unknown, headers: OutgoingHttpHeaders = {}): HttpReply {
  return {
    status,
    headers: { ...headers, 'content-type': 'application/json' },
    chunks: [Buffer.from(JSON.stringify(body))],
  }
}

/** The reply of an operation that succeeded. `accept`: the header field of the request. */
export function successReply(
  name: OperationName,
  result: unknown,
  dialect: Dialect,
  accept: string | undefined,
): HttpReply {
  const entry: OperationEntry = operations[name]
  switch (entry.reply) {
    case 'empty':
      return { status: entry.status, headers: {}, chunks: [] }
    case 'arrow':
      return arrowReply(entry.status, result as ArrowReply, accept)
    default:
      return jsonReply(entry.status, bodyIn(dialect, name, writeReply(entry, result)))
  }
}

function arrowReply(status: number, { version, chunks }: ArrowReply, accept = ''): HttpReply {
  const asStream = accept.includes(arrowStream) && !accept.includes(arrowFile)
  return {
    status,
    headers: { 'content-type': asStream ? arrowStream : arrowFile, [tableVersion]: version },
    chunks: asStream ? streamOfFile(chunks) : chunks,
  }
}

/** `instance`: path of the request. */
export function errorReply(
  cause: SheafError,
  instance: string,
  dialect: Dialect,
  operation?: OperationName,
  headers: OutgoingHttpHeaders = {},
): HttpReply {
  const { error, status } = errorIn(dialect, cause, operation)
  const wait = status === 503 || status === 429 ? { 'retry-after': retryAfterSeconds } : {}
  return jsonReply(status, errorBody(error, instance, status), { ...headers, ...wait })
}

/**
 * Sends a reply as fast as the client takes it; resolves when it is out, or when the client is gone. What the client still
 * sends is read for a while before the connection ends: a socket closed with bytes unread takes the reply with it.
 */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  reply: HttpReply,
  last: boolean,
): Promise<void> {
  // The end of the body may be in the bytes that are being parsed right now.
  if (!request.complete) await new Promise(resolve => setImmediate(resolve))
  if (isGone(request, response)) return
  const gone = whenGone(request, response)
  const unread = !request.complete
  response.writeHead(reply.status, {
    ...serverVersion,
    ...reply.headers,
    'content-length': lengthOf(reply.chunks),
    ...((last || unread) && { connection: 'close' }),
  })
  for (const chunk of reply.chunks) {
    if (response.write(chunk)) continue
    await first([response, 'drain'], [response, 'close'], [request.socket, 'close'])
    if (isGone(request, response)) return
  }
  if (unread) {
    response.flushHeaders()
    await discard(request)
  }
  response.end()
  await gone
}

/** Whether nobody is there to read the reply any more. A reply that waits for those before it has no events of its own. */
export function isGone(request: IncomingMessage, response: ServerResponse): boolean {
  return response.destroyed || request.socket.destroyed
}

/** Resolves when the reply is out, or its reader gone. */
export function whenGone(request: IncomingMessage, response: ServerResponse): Promise<void> {
  return first([response, 'close'], [request.socket, 'close'])
}

/** The most that is read of a request already answered, and the longest pause in it. */
const discardBytes = 64 << 20
const discardPauseMs = 5_000

async function discard(request: IncomingMessage): Promise<void> {
  let left = discardBytes
  const ended = first([request, 'end'], [request, 'close'])
  request.setTimeout(discardPauseMs, () => request.destroy())
  request.on('data', (chunk: Uint8Array) => {
    left -= chunk.length
    if (left < 0) request.destroy()
  })
  await ended
}
