/**
 * Serves the operations over HTTP. The table of operations (`protocol/operations.ts`) defines path, query, body and reply of each; this
 * file handles HTTP alone.
 *
 * - No request ends the process, and every error has a JSON object.
 * - `limits.ts` bounds what a request may take of the server, and how long a client may keep the server waiting.
 * - A client that disconnects aborts its read, never its write: whether a write commits must not depend on how long its client waits.
 * - An upload that breaks off is an error for the handler that reads it, never a shorter upload.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { loadAll } from '../../src/lazy-import.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { presentable } from '../calls.js'
import { Admission } from './admission.js'
import { RequestBody } from './body.js'
import type { Databases } from './databases.js'
import { checkBinding, checkGrants } from './gate.js'
import { Handling, type Served } from './handling.js'
import { resolveLimits } from './limits.js'
import { Metrics } from './metrics.js'
import { type RequestRecord, type ServeOptions, serveShape } from './options.js'
import { Pages } from './pages.js'
import type { Particulars } from './particulars.js'
import { patienceFor } from './patience.js'
import { type Exchange, noProxy, notHttp, refuse } from './refusal.js'
import { errorReply, type HttpReply, isGone, send } from './reply.js'
import { readTarget } from './request.js'
import { type Found, findRoute } from './routes.js'
import { systemReply } from './system.js'

export interface HttpServer {
  /** URL of the server, base path included. */
  readonly url: string
  /** Accept no more connections. Resolves when all requests that have begun are answered. */
  close(): Promise<void>
}

/** The longest request head, bytes. Clients put the filters of merges into the URL. */
const maxHeaderBytes = 64 * 1024
/** How long an idle connection stays open. Known clients keep one for 300 s; with more, the client closes first. */
const keepAliveMs = 305_000
/** Longest time for one request to arrive, milliseconds. An upload may be slow. */
const arrivalMs = 30 * 60_000
/** How often the server looks for heads and requests that arrive too slowly, milliseconds. */
const lookMs = 5_000

/**
 * Serve one namespace, or many `databases`. Closing the server closes neither.
 *
 * Throws InvalidInput for invalid options, and for an address that other machines reach without `auth` or `allowAnonymous`. Throws
 * ServiceUnavailable if the server cannot listen on the address.
 *
 * ```js
 * const server = await serve(await connect('./data'), { port: 2333 })
 * ```
 */
export async function serve(served: Served | Databases, options?: ServeOptions): Promise<HttpServer>
export async function serve(
  served: Served | Databases,
  given: ServeOptions = {},
  ...more: readonly unknown[]
): Promise<HttpServer> {
  refuseMore('serve', 2, more)
  checkServed(served)
  const options = parse(serveShape, given, 'serve')
  const { port = 2333, host = '127.0.0.1', logger } = options
  checkBinding(host, options)
  checkGrants('use' in served, options)
  const pages = new Pages(host, options)
  const limits = resolveLimits(options.limits ?? {})
  // Load all modules now: a newer package may be installed over this one while the server runs.
  await loadAll()
  const handling = await Handling.open(served, options, limits)
  const admission = new Admission(limits)
  const metrics = new Metrics()
  const basePath = `/${options.basePath ?? ''}`.replace(/\/+/g, '/').replace(/\/$/, '')
  const answering = new Map<IncomingMessage, Exchange>()
  const connections = new Set<Duplex>()
  let closing = false

  const system = {
    operations: 'operations' in served ? served.operations : null,
    isClosing: () => closing,
    metrics: () =>
      metrics.text({
        inFlight: admission.inFlight,
        connections: connections.size,
        stats: statsOf(served),
      }),
  }

  /** Count and log a request. A logger that throws must not fail the request. */
  function log(record: RequestRecord): void {
    metrics.count(record)
    try {
      logger?.(record)
    } catch {}
  }

  async function answer(request: IncomingMessage, response: ServerResponse, expects: Expects): Promise<void> {
    const begun = performance.now()
    const method = request.method ?? ''
    const target = readTarget(request.url ?? '', basePath)
    const found = target.route === null ? unknown : findRoute(method, target.route)
    const operation = found.kind === 'operation' ? found.name : undefined
    const sendContinue = expects === 'to be told to send' ? () => response.writeContinue() : undefined
    const body = new RequestBody(request, limits, sendContinue)
    const particulars: Particulars = {}
    const atEnd: (() => void)[] = []

    const call = (): Promise<HttpReply> => {
      const patience = patienceFor(request, limits.requestMs)
      atEnd.push(patience.end)
      const address = `address ${request.socket.remoteAddress}`
      const admit = (principal: string | undefined): undefined =>
        void atEnd.push(admission.enter(principal === undefined ? address : `principal ${principal}`))
      const ended = () => new Promise<void>(resolve => atEnd.push(resolve))
      return handling.reply({
        request,
        body,
        target,
        found,
        signal: patience.signal,
        admit,
        admitUnidentified: () => admission.enterUnidentified(address),
        ended,
        particulars,
      })
    }

    let reply: HttpReply
    let error: unknown
    try {
      checkHead(request, expects)
      reply =
        pages.answer(request, target, found) ??
        (await (systemReply(target.route, system, () => handling.admit(request, particulars)) ?? call()))
    } catch (cause) {
      error = cause
      const shown = isGone(request, response) ? clientGone : presentable(cause)
      reply = errorReply(shown, target.path, target.dialect, operation)
    }
    reply = { ...reply, headers: [...reply.headers, ...pages.fieldsFor(request)] }
    const { status } = reply
    const { principal, database, requestId, context, skipped } = particulars
    let recorded = false
    const ending = (bytesOut: number, cut?: unknown) => {
      if (recorded) return
      recorded = true
      log({
        method,
        path: target.path,
        operation,
        status,
        principal: principal?.name,
        database,
        requestId,
        context,
        ...(skipped !== undefined && skipped.length > 0 && { skipped }),
        durationMs: performance.now() - begun,
        bytesIn: body.bytes,
        bytesOut,
        error: cut ?? error,
      })
    }
    try {
      await send(request, response, reply, {
        last: closing,
        pauseMs: limits.pauseMs,
        sent: body,
        requestId,
        ending,
      })
    } catch (cause) {
      error = cause
      response.destroy()
    } finally {
      for (const end of atEnd) end()
      ending(0)
    }
  }

  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    keepAliveTimeout: keepAliveMs,
    requestTimeout: arrivalMs,
    headersTimeout: Math.min(limits.pauseMs, arrivalMs),
    connectionsCheckingInterval: Math.max(10, Math.min(lookMs, limits.pauseMs / 4)),
    // Node's own answer to a request without Host has no body.
    requireHostHeader: false,
  })
  server.maxConnections = limits.connections

  async function answerAlways(request: IncomingMessage, response: ServerResponse, expects: Expects) {
    try {
      await answer(request, response, expects)
    } catch {
      response.destroy()
    } finally {
      answering.delete(request)
    }
  }

  const begin = (expects: Expects) => (request: IncomingMessage, response: ServerResponse) => {
    answering.set(request, { request, response, answered: answerAlways(request, response, expects) })
  }
  server.on('request', begin('nothing'))
  server.on('checkContinue', begin('to be told to send'))
  server.on('checkExpectation', begin('something else'))

  const refuseOn = (error: SheafError, socket: Duplex) => {
    const begun = performance.now()
    const exchanges = [...answering.values()].filter(({ request }) => request.socket === socket)
    void refuse(error, socket, exchanges, bytesOut => {
      const durationMs = performance.now() - begun
      log({ method: '', path: '', status: error.status, durationMs, bytesIn: 0, bytesOut, error })
    })
  }
  server.on('clientError', (error, socket) => refuseOn(notHttp(error), socket))
  server.on('connect', (_request, socket: Duplex) => {
    // Node no longer listens for errors of this socket.
    socket.on('error', () => {})
    socket.resume()
    refuseOn(noProxy(), socket)
  })
  server.on('connection', socket => {
    connections.add(socket)
    // Each request on the connection listens for its end. The limit on calls bounds how many wait.
    socket.setMaxListeners(0)
    socket.once('close', () => connections.delete(socket))
  })
  server.on('drop', () => metrics.countConnectionRefused())
  await listen(server, port, host)

  const stop = async () => {
    closing = true
    const closed = new Promise(resolve => server.close(resolve))
    while (answering.size > 0) await Promise.all([...answering.values()].map(({ answered }) => answered))
    for (const socket of connections) socket.destroy()
    await closed
    metrics.close()
  }
  let stopped: Promise<void> | undefined
  return {
    url: urlOf(server.address() as AddressInfo) + basePath,
    close() {
      stopped ??= stop()
      return stopped
    },
  }
}

