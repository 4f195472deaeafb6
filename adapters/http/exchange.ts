/** Sends HTTP requests to a server, and receives the replies. Clients use this file, and servers for the parts of searches. */
import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { inPieces } from '../bytes.js'
import { first } from './events.js'

interface Outgoing {
  readonly method: string
  /** Path below the base path of the connection, percent-encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | null
  readonly access: 'read' | 'write'
  readonly signal: AbortSignal | undefined
  /** Aborts when the time limit of the call is over. Its reason is the text of the error. */
  readonly timeout: AbortSignal | undefined
}

export interface Incoming {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly chunks: readonly Uint8Array[]
}

/** The connections to one server. They stay open between requests. */
export class HttpConnection {
  /** Origin and base path of the server, without a trailing slash. */
  readonly base: string
  readonly #server: http.RequestOptions
  readonly #basePath: string
  readonly #protocol: typeof http | typeof https
  readonly #agent: http.Agent

  /** Create a connection without opening it. Throws InvalidInput for a text that is not an http or https URL. */
  constructor(url: string) {
    const parsed = parseUrl(url)
    this.#server = urlToHttpOptions(parsed)
    this.#basePath = parsed.pathname.replace(/\/$/, '')
    this.base = parsed.origin + this.#basePath
    this.#protocol = parsed.protocol === 'https:' ? https : http
    this.#agent = new this.#protocol.Agent({ keepAlive: true })
  }

  /**
   * Send a request, and return the reply, whatever its status. Rejects with `signal.reason` if the signal aborts, with
   * the error of a body that throws, and with ServiceUnavailable if the connection fails.
   *
   * A write that was sent completely cannot be aborted, because its outcome would be unknown. If its connection fails
   * or its time is over, the error has the kind `commit-state-unknown`.
   */
  exchange(outgoing: Outgoing): Promise<Incoming> {
    const { method, headers, body, access, signal, timeout } = outgoing
    const request = this.#protocol.request({
      ...this.#server,
      path: this.#basePath + outgoing.path,
      method,
      headers,
      agent: this.#agent,
    })
    return new Promise<Incoming>((resolve, reject) => {
      const giveUp = (cause: unknown) => {
        reject(cause)
        request.destroy()
      }
      const abort = () => {
        if (access === 'read' || !request.writableFinished) giveUp(signal?.reason)
      }
      const fail = (cause: NodeJS.ErrnoException) =>
        giveUp(
          this.#failure(request, access, `no reply from ${this.base}: ${cause.code ?? cause.message}`, cause),
        )
      const expire = () => giveUp(this.#failure(request, access, timeout?.reason))
      let answered = false
      signal?.addEventListener('abort', abort, { once: true })
      timeout?.addEventListener('abort', expire, { once: true })
      request.once('close', () => {
        signal?.removeEventListener('abort', abort)
        timeout?.removeEventListener('abort', expire)
      })
      request.on('error', cause => {
        // Ignore errors after the head of a reply: a server may reply and close the connection before it has read the
        // whole request.
        if (!answered) fail(cause)
      })
      request.once('response', response => {
        answered = true
        readAll(response).then(
          chunks => resolve({ status: response.statusCode!, headers: response.headers, chunks }),
          fail,
        )
      })
      sendBody(request, body).catch(giveUp)
    })
  }

  #failure(
    request: ClientRequest,
    access: Outgoing['access'],
    reason: string,
    cause?: NodeJS.ErrnoException,
  ): SheafError {
    if (access === 'read' || !request.writableFinished) {
      return new SheafError(ErrorCode.ServiceUnavailable, reason, { cause })
    }
    return new SheafError(ErrorCode.ServiceUnavailable, `${reason}; the outcome of the write is unknown`, {
      kind: 'commit-state-unknown',
      hint: 'check whether the write took effect before sending it again',
      cause,
    })
  }

  /** Close all connections to the server. */
  close(): void {
    this.#agent.destroy()
  }
}

function parseUrl(text: string): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalidInput(`${quote(text)} is not an http or https URL`)
  }
  return url
}

async function readAll(response: IncomingMessage): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of response) chunks.push(chunk)
  return chunks
}

/** Send the body, and wait while the connection cannot take more. Rejects only with an error of the body itself. */
async function sendBody(request: ClientRequest, body: Outgoing['body']): Promise<void> {
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) {
    request.end(body ?? undefined)
    return
  }
  for await (const piece of inPieces(body)) {
    if (request.destroyed) return
    if (request.write(piece)) continue
    await first([request, 'drain'], [request, 'close'])
  }
  request.end()
}
