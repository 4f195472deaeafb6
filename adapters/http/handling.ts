/**
 * Handles a request: authenticates and authorizes the caller, reads the request, runs the call, and makes the reply or
 * the error.
 */
import type { IncomingMessage } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { bindToTable } from '../../src/client/bind-to-table.js'
import type { Watch } from '../../src/client/changes.js'
import { ErrorCode, invalidInput, SheafError, unsupported } from '../../src/errors.js'
import type { RootStats } from '../../src/index.js'
import { lazyImport } from '../../src/lazy-import.js'
import {
  type ArrowReply,
  type CallOptions,
  type OperationOptions,
  type Operations,
  parseRequest,
  type ServerCallOptions,
  type UploadLimits,
} from '../../src/protocol/calls.js'
import { columnsInArrow } from '../../src/protocol/columns-in-arrow.js'
import { errorBody } from '../../src/protocol/errors-wire.js'
import { type OperationEntry, type OperationName, operations } from '../../src/protocol/operations.js'
import { readRequest } from '../../src/protocol/wire.js'
import { type Call, carryOut, presentable } from '../calls.js'
import { UploadMemory } from '../upload-memory.js'
import { checkAccepted, isTextForm, type RowForm, rowForms, wantedOf } from './accept.js'
import type { Leave } from './admission.js'
import { blobReply, readRange } from './blob-reply.js'
import type { RequestBody } from './body.js'
import {
  type Caller,
  identityIn,
  readCaller,
  readDatabase,
  readIdentity,
  readKey,
  readRequestId,
  readStaleness,
  resolvePrefixes,
  withHeaders,
} from './caller.js'
import { readChangesUrl } from './changes-url.js'
import type { Databases } from './databases.js'
import { errorIn, mayBeNewer, unknownPath } from './dialect.js'
import { type Asked, Gate } from './gate.js'
import type { Limits } from './limits.js'
import { eventStream } from './media-types.js'
import { namedObjects } from './named-objects.js'
import { NodeClient, type SentParts } from './node-client.js'
import { openApi } from './openapi.js'
import type { ServeOptions } from './options.js'
import type { Particulars } from './particulars.js'
import { errorReply, eventsReply, type HttpReply, jsonReply, successReply, textReply } from './reply.js'
import { basePathOf, readQuery, type Target } from './request.js'
import type { Found } from './routes.js'
import { readRowsUrl } from './rows-url.js'
import { withoutLocation } from './stored-rows.js'
import { type UploadForm, uploadForm } from './upload-form.js'

/**
 * Bytes up to which an answer is collected before it is sent, so that the reply has a length and any error becomes the
 * reply. With HTTP 1.0 all answers are collected: it has no chunks, so a client could not distinguish the end of a
 * reply from a lost connection.
 */
const gatheredBytes = 16 << 20

/** Bytes of text rows that are collected before they are sent, so that an error in these rows becomes the reply. */
const gatheredTextBytes = 1 << 20

/** The longest time in which a stream of changes sends no bytes, milliseconds. Proxies end connections that are idle for longer. */
const keepAliveMs = 15_000

const importChangeEvents = lazyImport(() => import('./change-events.js'))
const importRowsIn = lazyImport(() => import('./rows-in.js'))
const importRowsOut = lazyImport(() => import('./rows-out.js'))

/** The forms of rows in order of preference, for the route that takes a plain URL. */
const textFirst: readonly RowForm[] = ['json', 'ndjson', 'csv', 'stream', 'file']

/** One namespace that answers all requests, also requests that name a database. */
export interface Served {
  readonly operations: Operations
  /**
   * Return the current id of the table at a location. For a deregistered table, return the last id that it had
   * (`Namespace.tableAt`). Without this function, a server with `authorize` refuses `registerTable`.
   */
  readonly tableAt?:
    | ((location: string, options?: CallOptions) => Promise<readonly string[] | null>)
    | undefined
  /**
   * Yield at once, and after every commit of any process (`Namespace.watch`). Without this function, and if it throws
   * Unsupported, streams of changes poll.
   */
  readonly watch?: ((options?: CallOptions) => AsyncIterable<unknown>) | undefined
  /**
   * Return statistics of the root, which `/metrics` shows. May throw if the engine runs in another thread or process.
   */
  readonly stats?: (() => RootStats) | undefined
}

