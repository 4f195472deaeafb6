/** Answers a client that sent bytes that are not an HTTP request. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { invalidInput, type SheafError, unsupported } from '../../src/errors.js'
import { errorReply, serverVersion } from './reply.js'

/** A request, its response, and a promise that resolves when the request is answered. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly answered: Promise<unknown>
}

const statusOfParseError: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Return the error for bytes that are not valid HTTP, or that arrive too slowly. */
export function notHttp({ code = '' }: NodeJS.ErrnoException): SheafError {
  const status = statusOfParseError[code] ?? 400
  const what = status === 408 ? 'no complete request arrived in time' : 'the request is not valid HTTP'
  return invalidInput(`${what}: ${code}`, { status })
}

/** Return the error for a client that uses the server as a proxy. */
export function noProxy(): SheafError {
  return unsupported('the server does not support the method CONNECT', { status: 405 })
}

/** Time for which a refused client may read the answer, milliseconds. */
const refusalMs = 5_000

const refused = new WeakSet<Duplex>()

/**
 * Answer bytes that are not HTTP, after the replies to earlier requests on the connection. Then end the connection. If
 * a reply is only partly sent, the connection ends without an answer. `ending`: called before the answer is sent, with
 * the bytes of its body.
 */
export async function refuse(
  cause: SheafError,
  socket: Duplex,
  exchanges: readonly Exchange[],
  ending: (bytesOut: number) => void,
): Promise<void> {
  if (refused.has(socket)) return
  refused.add(socket)
  const inBody = exchanges.some(({ request }) => !request.complete)
  if (!inBody) await Promise.all(exchanges.map(({ answered }) => answered))
  const isReplying = exchanges.some(({ response }) => response.headersSent && !response.writableFinished)
  if (isReplying || !socket.writable) return void socket.destroy()
  const { status, headers, body: text } = errorReply(cause, '', 'namespace')
  const body = Buffer.from(text as string)
  const fields = [...serverVersion, ...headers, 'connection', 'close', 'content-length', body.length]
  const lines = fields.map((text, i) => text + (i % 2 === 0 ? ': ' : '\r\n'))
  ending(body.length)
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`)
  socket.end(body, () => {
    setTimeout(() => socket.destroy(), inBody ? 0 : refusalMs).unref()
  })
}
