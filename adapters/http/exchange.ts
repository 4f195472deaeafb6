/** One HTTP request and its reply, from the client's side. */
import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { inPieces } from '../bytes.js'
import { first } from './events.js'

interface Outgoing {
  readonly method: string
  /** Path below the base of the connection, percent-encoded. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | null
  readonly access: 'read' | 'write'
  readonly signal: AbortSignal | undefined
  /** Fires when the client stops waiting for the reply, with a text that says why. */
  readonly timeout: AbortSignal | undefined
}

export interface Incoming {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly chunks: readonly Uint8Array[]
}

/** Connections to one server, kept open between requests. */
export class HttpConnection {
  /** Origin and base path, without trailing slash. */
  readonly base: string
  readonly #server: http.RequestOptions
  readonly #basePath: string
  readonly #protocol: typeof http | typeof https
  readonly #agent: http.Agent

  /** Throws InvalidInput for a text that is not an http or https URL. */
  constructor(url: string) {
    const parsed = parseUrl(url)
    this.#server = urlToHttpOptions(parsed)
    this.#basePath = parsed.pathname.replace(/\/$/, '')
    this.base = parsed.origin + this.#basePath
    this.#protocol = parsed.protocol === 'https:' ? https : http
    this.#agent = new this.#protocol.Agent({ keepAlive: true })
  }

  /**
   * Send a request, and return the reply with any status. Rejects with `signal.reason` when aborted, with the error of a body that throws,
   * and with ServiceUnavailable when the connection fails.
   *
   * A write that was sent completely cannot be aborted any more, because its outcome would be unknown. If its connection fails then, or its
   * time is over, the error has kind `commit-state-unknown`.
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
        // A server may answer and close before it has read everything. Then the answer counts.
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

  /** Close the connections. */
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

/** Send the body as fast as the server takes it. Rejects with the error of the body, and with nothing else. */
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