/** The members of a namespace that calls use. */
type ServedDatabase = Pick<Served, 'operations' | 'tableAt' | 'watch'>

/** A request, and the functions that connect its handling to the server. */
interface Arrival {
  readonly request: IncomingMessage
  readonly body: RequestBody
  readonly target: Target
  readonly found: Found
  /**
   * Return the signal of the call. It aborts a read when the client is gone, and any call when its time is over. A
   * write is no longer aborted once its commit has begun.
   */
  readonly signal: (access: OperationEntry['access']) => AbortSignal | undefined
  /** End of the time of the call, in milliseconds of `performance.now()`. */
  readonly endsAt: number
  /**
   * Take a place for the call until its reply is sent. `principal`: the name of the caller; undefined without `auth`.
   * Throws ServiceUnavailable if all places are taken, and Throttling if this caller has too many calls in progress.
   */
  readonly admit: (principal: string | undefined) => undefined
  /**
   * Take a place while the server reads a body that may contain the credentials. The returned function frees the place.
   * Throws the same errors as `admit`.
   */
  readonly admitUnidentified: () => Leave
  /**
   * Continue as a stream, without a time limit. The stream takes the place of a stream instead of the place of a call.
   * Returns a signal that fires when the client is gone (`gone`), when the server closes, and when the reply is sent.
   * Throws the same errors as `admit`.
   */
  readonly becomeStream: (principal: string | undefined, gone: AbortSignal) => AbortSignal
  /** Whether the server is closing. */
  readonly isClosing: () => boolean
  /** Note an error that occurs after the status of the reply is sent. */
  readonly failed: (cause: unknown) => void
  /** Return a promise that resolves when the reply is sent or the client is gone. */
  readonly ended: () => Promise<void>
  /** Facts about the request. The handling sets them as soon as it knows them. */
  readonly particulars: Particulars
}

/** A call with the additional options that only a server may set. */
interface ServerCall extends Call {
  readonly options: ServerCallOptions
  /** The form in which the client sends rows. Undefined if the operation takes no rows. */
  readonly form: UploadForm | undefined
}

/** The operations whose work other nodes may share. */
const searches: ReadonlySet<OperationName> = new Set([
  'queryTable',
  'explainTableQueryPlan',
  'analyzeTableQueryPlan',
])

/** Limits for a JSON body that the server reads to find the credentials of the caller. */
const ofUnidentified = { maxBytes: 1 << 20, withinMs: 10_000 }

/** Runs the calls of requests on `served`. */
export class Handling {
  readonly #served: Served | Databases
  readonly #limits: Limits
  readonly #gate: Gate
  readonly #contextPrefixes: readonly string[]
  readonly #uploads: UploadMemory
  readonly #nodes: NodeClient | undefined

  private constructor(
    served: Served | Databases,
    limits: Limits,
    gate: Gate,
    contextPrefixes: readonly string[],
    nodes: NodeClient | undefined,
  ) {
    this.#served = served
    this.#limits = limits
    this.#gate = gate
    this.#contextPrefixes = contextPrefixes
    this.#nodes = nodes
    this.#uploads = new UploadMemory(limits.uploadBytes)
  }

  /** Create the `Handling` of a server. Throws InvalidInput for invalid options. */
  static async open(
    served: Served | Databases,
    { auth, authorize, contextPrefixes, balancer }: ServeOptions,
    limits: Limits,
  ): Promise<Handling> {
    const prefixes = resolvePrefixes(contextPrefixes)
    const nodes = balancer === undefined ? undefined : new NodeClient(balancer)
    return new Handling(served, limits, await Gate.open(auth, authorize), prefixes, nodes)
  }

