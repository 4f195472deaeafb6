/**
 * Manages the sockets of a server: connections and their limits, requests in progress, bytes that are not HTTP, and
 * closing the server. `answer.ts` answers the requests.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import type { Limits } from './limits.js'
import { type Exchange, noProxy, notHttp, refuse } from './refusal.js'

/** Maximum bytes of the head of a request. It is large because clients put the filters of merges into the URL. */
const maxHeaderBytes = 64 * 1024
/**
 * Time for which an idle connection stays open, milliseconds. Known clients close an idle connection after 300 s. The
 * server waits longer, so that the client closes first.
 */
const keepAliveMs = 305_000
/** Time limit for receiving one whole request, milliseconds. It is long because an upload may be slow. */
const arrivalMs = 30 * 60_000
/** Interval at which the server checks for heads and requests that arrive too slowly, milliseconds. */
const lookMs = 5_000

/**
 * The header field `Expect` of a request. `nothing`: absent. `to be told to send`: 100-continue. `something else`:
 * another value.
 */
export type Expects = 'nothing' | 'to be told to send' | 'something else'

/** The events of a listener: a request, refused bytes, and a refused connection. */
interface Arrivals {
  /** Answer a request. The promise resolves after the last byte is sent. If it rejects, the response is destroyed. */
  answer(request: IncomingMessage, response: ServerResponse, expects: Expects): Promise<void>
  /** Called when bytes that are not HTTP were refused with `error`. */
  refused(error: SheafError, durationMs: number, bytesOut: number): void
  /** Called when a connection above the limit was closed. */
  dropped(): void
}

export class Listener {
  readonly #arrivals: Arrivals
  readonly #server: Server
  readonly #answering = new Map<IncomingMessage, Exchange>()
  readonly #connections = new Set<Duplex>()
  #isClosing = false
  #closed: Promise<void> | undefined

  constructor(limits: Pick<Limits, 'pauseMs' | 'connections'>, arrivals: Arrivals) {
    this.#arrivals = arrivals
    this.#server = createServer({
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: keepAliveMs,
      requestTimeout: arrivalMs,
      headersTimeout: Math.min(limits.pauseMs, arrivalMs),
      connectionsCheckingInterval: Math.max(10, Math.min(lookMs, limits.pauseMs / 4)),
      // Node's reply to a request without Host has no body, so the server checks this itself.
      requireHostHeader: false,
    })
    this.#server.maxConnections = limits.connections
    this.#server.on('request', this.#begin('nothing'))
    this.#server.on('checkContinue', this.#begin('to be told to send'))
    this.#server.on('checkExpectation', this.#begin('something else'))
    this.#server.on('clientError', (error, socket) => this.#refuse(notHttp(error), socket))
    this.#server.on('connect', (_request, socket: Duplex) => {
      // Without a listener, an error of this socket would end the process. Node has removed its own listener.
      socket.on('error', () => {})
      socket.resume()
      this.#refuse(noProxy(), socket)
    })
    this.#server.on('connection', socket => this.#connected(socket))
    this.#server.on('drop', () => arrivals.dropped())
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#connections.size
  }

  /** Whether `close` was called. Each connection then ends after its next reply. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  /** URL of the address that the server listens on, without a path. */
  get url(): string {
    const { address, port, family } = this.#server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  /**
   * Listen on a port and address. Throws InvalidInput for an invalid port, and ServiceUnavailable if the server cannot
   * listen there.
   */
  async listen(port: number, host: string): Promise<void> {
    const server = this.#server
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.off('error', reject)
          resolve()
        })
      })
    } catch (cause) {
      throw cannotListen(port, host, cause as NodeJS.ErrnoException)
    }
  }

  /**
   * Serve a connection that did not arrive at a port, such as one in memory. Its socket must have the method
   * `setTimeout`.
   */
  connect(socket: Duplex): void {
    this.#server.emit('connection', socket)
  }

  /** Answer a request that arrived at another server. Resolves after the last byte of the reply is sent. */
  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#begin('nothing')(request, response)
    await this.#answering.get(request)!.answered
  }

  /** Accept no more connections. Resolves when all requests that have begun are answered. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#isClosing = true
    const closed = new Promise(resolve => this.#server.close(resolve))
    const answering = this.#answering
    while (answering.size > 0) await Promise.all([...answering.values()].map(({ answered }) => answered))
    for (const socket of this.#connections) socket.destroy()
    await closed
  }

  #connected(socket: Duplex): void {
    this.#connections.add(socket)
    // Each waiting request adds a listener to the socket. Their number needs no limit here, because the number of calls
    // is limited.
    socket.setMaxListeners(0)
    socket.once('close', () => this.#connections.delete(socket))
  }

  #begin(expects: Expects): (request: IncomingMessage, response: ServerResponse) => void {
    return (request, response) => {
      this.#answering.set(request, { request, response, answered: this.#answer(request, response, expects) })
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, expects: Expects): Promise<void> {
    try {
      await this.#arrivals.answer(request, response, expects)
    } catch {
      response.destroy()
    } finally {
      this.#answering.delete(request)
    }
  }

  #refuse(error: SheafError, socket: Duplex): void {
    const begun = performance.now()
    const exchanges = [...this.#answering.values()].filter(({ request }) => request.socket === socket)
    void refuse(error, socket, exchanges, bytesOut => {
      this.#arrivals.refused(error, performance.now() - begun, bytesOut)
    })
  }
}

function cannotListen(port: number, host: string, cause: NodeJS.ErrnoException): SheafError {
  if (cause.code === 'ERR_SOCKET_BAD_PORT') {
    return invalidInput(`port must be an integer from 0 to 65535, got ${quote(port)}`, { cause })
  }
  const hint = cause.code === 'EADDRINUSE' ? 'choose another port, or 0 for any free one' : undefined
  const message = `cannot listen on ${host}:${port}: ${cause.code ?? cause.message}`
  return new SheafError(ErrorCode.ServiceUnavailable, message, { hint, cause })
}