const unknown: Found = { kind: 'unknown' }

/** Only for the log: the client is gone. */
const clientGone = invalidInput('the client did not wait for the reply', { status: 499 })

/** What the client asks for in `Expect` before it sends the body. */
type Expects = 'nothing' | 'to be told to send' | 'something else'

/** Check the rules of HTTP for the head of a request. */
function checkHead({ headers, rawHeaders, httpVersion }: IncomingMessage, expects: Expects): void {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw invalidInput('the request is not valid HTTP: it has no header field Host')
  }
  // A proxy that reads one of two Host fields must mean the same host as the server (RFC 9112, 3.2).
  if (isRepeated('host', rawHeaders))
    throw invalidInput('the request is not valid HTTP: it has the header field Host twice')
  // Node would join both to one value, which no client sent.
  if (isRepeated('idempotency-key', rawHeaders))
    throw invalidInput('the request has the header field idempotency-key twice', { hint: 'send one key' })
  if (expects === 'something else') {
    throw invalidInput(`the server does not support the expectation ${quote(headers.expect)}`, {
      status: 417,
    })
  }
}

/** Return whether a header field occurs more than once. Names and values alternate in `rawHeaders`. */
function isRepeated(name: string, rawHeaders: readonly string[]): boolean {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const given = rawHeaders[i]!
    if (given.length === name.length && given.toLowerCase() === name) count++
  }
  return count > 1
}

function checkServed(served: unknown): void {
  const isThere = typeof served === 'object' && served !== null
  if (isThere && ('use' in served || ('operations' in served && typeof served.operations === 'object')))
    return
  throw invalidInput(`serve takes a namespace or the result of databases(), got ${quote(served)}`, {
    hint: typeof served === 'string' ? 'open it first: serve(await connect(path))' : undefined,
  })
}

/** Return the statistics of the root; undefined if the engine is in another thread or process. */
function statsOf(served: Served | Databases): ReturnType<NonNullable<Served['stats']>> | undefined {
  if (!('stats' in served)) return undefined
  try {
    return served.stats?.()
  } catch {
    return undefined
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ERR_SOCKET_BAD_PORT') {
      throw invalidInput(`port must be an integer from 0 to 65535, got ${quote(port)}`, { cause })
    }
    const hint = cause.code === 'EADDRINUSE' ? 'choose another port, or 0 for any free one' : undefined
    const message = `cannot listen on ${host}:${port}: ${cause.code ?? cause.message}`
    throw new SheafError(ErrorCode.ServiceUnavailable, message, { hint, cause })
  })
}

function urlOf({ address, port, family }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