  /** Return the reply to a request. Throws the error that the client gets. */
  async reply(arrival: Arrival): Promise<HttpReply> {
    const { request, target, found, particulars } = arrival
    const caller = readCaller(request.headers, this.#contextPrefixes)
    particulars.requestId = readRequestId(request.headers)
    particulars.context = caller.context
    particulars.database = readDatabase(request.headers)
    if (found.kind === 'operation') return this.#call(arrival, found, caller)
    if (found.kind === 'changes') return this.#changes(arrival, found.segments, caller)
    particulars.principal = await this.#gate.admit(caller.identity)
    switch (found.kind) {
      case 'unknown':
        if (target.route === '/openapi.json') return jsonReply(200, openApi(basePathOf(target)))
        if (request.method === 'GET' && (target.route === '/' || target.route === ''))
          return jsonReply(200, about(target.path.replace(/\/$/, '')))
        throw unknownPath(target.path, target.dialect)
      case 'unserved':
        throw unsupported(`this server does not support ${request.method} ${target.path}`)
      case 'wrong-method': {
        const error = unsupported(`${target.path} does not support the method ${request.method}`, {
          status: 405,
        })
        const allow = ['allow', found.allowed.join(', ')]
        return errorReply(error, target.path, target.dialect, undefined, allow)
      }
    }
  }

  /** The parts of searches that were sent to other nodes. Undefined if the server searches alone. */
  get parts(): SentParts | undefined {
    return this.#nodes?.parts
  }

  /** Close the connections to other nodes. */
  close(): void {
    this.#nodes?.close()
  }

  /** Authenticate a request that is not a call. Only its header is read. Throws Unauthenticated. */
  async admit({ headers }: IncomingMessage, particulars: Particulars): Promise<void> {
    particulars.principal = await this.#gate.admit(readIdentity(headers))
  }

  /** Authenticate the caller, read the request, run the call, and make its reply. */
  async #call(
    arrival: Arrival,
    { name, segments, isRows }: Found & { readonly kind: 'operation' },
    caller: Caller,
  ): Promise<HttpReply> {
    const { request, target, particulars } = arrival
    const entry: OperationEntry = operations[name]
    const signal = arrival.signal(entry.access)
    const identified = await this.#identified(arrival, entry, caller, signal)
    const { identity } = identified
    this.#gate.allowDatabase(particulars.principal, particulars.database ?? this.#defaultDatabase)

    // Determine the form of the reply before the call runs. Otherwise a write would commit although the client cannot
    // read the reply.
    const isBlob = segments.row_id !== undefined
    const isNewer = mayBeNewer(request.headers['user-agent'])
    const url = isRows ? rowsUrlOf(identified) : undefined
    const takesText = entry.rowsAsText === true
    const wanted = isBlob
      ? undefined
      : wantedOf(request, entry, {
          order: isRows ? textFirst : rowForms,
          form: url?.form,
          takesText,
          // Clients generated from the specification accept only JSON here, but can read Arrow.
          jsonIsArrow: !takesText || (isNewer && !isRows),
        })
    const form = entry.body === 'arrow' ? uploadForm(request.headers['content-type']) : undefined
    const { context, table } = caller
    const skips = entry.unknownNames === 'skipped' && isNewer
    const skipped: string[] | undefined = skips ? [] : undefined
    particulars.skipped = skipped
    const { query, body } = url === undefined ? identified : { query: url.query, body: url.fields }
    const fields = readRequest(entry, { segments, query, body }, skipped)
    const range = isBlob ? readRange(request.headers.range) : undefined
    Object.assign(fields, range)
    if (identity !== undefined) fields.identity = identity
    if (context !== undefined) fields.context = context
    const memory = entry.body === 'arrow' ? this.#uploads.account() : undefined
    // Keep this one literal without a spread. With a spread, a call without rows takes 8 % longer.
    const options: ServerCallOptions = {
      identity,
      context,
      idempotencyKey: readKey(request.headers, name, particulars.principal?.name),
      table: entry.target === 'table' ? table : undefined,
      maxStalenessMs: readStaleness(request.headers),
      dialect: target.dialect,
      signal,
      maxMessageBytes: this.#limits.messageBytes,
      streamAfter: request.httpVersion !== '1.0' && !isBlob ? gatheredBytes : undefined,
      skipped,
      memory,
      uploadLimits: this.#uploadLimits(request, particulars),
      nodes: searches.has(name) ? this.#nodes?.sender(request.headers, identity, arrival.endsAt) : undefined,
    }
    const upload = memory && arrival.body.chunks(signal)
    const work = this.#allowedResult(arrival, { name, request: fields, body: upload, form, options })
    const result = await work.finally(() => memory?.close())
    if (isBlob) return blobOf(result as ArrowReply, range, name, target)
    if (takesText && isTextForm(wanted!.form)) {
      const text = await importRowsOut()
      const gathered = request.httpVersion === '1.0' ? Number.POSITIVE_INFINITY : gatheredTextBytes
      const rows = await text.textRows(result as ArrowReply, wanted!.form, gathered, signal)
      return textReply((result as ArrowReply).version, rows, wanted!)
    }
    const shown = withoutLocation(name, result, target.dialect, request.headers)
    return successReply(name, shown, target.dialect, wanted!, signal)
  }

