/** Opens a namespace of a server over HTTP. Its API is the same as for a namespace in this process. */

import { concatBytes } from '../../src/arrow/concat-bytes.js'
import { type AnyCatalogue, type CatalogueOf, Namespace } from '../../src/client/namespace.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { deadline, orAborted } from '../../src/primitives/abort.js'
import { type Clock, systemClock } from '../../src/primitives/clock.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import type { ArrowReply } from '../../src/protocol/calls.js'
import { errorFrom } from '../../src/protocol/errors-wire.js'
import { readJson } from '../../src/protocol/json.js'
import { type OperationEntry, operations } from '../../src/protocol/operations.js'
import { parse } from '../../src/protocol/parse.js'
import {
  callback,
  options as declare,
  either,
  integer,
  oneOf,
  record,
  string,
  withHints,
} from '../../src/protocol/shape.js'
import { readReply, writeRequest } from '../../src/protocol/wire.js'
import { type Call, remoteOperations } from '../calls.js'
import { type Caller, checkHeaders, writeCaller } from './caller.js'
import { bodyFrom, pathIn } from './dialect.js'
import { longestTimerMs } from './events.js'
import { HttpConnection, type Incoming } from './exchange.js'
import { arrowStream } from './media-types.js'
import { ReplayedBody } from './replayed.js'
import { tableVersion } from './reply.js'
import { sheafClient } from './stored-rows.js'

/** Header fields by name. */
type HeaderRecord = Readonly<Record<string, string>>

export interface ConnectHttpOptions {
  /**
   * Header fields to send with every request, or a function that returns them. The function is called before each
   * request, also before a repeated one, so it can refresh a token. If the function throws, the call throws the same
   * error.
   */
  readonly headers?: HeaderRecord | (() => HeaderRecord | Promise<HeaderRecord>) | undefined
  /**
   * Maximum number of times that a call is sent again after a lost connection, or after the status 429, 502, 503 or
   * 504. Default 0. Applies to reads, and to writes with `idempotencyKey`. Rows are sent again only if at most 16 MiB
   * of them were sent.
   */
  readonly retries?: number | undefined
  /**
   * Time limit for a call with all its repetitions, milliseconds. Default: no limit. After this time, the call throws
   * ServiceUnavailable. The error has the kind `commit-state-unknown` if a write was sent completely.
   */
  readonly timeoutMs?: number | undefined
  /**
   * Representation of 64-bit integers in rows: `number` (default; calls throw for values beyond 2^53) or `bigint`. The option `int64` of a
   * call has precedence.
   */
  readonly int64?: 'number' | 'bigint' | undefined
}

const headerRecord = record(string())

const keyHint = "headers: { 'x-api-key': key }"
const tokenHint = "headers: { authorization: 'Bearer ...' }"

export const connectHttpShape = withHints(
  declare<ConnectHttpOptions>()({
    headers: either<NonNullable<ConnectHttpOptions['headers']>>(
      { is: value => typeof value === 'function', shape: callback() },
      { is: () => true, shape: headerRecord },
    ),
    retries: integer(0, 100),
    timeoutMs: integer(1, longestTimerMs),
    int64: oneOf('number', 'bigint'),
  }),
  {
    apiKey: keyHint,
    api_key: keyHint,
    key: keyHint,
    token: tokenHint,
    auth: tokenHint,
    timeout: 'timeoutMs',
  },
)

/**
 * Open the namespace at `url`, which includes the base path of the server. The first call opens the connection.
 *
 * Throws InvalidInput for a text that is not an http or https URL. A call rejects with ServiceUnavailable if it cannot
 * reach the server. If the connection is lost after a write was sent completely, the error has the kind
 * `commit-state-unknown`. The `signal` of a call aborts a read at any time, and a write until it is sent completely.
 *
 * The client waits before it sends a call again: 100 ms at first, then twice as long each time, at most 5 s. The wait
 * is shortened by a random part of at most one half, but is never shorter than `Retry-After`.
 *
 * ```js
 * const ns = connectHttp('http://localhost:2333', { headers: { 'x-api-key': key } })
 * ```
 */
