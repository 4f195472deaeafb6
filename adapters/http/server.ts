/**
 * Serves the operations over HTTP. The table of operations (`protocol/operations.ts`) defines the path, query, body and
 * reply of each operation. This file contains only the HTTP part.
 *
 * - No request can end the process. The body of every error is a JSON object.
 * - `limits.ts` limits the resources of a request, and the time for which a client may keep the server waiting.
 * - When a client disconnects, its read is aborted, but its write continues: whether a write commits must not depend on
 *   how long its client waits.
 * - If the connection ends during an upload, the upload fails. It is never taken for a shorter upload.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { invalidInput, quote } from '../../src/errors.js'
import { loadAll } from '../../src/lazy-import.js'
import { systemClock } from '../../src/primitives/clock.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { Admission } from './admission.js'
import { Answer, type Answering } from './answer.js'
import type { Databases } from './databases.js'
import { fetchOver } from './fetch-over.js'
import { checkBinding, checkGrants } from './gate.js'
import { Handling, type Served } from './handling.js'
import { resolveLimits } from './limits.js'
import { Listener } from './listener.js'
import { Metrics } from './metrics.js'
import {
  type HandlerOptions,
  handlerShape,
  type RequestRecord,
  type ServeOptions,
  serveShape,
} from './options.js'
import { Pages } from './pages.js'
import { prewarmTables } from './prewarm.js'
import { tracedAnswer } from './traced-answer.js'

export interface HttpServer {
  /** URL of the server, with the base path. */
  readonly url: string
  /**
   * Let `/readyz` answer 503 for `drainMs`. Then accept no more connections, and end the open streams of changes. Resolves
   * when all requests that have begun are answered.
   */
  close(): Promise<void>
}

/**
 * Serve one namespace, or many `databases`. Closing the server does not close the namespace or the databases.
 *
 * Throws InvalidInput for invalid options, and if other machines can reach the address but neither `auth` nor
 * `allowAnonymous` is set. Throws ServiceUnavailable if the server cannot listen on the address.
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
  checkServed('serve', served)
  const options = parse(serveShape, given, 'serve')
  const { port = 2333, host = '127.0.0.1' } = options
  checkBinding(host, options)
  const server = await openParts(served, options, host)
  await server.listener.listen(port, host)
  return { url: server.listener.url + server.basePath, close: () => server.close() }
}

export interface HttpHandler {
  /**
   * Answer a request of a server of `node:http`, Express or Fastify. Resolves when the reply is sent. Never rejects.
   */
  node(request: IncomingMessage, response: ServerResponse): Promise<void>
  /**
   * Answer a request of the Fetch standard. Rejects with `request.signal.reason` if the signal aborts, and with
   * ServiceUnavailable if the connection ends before the head of the reply.
   */
  fetch(request: Request): Promise<Response>
  /**
   * Let `/readyz` answer 503 for `drainMs`. Then end the open streams of changes. Resolves when all requests that have
   * begun are answered.
   */
  close(): Promise<void>
}

/**
 * Serve a namespace, or many `databases`, inside the server of an application. Closing the handler does not close the
 * namespace or the databases.
 *
 * Throws InvalidInput for invalid options, and if neither `auth` nor `allowAnonymous` is set, because other machines
 * may reach the application.
 *
 * ```js
 * const sheaf = await handler(ns, { basePath: '/db', auth: { apiKeys } })
 * createServer((req, res) => (req.url.startsWith('/db/') ? sheaf.node(req, res) : app(req, res))).listen(8080)
 * ```
 */
export async function handler(served: Served | Databases, options?: HandlerOptions): Promise<HttpHandler>
export async function handler(
  served: Served | Databases,
  given: HandlerOptions = {},
  ...more: readonly unknown[]
): Promise<HttpHandler> {
  refuseMore('handler', 2, more)
  checkServed('handler', served)
  const options = parse(handlerShape, given, 'handler')
  if (options.auth === undefined && options.allowAnonymous !== true) {
    throw invalidInput('without auth, every caller of the application could do everything', {
      hint: 'set auth, or set allowAnonymous: true if the application checks its callers',
    })
  }
  if (options.limits?.connections !== undefined) {
    throw invalidInput(
      'handler: limits.connections has no effect, because the application owns the connections',
    )
  }
  const server = await openParts(served, options, '127.0.0.1')
  const { listener } = server
  return {
    node: (request, response) => listener.take(request, response),
    fetch: request => fetchOver(request, socket => listener.connect(socket)),
    close: () => server.close(),
  }
}