  /** Open the change feed of a table as a stream of events. The caller needs the permission to query the table. */
  async #changes(
    arrival: Arrival,
    segments: Readonly<Record<string, string>>,
    caller: Caller,
  ): Promise<HttpReply> {
    const { request, target, particulars } = arrival
    const name = 'queryTable'
    const gone = arrival.signal('read')!
    const { identity, query, body } = await this.#identified(arrival, operations[name], caller, gone)
    this.#gate.allowDatabase(particulars.principal, particulars.database ?? this.#defaultDatabase)
    checkAccepted(request.headers.accept, eventStream)
    refuseBody(body)
    const lastEventId = request.headers['last-event-id'] as string | undefined
    const { query: parameters, since, rows } = readChangesUrl(query, lastEventId)
    const fields = readRequest(operations[name], {
      segments,
      query: parameters,
      body: { vector: null, k: 0 },
    })
    const { context, table } = caller
    if (identity !== undefined) fields.identity = identity
    if (context !== undefined) fields.context = context
    const { id } = parseRequest(name, fields, {}) as { readonly id: readonly string[] }
    const call = { identity, context, signal: gone }
    const asks = this.#gate.authorizes ? asking(request, name, fields, particulars, call) : undefined
    if (asks !== undefined) await this.#gate.allow(namedObjects(name, asks.request), identity, asks.asked)

    const open = async (served: ServedDatabase): Promise<HttpReply> => {
      const described = await served.operations.describeTable({ id }, { ...call, table })
      const bound = bindToTable(served.operations, described.uuid!)
      if (asks !== undefined && table !== undefined) await this.#allowPresentName(bound, name, asks, call)
      const signal = arrival.becomeStream(particulars.principal?.name, gone)
      const feed = {
        operations: bound,
        id,
        watch: watchOf(served),
        since: since ?? described.version ?? 0,
        rows,
        call: { ...call, signal },
        checkAllowed: async () => {
          // A token may have expired since the stream began.
          await this.#gate.admit(identity)
          if (asks !== undefined) await this.#allowPresentName(bound, name, asks, { ...call, signal })
        },
      }
      const { openChanges } = await importChangeEvents()
      const events = await openChanges(feed, {
        keepAliveMs: Math.min(keepAliveMs, this.#limits.pauseMs / 2),
        isClosing: arrival.isClosing,
        failed: cause => {
          arrival.failed(cause)
          const shown = presentable(asks === undefined ? cause : withoutNames(cause))
          const { error, status } = errorIn(target.dialect, shown, name)
          return { name: error.name, ...errorBody(error, target.path, status) }
        },
      })
      return eventsReply(request.method === 'HEAD' ? noBytes() : events, signal)
    }
    try {
      return await this.#use(particulars.database, arrival.ended, open)
    } catch (cause) {
      if (arrival.isClosing()) {
        throw new SheafError(ErrorCode.ServiceUnavailable, 'the server is closing', { cause })
      }
      throw asks === undefined ? cause : withoutNames(cause)
    }
  }

  /**
   * Take a place for the call, authenticate the caller by the header or by the body, and read the body unless it is an
   * upload.
   */
  async #identified(
    { body: sent, target, admit, admitUnidentified, particulars }: Arrival,
    entry: OperationEntry,
    caller: Caller,
    signal: AbortSignal | undefined,
  ): Promise<{
    readonly identity: Caller['identity']
    readonly query: URLSearchParams
    readonly body: unknown
  }> {
    const takesUpload = entry.body === 'arrow'
    // A JSON body may contain credentials. They are used only if the header has none.
    const isUnidentified = this.#gate.authenticates && caller.identity === undefined
    const mayBeInBody = !takesUpload && entry.bare === undefined && sent.isJson
    if (caller.identity !== undefined || !mayBeInBody)
      particulars.principal = await this.#gate.admit(caller.identity)
    const leave = isUnidentified ? admitUnidentified() : admit(particulars.principal?.name)
    let { identity } = caller
    let query: URLSearchParams
    let body: unknown
    try {
      signal?.throwIfAborted()
      query = readQuery(target.query)
      if (!takesUpload) {
        const limits = isUnidentified ? ofUnidentified : undefined
        body = await sent.json(signal, { ...limits, fromArrow: entry.takesSchema && columnsInArrow })
      }
      if (entry.bare === undefined) identity ??= identityIn(body)
      if (isUnidentified) particulars.principal = await this.#gate.admit(identity)
    } finally {
      leave?.()
    }
    if (isUnidentified) admit(particulars.principal?.name)
    return { identity, query, body }
  }

  /** Call `authorize` for the objects that a call names, then run the call. */
  async #allowedResult({ request, ended, particulars }: Arrival, call: ServerCall): Promise<unknown> {
    const { name, request: fields, options } = call
    const asks = this.#gate.authorizes ? asking(request, name, fields, particulars, options) : undefined
    if (asks !== undefined)
      await this.#gate.allow(namedObjects(name, asks.request), options.identity, asks.asked)
    return this.#use(particulars.database, ended, served => {
      const ready = withArrow(served.operations, call)
      return asks === undefined
        ? carryOut(served.operations, ready)
        : this.#carryOutAllowed(served, ready, asks)
    })
  }

  #uploadLimits({ socket }: IncomingMessage, { principal }: Particulars): UploadLimits {
    const { openUploads: open, openUploadBytes: bytes, openUploadMs: ageMs } = this.#limits
    const caller = principal === undefined ? `address ${socket.remoteAddress}` : `principal ${principal.name}`
    return { caller, open, bytes, ageMs }
  }

  get #defaultDatabase(): string | undefined {
    return 'use' in this.#served ? this.#served.default : undefined
  }

  /** Run `work` on a database. If the reply is streamed, the database stays in use until the last rows are sent. */
  #use<T>(
    database: string | undefined,
    replied: () => Promise<void>,
    work: (served: ServedDatabase) => Promise<T>,
  ): Promise<T> {
    const served = this.#served
    if (!('use' in served)) return work(served)
    return new Promise((resolve, reject) => {
      const used = served.use(database, async (operations, namespace) => {
        const tableAt: Served['tableAt'] = (location, options) => namespace.tableAt(location, options)
        const watch: Served['watch'] = options => namespace.watch(options)
        const result = await work({ operations, tableAt, watch })
        resolve(result)
        if (isStreamed(result)) await replied()
      })
      used.catch(reject)
    })
  }

  /**
   * Run a call whose named objects are allowed. Two cases need a further check of `authorize`: the call refers to a
   * table by its UUID and the table has another name now, or the call registers a table that had another name.
   */
  async #carryOutAllowed(served: ServedDatabase, call: Call, asks: Asks): Promise<unknown> {
    const { request, asked } = asks
    const target = served.operations
    const { table, signal, identity } = call.options
    try {
      if (call.name === 'registerTable') {
        if (served.tableAt === undefined) {
          throw unsupported(
            'registerTable needs tableAt: without it, the former name of the table cannot be authorized',
          )
        }
        const { id, location } = request as { readonly id: readonly string[]; readonly location: string }
        const known = await served.tableAt(location, { signal })
        const former = known === null ? [] : [{ operation: call.name, id: known, shown: id }]
        await this.#gate.allow(former, identity, asked)
      }
      if (table !== undefined) {
        const options = { table, signal, identity }
        await this.#allowPresentName(target, call.name, asks, options)
      }
      return await carryOut(target, call)
    } catch (cause) {
      throw withoutNames(cause)
    }
  }

  /** Ask `authorize` for the name that a table has now, if the caller named the table by another name. */
  async #allowPresentName(
    target: Operations,
    name: OperationName,
    { request, asked }: Asks,
    { table, signal, identity }: OperationOptions,
  ): Promise<void> {
    const { id } = request as { readonly id: readonly string[] }
    const { namespace, table: last } = await target.describeTable({ id }, { table, signal })
    const now = [...namespace!, last!]
    if (isDeepStrictEqual(now, id)) return
    await this.#gate.allow(namedObjects(name, { ...request, id: now }), identity, asked)
  }
}

