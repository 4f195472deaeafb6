/** Builds replies as plain data, and sends them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { compressorOf } from '../../src/arrow/compress.js'
import { concatChunks } from '../../src/arrow/encode-ipc.js'
import { recodeIpcFile } from '../../src/arrow/recode-ipc.js'
import type { SheafError } from '../../src/errors.js'
import { whenAborted, within } from '../../src/primitives/abort.js'
import { systemClock } from '../../src/primitives/clock.js'
import { Pacer } from '../../src/primitives/pacer.js'
import type { ArrowReply } from '../../src/protocol/calls.js'
import { errorBody } from '../../src/protocol/errors-wire.js'
import { type OperationEntry, type OperationName, operations } from '../../src/protocol/operations.js'
import { writeReply } from '../../src/protocol/wire.js'
import { lengthOf } from '../bytes.js'
import type { Wanted } from './accept.js'
import { streamOfFile } from './arrow-stream.js'
import type { RequestBody } from './body.js'
import { encoded } from './content-coding.js'
import { bodyIn, type Dialect, errorIn } from './dialect.js'
import { first, longestTimerMs } from './events.js'
import { eventStream, jsonText } from './media-types.js'

/**
 * A header field of every reply. LanceDB's client uses this version to decide what the server supports: full-text
 * queries (0.3.0), large writes in parts (0.4.0), blobs (0.5.0).
 */
export const serverVersion = ['phalanx-version', '0.5.0'] as const

/** Header field with the version of the table that the query read. */
export const tableVersion = 'x-lancedb-version'

/** Value of `retry-after` for errors of an overloaded server, seconds. */
const retryAfterSeconds = '1'

/** Header fields as a list: name, value, name, value. An object with such names takes several times as long. */
export type HeaderFields = readonly string[]

export interface HttpReply {
  readonly status: number
  readonly headers: HeaderFields
  /** The whole body as text, or its first bytes in chunks. */
  readonly body: string | readonly Uint8Array[]
  /** The bytes after `body`, which are produced while the reply is sent. */
  readonly rest?: AsyncIterable<Uint8Array> | undefined
  /** When it fires, the reply ends at once, also if the client has not read all bytes. */
  readonly until?: AbortSignal | undefined
}

export function jsonReply(status: number, body: unknown, headers: HeaderFields = []): HttpReply {
  return {
    status,
    headers: ['content-type', jsonText, ...headers],
    body: JSON.stringify(body),
  }
}

/** Return the reply of an operation that succeeded. `signal` aborts the compression of rows. */
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

/** Minimum bytes of a body that is compressed. Compressing a smaller body takes longer than sending it. */
const codedBytes = 1024

function coded(reply: HttpReply, { coding }: Wanted): HttpReply {
  if (coding === undefined || (reply.rest === undefined && lengthIn(reply.body) < codedBytes)) return reply
  const headers = [...reply.headers, 'content-encoding', coding, 'vary', 'accept-encoding']
  return { ...reply, headers, body: [], rest: encoded(bodyOf(reply), coding) }
}

function arrowReply(
  status: number,
  { version, chunks, rest }: ArrowReply,
  { form: wanted, type, codec }: Wanted,
  signal: AbortSignal | undefined,
): HttpReply {
  const form = wanted === 'stream' ? 'stream' : 'file'
  const headers = ['content-type', type, tableVersion, String(version)]
  if (codec !== undefined) {
    const compress = compressorOf(codec, new Pacer(signal))
    const file = bodyOf({ status, headers, body: chunks, rest })
    return { status, headers, body: [], rest: recodeIpcFile(file, { codec, compress, form }) }
  }
  const pieces = form === 'stream' ? streamOfFile({ chunks, rest }) : { chunks, rest }
  return { status, headers, body: pieces.chunks, rest: pieces.rest }
}