/** Create the parts of a server. `options`: already checked. */
async function openParts(
  served: Served | Databases,
  options: HandlerOptions,
  host: string,
): Promise<ServerParts> {
  checkGrants('use' in served, options)
  if (options.prewarm !== undefined && 'use' in served) {
    throw invalidInput(
      'prewarm cannot be used with databases, because a database opens when a request names it',
    )
  }
  const pages = new Pages(host, options)
  const limits = resolveLimits(options.limits ?? {})
  // Load all modules now, because a newer version of the package may be installed over this one while the server runs.
  await loadAll()
  const handling = await Handling.open(served, options, limits)
  return new ServerParts(served, options, { pages, limits, handling })
}

/** The parts of a server, and the connections between them. */
class ServerParts implements Answering {
  readonly basePath: string
  readonly limits: Answering['limits']
  readonly pages: Pages
  readonly handling: Handling
  readonly admission: Admission
  readonly system: Answering['system']
  readonly listener: Listener
  readonly #metrics = new Metrics()
  readonly #closing = new AbortController()
  readonly #logger: ServeOptions['logger']
  readonly #drainMs: number
  #isDraining = false
  #isWarming = false
  #closed: Promise<void> | undefined

  constructor(
    served: Served | Databases,
    { basePath = '', logger, tracing, drainMs = 0, prewarm }: ServeOptions,
    { pages, limits, handling }: Pick<Answering, 'pages' | 'limits' | 'handling'>,
  ) {
    this.basePath = `/${basePath}`.replace(/\/+/g, '/').replace(/\/$/, '')
    this.limits = limits
    this.pages = pages
    this.handling = handling
    this.admission = new Admission(limits)
    this.#logger = logger
    this.#drainMs = drainMs
    const listener = new Listener(limits, {
      answer: (request, response, expects) => {
        const answer = new Answer(this, request, response, expects)
        return tracing === undefined ? answer.run() : tracedAnswer(tracing, answer, response)
      },
      refused: (error, durationMs, bytesOut) =>
        this.log({ method: '', path: '', status: error.status, durationMs, bytesIn: 0, bytesOut, error }),
      dropped: () => this.#metrics.countConnectionRefused(),
    })
    this.listener = listener
    this.system = {
      operations: 'operations' in served ? served.operations : null,
      isClosing: () => this.#isDraining,
      isWarming: () => this.#isWarming,
      metrics: () =>
        this.#metrics.text({
          inFlight: this.admission.inFlight,
          streams: this.admission.streams,
          connections: listener.connections,
          stats: statsOf(served),
          parts: handling.parts,
        }),
    }
    if (prewarm !== undefined && 'operations' in served) {
      this.#isWarming = true
      void prewarmTables(served, prewarm, () => this.#isDraining).finally(() => {
        this.#isWarming = false
      })
    }
  }

  /** Count and log a request. Ignores errors of the logger, so that they do not fail the request. */
  log(record: RequestRecord): void {
    this.#metrics.count(record)
    const logger = this.#logger
    try {
      logger?.(record)
    } catch {}
  }

  get closing(): AbortSignal {
    return this.#closing.signal
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#isDraining = true
    if (this.#drainMs > 0) await systemClock.sleep(this.#drainMs, undefined, true)
    this.#closing.abort()
    await this.listener.close()
    this.handling.close()
    this.#metrics.close()
  }
}

function checkServed(caller: string, served: unknown): void {
  const isThere = typeof served === 'object' && served !== null
  if (isThere && ('use' in served || ('operations' in served && typeof served.operations === 'object')))
    return
  throw invalidInput(`${caller} takes a namespace or the result of databases(), got ${quote(served)}`, {
    hint: typeof served === 'string' ? `open it first: ${caller}(await connect(path))` : undefined,
  })
}

/** Return the statistics of the root, or undefined if the engine runs in another thread or process. */
function statsOf(served: Served | Databases): ReturnType<NonNullable<Served['stats']>> | undefined {
  if (!('stats' in served)) return undefined
  try {
    return served.stats?.()
  } catch {
    return undefined
  }
}