export function connectHttp<C extends object = AnyCatalogue>(
  url: string,
  options: ConnectHttpOptions & { readonly int64: 'bigint' },
): Namespace<CatalogueOf<C, bigint>, bigint>
export function connectHttp<C extends object = AnyCatalogue>(
  url: string,
  options?: ConnectHttpOptions,
): Namespace<CatalogueOf<C, number>>
export function connectHttp(
  url: string,
  options: ConnectHttpOptions = {},
  ...more: readonly unknown[]
): unknown {
  refuseMore('connectHttp', 2, more)
  const { headers = {}, retries = 0, timeoutMs, int64 } = parse(connectHttpShape, options, 'connectHttp')
  if (typeof headers !== 'function') checkHeaders(headers)
  const connection = new HttpConnection(url)
  const sender = new Sender(connection, { headers, retries, timeoutMs }, systemClock)
  const remote = remoteOperations(connection.base, call => sender.send(call))
  const close = async () => {
    await remote.drain()
    connection.close()
  }
  return new Namespace(remote.operations, close, undefined, int64)
}

/** Maximum wait before a call is sent again, and the first wait, milliseconds. */
const longestPauseMs = 5_000
const firstPauseMs = 100

/** Statuses of overloaded servers and of proxies. The same call may succeed later. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504])

interface SenderOptions extends ConnectHttpOptions {
  readonly headers: NonNullable<ConnectHttpOptions['headers']>
  readonly retries: number
}

/** Sends calls as HTTP requests. */
class Sender {
  readonly #connection: HttpConnection
  readonly #options: SenderOptions
  readonly #clock: Clock

  constructor(connection: HttpConnection, options: SenderOptions, clock: Clock) {
    this.#connection = connection
    this.#options = options
    this.#clock = clock
  }

  /** Send a call, and repeat it if the options allow this. Returns its result. */
  async send(call: Call): Promise<unknown> {
    const { timeoutMs } = this.#options
    const { signal } = call.options
    if (timeoutMs === undefined) return this.#repeated(call, undefined, signal)
    const reason = `no reply from ${this.#connection.base} within timeoutMs (${timeoutMs} ms)`
    const { signal: timeout, end } = deadline(this.#clock, timeoutMs, reason, undefined)
    try {
      return await this.#repeated(
        call,
        timeout,
        signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
      )
    } catch (cause) {
      // If no request was running, the rejection is the reason of the signal: the text.
      throw cause === reason ? new SheafError(ErrorCode.ServiceUnavailable, reason) : cause
    } finally {
      end()
    }
  }

