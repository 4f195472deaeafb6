/**
 * The operations over HTTP. Everything about an operation (path, query, body, reply) comes from the table of operations;
 * what is here is HTTP alone.
 *
 * - No request ends the process, and none leaves an error without a JSON object.
 * - A client that goes away aborts what it was reading. It never aborts a write: whether that commits must not depend on
 *   how long somebody listens. Part of an upload is an error to whoever reads it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { presentable } from '../calls.js'
import { Handling, type Served } from './handling.js'
import { settleLimits } from './limits.js'
import type { ServeOptions } from './options.js'
import { type Exchange, refuse } from './refusal.js'
import { errorReply, type HttpReply, isGone, send, whenGone } from './reply.js'
import { readTarget } from './request.js'
import { type Found, findRoute } from './routes.js'

export interface HttpServer {
  /** Where the server is reached, base path included. */
  readonly url: string
  /** Accepts no more connections, and resolves when requests that have begun are answered. */
  close(): Promise<void>
}

/** Clients put filters of merges into the URL. */
const maxHeaderBytes = 64 * 1024
/** Longer than the 300 s for which known clients keep an idle connection, so that they are the ones to close it. */
const keepAliveMs = 305_000
/** Longest time for one request to arrive: an upload may be slow. */
const requestMs = 30 * 60_000

/** Serves `served`. Throws code 13 for options that make no sense, 17 where the address cannot be had. */
export async function serve(served: Served, options: ServeOptions = {}): Promise<HttpServer> {
  const { port = 2333, host = '127.0.0.1', logger } = options
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw invalidInput(`port must be an integer of 0 to 65535, got ${quote(port)}`)
  }
  const limits = settleLimits(options.limits ?? {})
  const handling = new Handling(served, limits)
  const basePath = `/${options.basePath ?? ''}`.replace(/\/+/g, '/').replace(/\/$/, '')
  const answering = new Map<IncomingMessage, Exchange>()
  let closing = false

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? ''
    const target = readTarget(request.url ?? '', basePath)
    const found = target.route === null ? unknown : findRoute(method, target.route)
    const operation = found.kind === 'operation' ? found.name : undefined
    let reply: HttpReply
    let error: unknown
    try {
      reply = await handling.reply(request, target, found, access =>
        access === 'read' ? untilGone(request, response) : undefined,
      )
    } catch (cause) {
      error = cause
      const shown = isGone(request, response) ? clientGone : presentable(cause)
      reply = errorReply(shown, target.path, target.dialect, operation)
    }
    await send(request, response, reply, closing).catch(cause => {
      error = cause
      response.destroy()
    })
    logger?.({ method, path: target.path, operation, status: reply.status, error })
  }

  const server = createServer(
    { maxHeaderSize: maxHeaderBytes, keepAliveTimeout: keepAliveMs, requestTimeout: requestMs },
    (request, response) => {
      const answered = answer(request, response)
        .catch(() => response.destroy())
        .finally(() => answering.delete(request))
      answering.set(request, { request, response, answered })
    },
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    void refuse(
      error,
      socket,
      [...answering.values()].filter(({ request }) => request.socket === socket),
    )
  })
  await listen(server, port, host)

  const stop = async () => {
    closing = true
    const closed = new Promise(resolve => server.close(resolve))
    while (answering.size > 0) await Promise.all([...answering.values()].map(({ answered }) => answered))
    server.closeAllConnections()
    await closed
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

/** For the log alone: there is nobody left to tell. */
const clientGone = invalidInput('the client did not wait for the reply', { status: 499 })

/** Aborted when the client goes away before its reply is out. */
function untilGone(request: IncomingMessage, response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (isGone(request, response)) controller.abort()
  else {
    whenGone(request, response).then(() => {
      if (!response.writableFinished) controller.abort()
    })
  }
  return controller.signal
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
