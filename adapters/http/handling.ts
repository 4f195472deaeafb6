/**
 * Handles a request: authenticates and authorizes the caller, reads the request, runs the call, and makes the reply or
 * the error.
 */
import type { IncomingMessage } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { ErrorCode, invalidInput, SheafError, unsupported } from '../../src/errors.js'
import type { RootStats } from '../../src/index.js'
import { lazyImport } from '../../src/lazy-import.js'
import {
  type ArrowReply,
  type CallOptions,
  type Operations,
  parseRequest,
  type ServerCallOptions,
  type UploadLimits,
} from '../../src/protocol/calls.js'
import { columnsInArrow } from '../../src/protocol/columns-in-arrow.js'
import { type OperationEntry, type OperationName, operations } from '../../src/protocol/operations.js'
import { readRequest } from '../../src/protocol/wire.js'
import { type Call, carryOut } from '../calls.js'
import { UploadMemory } from '../upload-memory.js'
import { isTextForm, type RowForm, rowForms, wantedOf } from './accept.js'
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
  resolvePrefixes,
  withHeaders,
} from './caller.js'
import type { Databases } from './databases.js'
import { mayBeNewer, unknownPath } from './dialect.js'
import { type Asked, Gate } from './gate.js'
import type { Limits } from './limits.js'
import { namedObjects } from './named-objects.js'
import { openApi } from './openapi.js'
import type { ServeOptions } from './options.js'
import type { Particulars } from './particulars.js'
import { errorReply, type HttpReply, jsonReply, successReply, textReply } from './reply.js'
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
   * Return statistics of the root, which `/metrics` shows. May throw if the engine runs in another thread or process.
   */
  readonly stats?: (() => RootStats) | undefined
}

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

/** Limits for a JSON body that the server reads to find the credentials of the caller. */
const ofUnidentified = { maxBytes: 1 << 20, withinMs: 10_000 }

/** Runs the calls of requests on `served`. */
export class Handling {
  readonly #served: Served | Databases
  readonly #limits: Limits
  readonly #gate: Gate
  readonly #contextPrefixes: readonly string[]
  readonly #uploads: UploadMemory

  private constructor(
    served: Served | Databases,
    limits: Limits,
    gate: Gate,
    contextPrefixes: readonly string[],
  ) {
    this.#served = served
    this.#limits = limits
    this.#gate = gate
    this.#contextPrefixes = contextPrefixes
    this.#uploads = new UploadMemory(limits.uploadBytes)
  }

  /** Create the `Handling` of a server. Throws InvalidInput for invalid options. */
  static async open(
    served: Served | Databases,
    { auth, authorize, contextPrefixes }: ServeOptions,
    limits: Limits,
  ): Promise<Handling> {
    const prefixes = resolvePrefixes(contextPrefixes)
    return new Handling(served, limits, await Gate.open(auth, authorize), prefixes)
  }

  /** Return the reply to a request. Throws the error that the client gets. */
  async reply(arrival: Arrival): Promise<HttpReply> {
    const { request, target, found, particulars } = arrival
    const caller = readCaller(request.headers, this.#contextPrefixes)
    particulars.requestId = readRequestId(request.headers)
    particulars.context = caller.context
    particulars.database = readDatabase(request.headers)
    if (found.kind === 'operation') return this.#call(arrival, found, caller)
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
      dialect: target.dialect,
      signal,
      maxMessageBytes: this.#limits.messageBytes,
      streamAfter: request.httpVersion !== '1.0' && !isBlob ? gatheredBytes : undefined,
      skipped,
      memory,
      uploadLimits: this.#uploadLimits(request, particulars),
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
    if (caller.identity !== undefined || takesUpload || entry.bare !== undefined)
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
  #use(
    database: string | undefined,
    replied: () => Promise<void>,
    work: (served: Pick<Served, 'operations' | 'tableAt'>) => Promise<unknown>,
  ): Promise<unknown> {
    const served = this.#served
    if (!('use' in served)) return work(served)
    return new Promise((resolve, reject) => {
      const used = served.use(database, async (operations, namespace) => {
        const tableAt: Served['tableAt'] = (location, options) => namespace.tableAt(location, options)
        const result = await work({ operations, tableAt })
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
  async #carryOutAllowed(
    served: Pick<Served, 'operations' | 'tableAt'>,
    call: Call,
    { request, asked }: Asks,
  ): Promise<unknown> {
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
        const { id } = request as { readonly id: readonly string[] }
        const { namespace, table: last } = await target.describeTable({ id }, { table, signal })
        const now = [...namespace!, last!]
        if (!isDeepStrictEqual(now, id))
          await this.#gate.allow(namedObjects(call.name, { ...request, id: now }), identity, asked)
      }
      return await carryOut(target, call)
    } catch (cause) {
      throw withoutNames(cause)
    }
  }
}

/** Return the body of the reply to `GET /`: the addresses of the API description, the tables and the documentation. */
function about(basePath: string) {
  return {
    name: 'sheaf',
    openapi: `${basePath}/openapi.json`,
    tables: `${basePath}/v1/table`,
    rows: `${basePath}/v1/table/{id}/rows`,
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

/**
 * Read the request of a route that takes a plain URL. Throws InvalidInput if the request has a body, because the body
 * would have no effect.
 */
function rowsUrlOf({ query, body }: { readonly query: URLSearchParams; readonly body: unknown }) {
  if (body !== undefined) {
    throw invalidInput('this route takes no body', { hint: 'use query parameters, or POST .../query' })
  }
  return readRowsUrl(query)
}

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
