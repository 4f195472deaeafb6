/**
 * The sockets of a server: connections and their limits, the requests that are being answered, bytes that are not requests, and the end of
 * the server. `answer.ts` answers the requests.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import type { Limits } from './limits.js'
import { type Exchange, noProxy, notHttp, refuse } from './refusal.js'

/** The longest request head, bytes. Clients put the filters of merges into the URL. */
const maxHeaderBytes = 64 * 1024
/** How long an idle connection stays open. Known clients keep one for 300 s; with more, the client closes first. */
const keepAliveMs = 305_000
/** Longest time for one request to arrive, milliseconds. An upload may be slow. */
const arrivalMs = 30 * 60_000
/** How often the server looks for heads and requests that arrive too slowly, milliseconds. */
const lookMs = 5_000

/** The header field `Expect` of a request: absent, `100-continue`, or another value. */
export type Expects = 'nothing' | 'to be told to send' | 'something else'

/** Handles requests, and notes bytes and connections that the listener refused. */
interface Arrivals {
  /** Answer a request. The promise resolves after the last byte is sent. If it rejects, the response is destroyed. */
  answer(request: IncomingMessage, response: ServerResponse, expects: Expects): Promise<void>
  /** Note that bytes that are not a request were refused with `error`. */
  refused(error: SheafError, durationMs: number, bytesOut: number): void
  /** Note that a connection was refused. */
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
      // Node's own answer to a request without Host has no body.
      requireHostHeader: false,
    })
    this.#server.maxConnections = limits.connections
    this.#server.on('request', this.#begin('nothing'))
    this.#server.on('checkContinue', this.#begin('to be told to send'))
    this.#server.on('checkExpectation', this.#begin('something else'))
    this.#server.on('clientError', (error, socket) => this.#refuse(notHttp(error), socket))
    this.#server.on('connect', (_request, socket: Duplex) => {
      // Node no longer listens for errors of this socket.
      socket.on('error', () => {})
      socket.resume()
      this.#refuse(noProxy(), socket)
    })
    this.#server.on('connection', socket => this.#connected(socket))
    this.#server.on('drop', () => arrivals.dropped())
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#connections.size
  }

  /** Whether `close` was called: each connection ends after its next reply. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  /** URL of the address, without a path. */
  get url(): string {
    const { address, port, family } = this.#server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  /** Throws InvalidInput for an invalid port, ServiceUnavailable if the server cannot listen on the address. */
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

  /** Serve one connection that does not come from a port. Its socket has `setTimeout`. */
  connect(socket: Duplex): void {
    this.#server.emit('connection', socket)
  }

  /** Answer a request that arrived at another server. Resolves when nothing more is sent. */
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
    // Each request on the connection listens for its end. The limit on calls bounds how many wait.
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