/** Return a reply with rows as text. `version`: the version of the table that was read. */
export function textReply(
  version: number,
  rows: Pick<HttpReply, 'body' | 'rest'>,
  wanted: Wanted,
): HttpReply {
  // Without this field, a browser may guess another type, because a value may look like HTML.
  const noGuess = ['x-content-type-options', 'nosniff']
  const headers = ['content-type', wanted.type, tableVersion, String(version), ...noGuess]
  return coded({ status: 200, headers, ...rows }, wanted)
}

/** Return the reply with server-sent events. It ends immediately when `until` fires. */
export function eventsReply(rest: AsyncIterable<Uint8Array>, until: AbortSignal): HttpReply {
  const noStore = ['cache-control', 'no-store', 'x-content-type-options', 'nosniff']
  // The field tells nginx to forward each event immediately.
  const headers = ['content-type', eventStream, ...noStore, 'x-accel-buffering', 'no']
  return { status: 200, headers, body: [], rest, until }
}

/** Return the reply for an error. `instance`: the path of the request. */
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

interface Sending {
  /** Whether the server closes the connection after this reply. */
  readonly last: boolean
  /** Time for which the client may stop reading, milliseconds. */
  readonly pauseMs: number
  /** The body of the request. The handler may not have read all of it. */
  readonly sent: RequestBody
  /** The value of the header field `x-request-id` in the reply. */
  readonly requestId: string | undefined
  /**
   * Called before the last part of the body is sent, or when the client is gone or the reply fails. May be called
   * twice. `bytesOut`: bytes of the body that were sent. `cause`: the error that ended the reply.
   */
  readonly ending: (bytesOut: number, cause?: unknown) => void
}

/**
 * Send a reply as fast as the client reads it. Resolves when the reply is sent, or when the client is gone. If the
 * client is still sending its request, the server reads for some time before it closes the connection: closing a socket
 * with unread bytes can lose the reply.
 *
 * Rejects with the error of `reply.rest`. At that time the status and a part of the body are already sent, so the
 * caller must destroy the connection. A client then knows that the body is not complete, because its last chunk is
 * missing.
 */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  reply: HttpReply,
  { last, pauseMs, sent, requestId, ending }: Sending,
): Promise<void> {
  const { socket } = request
  // Wait for one turn of the event loop: Node may be parsing bytes that contain the end of the request.
  if (!sent.arrived) await new Promise(resolve => setImmediate(resolve))
  // Wait until the replies to earlier requests on the connection are sent. The time limit for a reading client starts
  // after that.
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
    // The operating system has all bytes, so there is nothing to wait for.
    if (socket.writableLength === 0) return
  }
  const gone = first([response, 'close'], [socket, 'close'])
  if (reply.until !== undefined) {
    const forget = whenAborted(reply.until, () => {
      const isUnread = response.writableNeedDrain || (response.writableEnded && !response.writableFinished)
      if (isUnread) response.destroy()
    })
    void gone.then(forget)
  }
  // The server sets its own timeout again for the next request.
  socket.setTimeout(Math.min(pauseMs, longestTimerMs))
  if (response.writableEnded) return gone
  let bytes = 0
  try {
    for await (const chunk of bodyOf(reply)) {
      // Check the socket before waiting for an event, because an event that has already happened does not happen again.
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
  if (reply.until?.aborted === true) {
    await within(systemClock, lastBytesMs, gone)
    if (!response.writableFinished) response.destroy()
  }
  await gone
}

/** Time that a client may take to read the end of a reply that `until` has ended, milliseconds. */
const lastBytesMs = 100

/**
 * Maximum bytes of a reply that is sent in one piece. For such a reply, joining chunks takes less time than sending
 * them one by one.
 */
const atOnceBytes = 64 * 1024

function endWith(response: ServerResponse, body: HttpReply['body'], length: number): void {
  // Node joins the head and an ASCII body to one string, and sends them in one write.
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

/**
 * Return whether the client is gone. The socket is checked too: a response that waits for earlier replies on the
 * connection emits no events.
 */
export function isGone(request: IncomingMessage, response: ServerResponse): boolean {
  return response.destroyed || request.socket.destroyed
}

/**
 * Limits for reading the rest of a request that is already answered: bytes, total milliseconds, and milliseconds of one
 * pause.
 */
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
