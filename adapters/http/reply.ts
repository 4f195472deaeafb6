/** Replies: decided as data, then sent. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { compressorOf } from '../../src/arrow/compress.js'
import { concatChunks } from '../../src/arrow/encode-ipc.js'
import { recodeIpcFile } from '../../src/arrow/recode-ipc.js'
import type { SheafError } from '../../src/errors.js'
import { Pacer } from '../../src/primitives/pacer.js'
import type { ArrowReply } from '../../src/protocol/calls.js'
import { errorBody } from '../../src/protocol/errors-wire.js'
import { type OperationEntry, type OperationName, operations } from '../../src/protocol/operations.js'
import { writeReply } from '../../src/protocol/wire.js'
import { lengthOf } from '../bytes.js'
import { arrowFile, arrowStream, jsonText, type Wanted } from './accept.js'
import { streamOfFile } from './arrow-stream.js'
import type { RequestBody } from './body.js'
import { encoded } from './content-coding.js'
import { bodyIn, type Dialect, errorIn } from './dialect.js'
import { first, longestTimerMs } from './events.js'

/**
 * Sent with every reply: from 0.3.0 on LanceDB's client sends full-text queries whole, from 0.4.0 on it sends large writes in parts, from 0.5.0 on it
 * fetches blobs.
 */
export const serverVersion = ['phalanx-version', '0.5.0'] as const

/** Header field with the version of the table that a query read. */
export const tableVersion = 'x-lancedb-version'

/** Seconds after which a client may ask again, where the error is one of load. */
const retryAfterSeconds = '1'

/** Name, value, name, value: objects with such names cost several times as much. */
export type HeaderFields = readonly string[]

export interface HttpReply {
  readonly status: number
  readonly headers: HeaderFields
  /** Text, or bytes in chunks. */
  readonly body: string | readonly Uint8Array[]
  /** What follows the chunks, as long as it comes. */
  readonly rest?: AsyncIterable<Uint8Array> | undefined
}

export function jsonReply(status: number, body: unknown, headers: HeaderFields = []): HttpReply {
  return {
    status,
    headers: ['content-type', jsonText, ...headers],
    body: JSON.stringify(body),
  }
}

/** The reply of an operation that succeeded. `signal`: ends the compression of rows. */
export function successReply(
  name: OperationName,
  result: unknown,
  dialect: Dialect,
  wanted: Wanted,
  signal: AbortSignal | undefined,
): HttpReply {
  const entry: OperationEntry = operations[name]
  switch (entry.reply) {
    case 'empty':
      return { status: entry.status, headers: [], body: '' }
    case 'arrow':
      return coded(arrowReply(entry.status, result as ArrowReply, wanted, signal), wanted)
    default:
      return coded(
        jsonReply(statusOf(entry, result), bodyIn(dialect, name, writeReply(entry, result))),
        wanted,
      )
  }
}

function statusOf({ startsJob, status }: OperationEntry, result: unknown): number {
  return startsJob && (result as { job_id?: string }).job_id !== undefined ? 202 : status
}

/** A shorter body is sent as it is: to code it costs more than to send it. */
const codedBytes = 1024

function coded(reply: HttpReply, { coding }: Wanted): HttpReply {
  if (coding === undefined || (reply.rest === undefined && lengthIn(reply.body) < codedBytes)) return reply
  const headers = [...reply.headers, 'content-encoding', coding, 'vary', 'accept-encoding']
  return { ...reply, headers, body: [], rest: encoded(bodyOf(reply), coding) }
}

function arrowReply(
  status: number,
  { version, chunks, rest }: ArrowReply,
  { form, codec }: Wanted,
  signal: AbortSignal | undefined,
): HttpReply {
  const type = form === 'stream' ? arrowStream : arrowFile
  const headers = ['content-type', type, tableVersion, String(version)]
  if (codec !== undefined) {
    const compress = compressorOf(codec, new Pacer(signal))
    const file = bodyOf({ status, headers, body: chunks, rest })
    return { status, headers, body: [], rest: recodeIpcFile(file, { codec, compress, form }) }
  }
  const pieces = form === 'stream' ? streamOfFile({ chunks, rest }) : { chunks, rest }
  return { status, headers, body: pieces.chunks, rest: pieces.rest }
}

/** `instance`: path of the request. */
export function errorReply(
  cause: SheafError,
  instance: string,
  dialect: Dialect,
  operation?: OperationName,
  headers: HeaderFields = [],
): HttpReply {
  const { error, status } = errorIn(dialect, cause, operation)
  const wait = status === 503 || status === 429 ? ['retry-after', retryAfterSeconds] : []
  const challenge = status === 401 ? ['www-authenticate', 'Bearer'] : []
  return jsonReply(status, errorBody(error, instance, status), [...headers, ...wait, ...challenge])
}

