/** What is answered to bytes that are no HTTP request. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { invalidInput } from '../../src/errors.js'
import { errorReply, serverVersion } from './reply.js'

/** A request and what becomes of it. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly answered: Promise<unknown>
}

const statusOfParseError: Readonly<Record<string, readonly [status: number, phrase: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
}

/** How long a refused client may take to read why. */
const refusalMs = 5_000

const refused = new WeakSet<Duplex>()

/**
 * Answers what is not even HTTP, after the requests before it on the same connection, and ends the connection. In the
 * middle of a reply nothing can be said.
 */
export async function refuse(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  exchanges: readonly Exchange[],
): Promise<void> {
  if (refused.has(socket)) return
  refused.add(socket)
  const inBody = exchanges.some(({ request }) => !request.complete)
  if (!inBody) await Promise.all(exchanges.map(({ answered }) => answered))
  const saying = exchanges.some(({ response }) => response.headersSent && !response.writableFinished)
  if (saying || !socket.writable) return void socket.destroy()
  const code = error.code ?? ''
  const [status, phrase] = statusOfParseError[code] ?? [400, 'Bad Request']
  const cause = invalidInput(`the request is not valid HTTP: ${code}`, { status })
  const { headers, chunks } = errorReply(cause, '', 'namespace')
  const fields = { ...serverVersion, ...headers, connection: 'close', 'content-length': chunks[0]!.length }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${status} ${phrase}\r\n${lines.join('')}\r\n`)
  socket.end(chunks[0], () => {
    setTimeout(() => socket.destroy(), inBody ? 0 : refusalMs).unref()
  })
}
