/** The options of a server. */
import { invalidInput } from '../../src/errors.js'
import type { Tracing } from '../../src/primitives/tracing.js'
import type { OperationName } from '../../src/protocol/operations.js'
import {
  array,
  boolean,
  callback,
  either,
  given,
  integer,
  oneOf,
  optionFields,
  options,
  string,
} from '../../src/protocol/shape.js'
import { longestTimerMs } from './events.js'
import { type AuthOptions, type Authorize, authShape } from './gate.js'
import { type Limits, limitsShape } from './limits.js'
import { type BalancerOptions, balancerShape } from './node-client.js'

export interface ServeOptions {
  /** Port to listen on. Default 2333. 0: the system chooses a free port. */
  readonly port?: number | undefined
  /** Address to listen on. Default `127.0.0.1`. */
  readonly host?: string | undefined
  /** Path before `/v1`. Default: no path. */
  readonly basePath?: string | undefined
  /** How callers authenticate. Default: callers need no credentials. */
  readonly auth?: AuthOptions | undefined
  /**
   * Hook that decides whether a call may continue. The server calls it before the call runs. Default: all calls are
   * allowed.
   */
  readonly authorize?: Authorize | undefined
  /**
   * Whether to allow an address that other machines can reach although `auth` is not set. Default false: `serve` throws
   * InvalidInput.
   */
  readonly allowAnonymous?: boolean | undefined
  /**
   * Host names, without port, to which the server answers in addition to `host`, its addresses and `localhost`. A
   * request with another `Host` is refused with PermissionDenied. Default: no further names without `auth`; all names
   * with `auth`.
   */
  readonly allowHosts?: readonly string[] | undefined
  /**
   * Origins whose web pages may call the server and read its replies (CORS), in the form that browsers send, for
   * example `https://app.example`. Requests from pages of other origins are refused with PermissionDenied. Default:
   * only pages that the server itself serves may call.
   */
  readonly allowOrigins?: readonly string[] | undefined
  /**
   * The load balancer of all nodes of the root. The server divides searches with much work, and sends the parts through
   * the balancer. Default: the server searches alone.
   */
  readonly balancer?: BalancerOptions | undefined
  /** Limits on requests and callers. A limit that is not given has its default. */
  readonly limits?: Partial<Limits> | undefined
  /**
   * Prefixes, in lower case, of header fields that set the context of a call. The rest of the field name is the name of
   * the context entry. Default: `x-sheaf-ctx-`, `x-ns-ctx-`, `x-lance-ctx-`.
   */
  readonly contextPrefixes?: readonly string[] | undefined
  /**
   * Tables to load into the cache before `/readyz` reports that the server is ready: their indexes, and the columns that
   * have an index (of a table without indexes, all columns). Names as in paths: `books`, `shop$books`. `all`: all
   * tables. Loading ends when half of the cache is in use. Requests are answered meanwhile. A table that cannot be loaded
   * is a warning of the process. Default: no table.
   */
  readonly prewarm?: 'all' | readonly string[] | undefined
  /**
   * Time for which `close` lets `/readyz` answer 503 before the server accepts no more requests, milliseconds. In this
   * time, load balancers detect that the server is closing. The server answers requests, and ends each connection after
   * its next reply. Default 0.
   */
  readonly drainMs?: number | undefined
  /**
   * Called once per request, before the last bytes of the reply are sent, or when the client is gone. Errors that the
   * logger throws are ignored.
   */
  readonly logger?: ((record: RequestRecord) => void) | undefined
  /**
   * Records a span for each request, within the span that the client names in `traceparent`: the result of
   * `openTelemetry` of `sheaf/opentelemetry`. Leave it out if the program has an instrumentation of `node:http`, which
   * records the same span. Default: nothing is recorded.
   */
  readonly tracing?: Tracing | undefined
}

/** The error for a value of the wrong type does not quote the value, because the value may be a secret. */
const auth = either<AuthOptions>(
  { is: value => typeof value === 'object' && value !== null && !Array.isArray(value), shape: authShape },
  {
    is: () => {
      throw invalidInput('serve: auth must be an object with tokens, apiKeys, jwt or grants')
    },
    shape: authShape,
  },
)

/** The options of `handler`. */
export type HandlerOptions = Omit<ServeOptions, 'port' | 'host'>

const handlerFields = optionFields<HandlerOptions>()({
  basePath: string(),
  auth,
  authorize: callback<Authorize>(),
  allowAnonymous: boolean,
  allowHosts: array(string()),
  allowOrigins: array(string()),
  balancer: balancerShape,
  limits: limitsShape,
  contextPrefixes: array(string()),
  prewarm: either<NonNullable<ServeOptions['prewarm']>>(
    { is: value => typeof value === 'string', shape: oneOf('all') },
    { is: () => true, shape: array(string('nonEmpty')) },
  ),
  drainMs: integer(0, longestTimerMs),
  logger: callback<(record: RequestRecord) => void>(),
  tracing: given<Tracing>(
    'the result of openTelemetry',
    value => typeof (value as Tracing | null | undefined)?.begin === 'function',
  ),
})

export const handlerShape = options<HandlerOptions>()(handlerFields)

export const serveShape = options<ServeOptions>()({
  port: integer(0, 65_535),
  host: string('nonEmpty'),
  ...handlerFields,
})

/** The log record of one request. It contains no secrets. */
export interface RequestRecord {
  /** The HTTP method. `method` and `path` are empty if the received bytes are not HTTP. */
  readonly method: string
  readonly path: string
  /** The operation, or `tableChanges` for a stream of changes. Undefined if the path belongs to no operation. */
  readonly operation?: OperationName | 'tableChanges' | undefined
  readonly status: number
  /** Name of the caller. Undefined without `auth`, and if the caller was not authenticated. */
  readonly principal?: string | undefined
  /** The database, as the client wrote it. Undefined if the client sent none. */
  readonly database?: string | undefined
  /** The `x-request-id` that the client sent. The reply repeats it. */
  readonly requestId?: string | undefined
  /** The context of the call, from header fields. */
  readonly context?: Readonly<Record<string, string>> | undefined
  /**
   * Unknown fields of the body, and unknown query parameters (written `?name`), that the server skipped because the
   * client may be newer than the server. Writes and queries with unknown names are refused instead.
   */
  readonly skipped?: readonly string[] | undefined
  /** Milliseconds from the arrival of the request's head to the end of the reply. */
  readonly durationMs: number
  /** Bytes of the request body that were read. */
  readonly bytesIn: number
  /** Bytes of the reply body that were sent. */
  readonly bytesOut: number
  /** The error with its cause. The client may have received an error with less detail. */
  readonly error?: unknown
}