export interface Sending {
  /** No request follows on the connection. */
  readonly last: boolean
  /** Longest pause of the client in reading. */
  readonly pauseMs: number
  /** What may not have been read of the request. */
  readonly sent: RequestBody
  /** Goes back as `x-request-id`. */
  readonly requestId: string | undefined
  /**
   * Called before the last part of the body is sent, or when the client is gone or the reply fails; may be called twice. `bytesOut`: bytes of the body
   * that were sent. `cause`: the error that ended the reply.
   */
  readonly ending: (bytesOut: number, cause?: unknown) => void
}

/**
 * Sends a reply as fast as the client takes it; resolves when it is out, or when the client is gone. What the client still
 * sends is read for a while before the connection ends: a socket closed with bytes unread takes the reply with it.
 *
 * Rejects with what the rest of the reply throws. Its status and the beginning are out then, so the connection is to be cut: a
 * body in chunks without the last one is no body to any client.
 */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  reply: HttpReply,
  { last, pauseMs, sent, requestId, ending }: Sending,
): Promise<void> {
  const { socket } = request
  // The end of the body may be in the bytes that are being parsed right now.
  if (!sent.arrived) await new Promise(resolve => setImmediate(resolve))
  // Replies to the requests before it on the connection go first; until then this one is not what the client pauses in.
  if (response.socket === null && !isGone(request, response)) {
    await first([response, 'socket'], [response, 'close'], [socket, 'close'])
  }
  if (isGone(request, response)) return ending(0)
  const unread = !sent.arrived
  const { body, rest } = reply
  const length = rest === undefined ? lengthIn(body) : undefined
  const headers = [...reply.headers, ...serverVersion]
  if (requestId !== undefined) headers.push('x-request-id', requestId)
  if (length !== undefined) headers.push('content-length', String(length))
  if (last || unread) headers.push('connection', 'close')
  response.writeHead(reply.status, headers)
  if (length !== undefined && length <= atOnceBytes && !unread) {
    ending(length)
    endWith(response, body, length)
    // What the system has taken is out.
    if (socket.writableLength === 0) return
  }
  const gone = first([response, 'close'], [socket, 'close'])
  // The server sets it anew for the request that comes next.
  socket.setTimeout(Math.min(pauseMs, longestTimerMs))
  if (response.writableEnded) return gone
  let bytes = 0
  try {
    for await (const chunk of bodyOf(reply)) {
      // Whoever waits for one that is gone already waits forever.
      if (isGone(request, response)) return ending(bytes)
      if (chunk.length === 0) continue
      bytes += chunk.length
      if (bytes === length) ending(bytes)
      if (response.write(chunk)) continue
      await first([response, 'drain'], [response, 'close'], [socket, 'close'])
    }
  } catch (cause) {
    const isLeft = isGone(request, response)
    ending(bytes, isLeft ? undefined : cause)
    if (isLeft) return
    throw cause
  }
  ending(bytes)
  if (unread) {
    response.flushHeaders()
    await discard(request, pauseMs)
  }
  response.end()
  await gone
}

/** A reply of so few bytes is handed over in one piece: small chunks cost more to send than to join. */
const atOnceBytes = 64 * 1024

function endWith(response: ServerResponse, body: HttpReply['body'], length: number): void {
  // Of text that is ASCII, head and body make one string, which is sent at once.
  if (typeof body !== 'string') response.end(concatChunks(body))
  else if (body.length === length) response.end(body, 'latin1')
  else response.end(Buffer.from(body))
}

function lengthIn(body: HttpReply['body']): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : lengthOf(body)
}

async function* bodyOf({ body, rest }: HttpReply): AsyncGenerator<Uint8Array> {
  if (typeof body === 'string') yield Buffer.from(body)
  else yield* body
  if (rest !== undefined) yield* rest
}

/** Whether nobody is there to read the reply any more. A reply that waits for those before it has no events of its own. */
export function isGone(request: IncomingMessage, response: ServerResponse): boolean {
  return response.destroyed || request.socket.destroyed
}

/** The most that is read of a request already answered, how long, and the longest pause in it. */
const discardBytes = 64 << 20
const discardMs = 30_000
const discardPauseMs = 5_000

async function discard(request: IncomingMessage, pauseMs: number): Promise<void> {
  let left = discardBytes
  const ended = first([request, 'end'], [request, 'close'])
  const end = () => void request.destroy()
  request.setTimeout(Math.min(discardPauseMs, pauseMs), end)
  const timer = setTimeout(end, discardMs)
  request.on('data', (chunk: Uint8Array) => {
    left -= chunk.length
    if (left < 0) end()
  })
  await ended
  clearTimeout(timer)
}
