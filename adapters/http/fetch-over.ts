/**
 * Sends a Fetch `Request` to a `node:http` server over a connection in memory. So all rules of the server apply to the
 * request.
 */
import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import { Duplex, Readable } from 'node:stream'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { first } from './events.js'

/** Header fields that are not forwarded: fields about one connection (RFC 9110, 7.6.1), and `expect`. */
const ofConnection: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  'expect',
])

/** Statuses of replies that have no body. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * Send a request over a connection, and return the reply. `connect`: passes the server's end of the connection to a
 * server.
 *
 * Rejects with `request.signal.reason`, and with ServiceUnavailable if the connection ends before the head of the
 * reply.
 */
export async function fetchOver(request: Request, connect: (socket: Duplex) => void): Promise<Response> {
  const { signal } = request
  signal.throwIfAborted()
  const [near, far] = connectionInMemory()
  const sent = clientRequest(request, near)
  const abort = () => sent.destroy()
  signal.addEventListener('abort', abort, { once: true })
  sent.once('close', () => signal.removeEventListener('abort', abort))
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve)
    sent.on('error', cause => {
      const reason = signal.aborted ? signal.reason : undefined
      reject(
        reason ??
          new SheafError(ErrorCode.ServiceUnavailable, 'the connection ended before the reply', { cause }),
      )
    })
  })
  connect(far)
  // Do not wait for the body, because the server may reply before it has read all of it. If the body fails, the request
  // is aborted.
  sendBody(request, sent).catch(cause => sent.destroy(cause as Error))
  return responseOf(await answer, request.method)
}

function clientRequest(request: Request, socket: Duplex): ClientRequest {
  const { pathname, search, host } = new URL(request.url)
  const headers: Record<string, string> = { host }
  for (const [name, value] of request.headers) if (!ofConnection.has(name)) headers[name] = value
  const path = pathname + search
  return http.request({ method: request.method, path, headers, createConnection: () => socket })
}

async function sendBody({ body }: Request, sent: ClientRequest): Promise<void> {
  if (body !== null) {
    for await (const chunk of body) {
      if (sent.destroyed) return
      if (!sent.write(chunk)) await first([sent, 'drain'], [sent, 'close'])
    }
  }
  sent.end()
}

function responseOf(answer: IncomingMessage, method: string): Response {
  const headers = new Headers()
  const { rawHeaders, statusCode: status = 0 } = answer
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!ofConnection.has(rawHeaders[i]!.toLowerCase())) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!)
  }
  if (method === 'HEAD' || bodiless.has(status)) {
    answer.resume()
    return new Response(null, { status, headers })
  }
  return new Response(Readable.toWeb(answer) as ReadableStream<Uint8Array>, { status, headers })
}

/** Return the two ends of a new connection: the client's end and the server's end. */
function connectionInMemory(): [MemorySocket, MemorySocket] {
  const near = new MemorySocket()
  const far = new MemorySocket()
  near.connect(far)
  far.connect(near)
  // If the client closes its end, the server's end is destroyed. If the server closes its end, the client can still
  // read the bytes that were sent.
  near.once('close', () => far.destroy())
  far.once('close', () => near.receiveEnd())
  return [near, far]
}

/** One end of a connection in memory, with the methods of a socket that servers and clients call. */
class MemorySocket extends Duplex {
  #other: MemorySocket | undefined
  /** Completes the pending write of the other end. This end calls it when it reads or is destroyed. */
  #continue: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #hasEnd = false

  connect(other: MemorySocket): void {
    this.#other = other
  }

  /** End the readable side, because the other end sends no more bytes. */
  receiveEnd(): void {
    if (!this.#hasEnd && !this.destroyed) this.push(null)
    this.#hasEnd = true
  }

  override _read(): void {
    this.#timer?.refresh()
    this.#resume()
  }

  override _write(chunk: Uint8Array, _: string, done: () => void): void {
    this.#timer?.refresh()
    const other = this.#other!
    if (other.destroyed || other.push(chunk)) done()
    else other.#continue = done
  }

  override _final(done: () => void): void {
    this.#other!.receiveEnd()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#timer)
    this.#resume()
    done(error)
  }

  #resume(): void {
    const resume = this.#continue
    this.#continue = undefined
    resume?.()
  }

  /** Emit `timeout` after `ms` milliseconds without reads and writes. 0 disables the timeout. */
  setTimeout(ms: number): this {
    clearTimeout(this.#timer)
    this.#timer = ms > 0 ? setTimeout(() => this.emit('timeout'), ms).unref() : undefined
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}