  /**
   * Send a call until it has a final reply. `timeout`: aborts when the time limit is over. `either`: aborts with
   * `timeout`, or with the signal of the call.
   */
  async #repeated(
    call: Call,
    timeout: AbortSignal | undefined,
    either: AbortSignal | undefined,
  ): Promise<unknown> {
    const { access }: OperationEntry = operations[call.name]
    const mayRepeat = access === 'read' || call.options.idempotencyKey !== undefined
    const retries = mayRepeat ? this.#options.retries : 0
    const { body } = call
    const replayed =
      retries === 0 || body === undefined || body instanceof Uint8Array ? undefined : new ReplayedBody(body)
    const sent = replayed === undefined ? call : { ...call, body: replayed }
    try {
      for (let tries = 0; ; tries++) {
        const headers = await this.#headers(either)
        const result = await this.#exchange(sent, headers, timeout)
        const isOver = tries === retries || replayed?.canReplay === false || timeout?.aborted === true
        if (result.reply === undefined) {
          if (isOver || !isLost(result.error)) throw result.error
        } else if (isOver || !passing.has(result.reply.status)) {
          return resultOf(this.#connection, call, result.reply)
        }
        await this.#clock.sleep(this.#pauseMs(tries, result.reply), either, true)
      }
    } finally {
      await replayed?.close()
    }
  }

  async #headers(signal: AbortSignal | undefined): Promise<HeaderRecord> {
    const { headers } = this.#options
    if (typeof headers !== 'function') return headers
    const given = await orAborted(headers(), signal)
    const checked = parse(headerRecord, given, 'connectHttp: the result of headers()') as HeaderRecord
    checkHeaders(checked)
    return checked
  }

  #pauseMs(tries: number, reply: Incoming | undefined): number {
    const ms = Math.min(longestPauseMs, firstPauseMs * 2 ** tries) * (1 - this.#clock.random() / 2)
    const asked = Number(reply?.headers['retry-after'])
    return asked > 0 ? Math.max(ms, asked * 1000) : ms
  }

  /** Send one request. If there is no reply, the error is returned instead of thrown. */
  async #exchange(
    { name, request, body, options }: Call,
    headers: HeaderRecord,
    timeout: AbortSignal | undefined,
  ): Promise<
    | { readonly reply: Incoming; readonly error?: undefined }
    | { readonly reply?: undefined; readonly error: unknown }
  > {
    const { signal, identity, context, dialect = 'namespace' } = options
    const entry: OperationEntry = operations[name]
    const wire = writeRequest(entry, request)
    const type = body !== undefined ? arrowStream : wire.body && 'application/json'
    const outgoing = {
      method: wire.method,
      path: pathIn(dialect, wire.path),
      headers: {
        ...headers,
        ...(type && { 'content-type': type }),
        ...sheafClient,
        ...writeCaller({
          ...options,
          identity: identity ?? (request.identity as Caller['identity']),
          context: context ?? (request.context as Caller['context']),
        }),
      },
      body: body ?? wire.body,
      access: entry.access,
      signal,
      timeout,
    }
    try {
      return { reply: await this.#connection.exchange(outgoing) }
    } catch (error) {
      return { error }
    }
  }
}

/** Return whether an error means that the connection failed or no reply arrived. */
function isLost(error: unknown): boolean {
  return error instanceof SheafError && error.code === ErrorCode.ServiceUnavailable
}

function resultOf(connection: HttpConnection, { name, options }: Call, reply: Incoming): unknown {
  const { dialect = 'namespace' } = options
  const entry: OperationEntry = operations[name]
  if (reply.status >= 300) throw errorOf(connection, entry, errorFrom(reply.status, errorContent(reply)))
  try {
    if (entry.reply === 'arrow') return arrowReply(reply)
    if (entry.response === null) return undefined
    return readReply(entry, bodyFrom(dialect, name, readJson(concatBytes(reply.chunks), Infinity)), name)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `the reply of ${connection.base} does not follow the specification: ${reason}`
    throw new SheafError(ErrorCode.Internal, message, { cause })
  }
}

/** The prefix of all routes. Callers must not repeat it in the address. */
const routePrefix = /\/v1$/

/**
 * Return an error of a reply. It gets a hint if the path is unknown because the address ends in `/v1`. If a proxy lost the
 * reply to a write, its kind is `commit-state-unknown`.
 */
function errorOf({ base }: HttpConnection, { access }: OperationEntry, error: SheafError): SheafError {
  const { code, message, status } = error
  // The server itself never answers with these.
  if (access !== 'read' && (status === 502 || status === 504))
    return new SheafError(code, message, { status, kind: 'commit-state-unknown' })
  if (status !== 404 || !message.includes('/v1/v1/') || !routePrefix.test(base)) return error
  const hint = `leave out /v1: connectHttp('${base.replace(routePrefix, '')}')`
  return new SheafError(code, message, { status, kind: error.kind, hint })
}

function arrowReply({ headers, chunks }: Incoming): ArrowReply {
  const text = headers[tableVersion]
  if (typeof text !== 'string' || !/^\d+$/.test(text))
    throw new Error(`the header field ${tableVersion} has no number`)
  return { version: Number(text), chunks }
}

/** Return the error of a reply: parsed JSON, or plain text if a proxy replied instead of the server. */
function errorContent({ chunks }: Incoming): unknown {
  const bytes = concatBytes(chunks)
  try {
    return readJson(bytes, Infinity)
  } catch {
    return Buffer.from(bytes).toString()
  }
}