/** Return the body of the reply to `GET /`: the addresses of the API description, the tables and the documentation. */
function about(basePath: string) {
  return {
    name: 'sheaf',
    openapi: `${basePath}/openapi.json`,
    tables: `${basePath}/v1/table`,
    rows: `${basePath}/v1/table/{id}/rows`,
    changes: `${basePath}/v1/table/{id}/changes`,
    health: `${basePath}/healthz`,
    docs: 'node_modules/sheaf/docs/http.md',
  }
}

function blobOf(
  result: ArrowReply,
  range: Parameters<typeof blobReply>[1],
  name: OperationName,
  { path, dialect }: Target,
): HttpReply {
  return blobReply(result, range, (error, headers) => errorReply(error, path, dialect, name, headers))
}

/** Return the call with an Arrow body, converted from the form in which the client sends rows. */
function withArrow(target: Operations, call: ServerCall): Call {
  const { form, body } = call
  if (form === undefined || form === 'arrow') return call
  async function* arrow(): AsyncGenerator<Uint8Array> {
    const { arrowOf } = await importRowsIn()
    yield* arrowOf(target, form as Exclude<UploadForm, 'arrow'>, body as AsyncIterable<Uint8Array>, call)
  }
  return { ...call, body: arrow() }
}

/** Read the request in a URL. */
function rowsUrlOf({ query, body }: { readonly query: URLSearchParams; readonly body: unknown }) {
  refuseBody(body)
  return readRowsUrl(query)
}

/** Throw InvalidInput for a body of a route whose request is its URL: the body would be ignored. */
function refuseBody(body: unknown): void {
  if (body === undefined) return
  throw invalidInput('this route takes no body', { hint: 'use query parameters, or POST .../query' })
}

/** Return how to watch for commits; undefined if the server must poll. */
function watchOf(served: ServedDatabase): Watch | undefined {
  try {
    // This only tells whether watching is possible: an iterable that is not read does nothing.
    if (served.watch?.() === undefined) return undefined
  } catch (cause) {
    if (cause instanceof SheafError && cause.code === ErrorCode.Unsupported) return undefined
    throw cause
  }
  return options => served.watch!(options)
}

async function* noBytes(): AsyncGenerator<Uint8Array> {}

function isStreamed(result: unknown): boolean {
  return (result as Partial<ArrowReply> | undefined)?.rest !== undefined
}

/** The request, and the facts about it that `authorize` gets. */
interface Asks {
  /** The request in its normal form. */
  readonly request: Readonly<Record<string, unknown>>
  readonly asked: Asked
}

function asking(
  { headers }: IncomingMessage,
  name: OperationName,
  fields: Readonly<Record<string, unknown>>,
  { principal, database }: Particulars,
  { skipped }: ServerCallOptions,
): Asks {
  // Ignore skipped names here, because they are recorded when the call runs.
  const request = parseRequest(name, fields, { skipped: skipped && [] }) as Asks['request']
  let context: Asked['context'] | undefined
  const asked: Asked = {
    principal,
    database,
    get context() {
      context ??= withHeaders((request.context ?? {}) as Asked['context'], headers)
      return context
    },
  }
  return { request, asked }
}

/**
 * Remove the hint of a TableNotFound error, because it may contain the name of a table that the caller may not see.
 * Other errors are returned unchanged.
 */
function withoutNames(cause: unknown): unknown {
  if (!(cause instanceof SheafError && cause.code === ErrorCode.TableNotFound)) return cause
  const { code, message, status, kind } = cause
  return new SheafError(code, message, { status, kind, cause })
}
