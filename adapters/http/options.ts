/** The options of a server. */
import { invalidInput } from '../../src/errors.js'
import type { OperationName } from '../../src/protocol/operations.js'
import {
  array,
  boolean,
  callback,
  either,
  integer,
  optionFields,
  options,
  string,
} from '../../src/protocol/shape.js'
import { type AuthOptions, type Authorize, authShape } from './gate.js'
import { type Limits, limitsShape } from './limits.js'

export interface ServeOptions {
  /** Port to listen on; 0: any free port. Default 2333. */
  readonly port?: number | undefined
  /** Address to listen on. Default `127.0.0.1`. */
  readonly host?: string | undefined
  /** Path before `/v1`. Default none. */
  readonly basePath?: string | undefined
  /** How callers authenticate. Default: every caller that reaches the address is admitted. */
  readonly auth?: AuthOptions | undefined
  /** Hook that decides whether a call may go on, called before each call. Default: every caller may do everything. */
  readonly authorize?: Authorize | undefined
  /** Whether to listen without `auth` on an address that other machines reach. Default false: `serve` throws InvalidInput. */
  readonly allowAnonymous?: boolean | undefined
  /**
   * More host names to which the server answers, without port, in addition to `host`, the addresses it listens on, and `localhost`. A
   * request with another `Host` is refused with PermissionDenied. Default: none; with `auth`, every name is allowed unless this is given.
   */
  readonly allowHosts?: readonly string[] | undefined
  /**
   * Origins whose web pages may call the server and read its replies (CORS), as browsers send them: `https://app.example`. Requests from
   * pages of other origins are refused with PermissionDenied. Default: only pages that the server itself serves.
   */
  readonly allowOrigins?: readonly string[] | undefined
  /** Limits on requests and callers; each limit that is not given has its default. */
  readonly limits?: Partial<Limits> | undefined
  /**
   * Prefixes, in lower case, of header fields that are the context of a call; the rest of the field name is the name of the entry.
   * Default `x-sheaf-ctx-`, `x-ns-ctx-`, `x-lance-ctx-`.
   */
  readonly contextPrefixes?: readonly string[] | undefined
  /** Called once per request, before its last bytes are sent, or when the client is gone. What it throws is ignored. */
  readonly logger?: ((record: RequestRecord) => void) | undefined
}

/** A value of the wrong type is not quoted in the error: it may be a secret. */
const auth = either<AuthOptions>(
  { is: value => typeof value === 'object' && value !== null && !Array.isArray(value), shape: authShape },
  {
    is: () => {
      throw invalidInput('serve: auth must be an object of tokens, apiKeys, jwt or grants')
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
  limits: limitsShape,
  contextPrefixes: array(string()),
  logger: callback<(record: RequestRecord) => void>(),
})

export const handlerShape = options<HandlerOptions>()(handlerFields)

export const serveShape = options<ServeOptions>()({
  port: integer(0, 65_535),
  host: string('nonEmpty'),
  ...handlerFields,
})

/** The record of one request in the log. It contains no secrets. */
export interface RequestRecord {
  /** Empty, like `path`, if the bytes received are not HTTP. */
  readonly method: string
  readonly path: string
  /** `tableChanges`: a stream of changes. Absent if the path names no operation. */
  readonly operation?: OperationName | 'tableChanges' | undefined
  readonly status: number
  /** Name of the caller; absent without `auth`, and if the caller was not admitted. */
  readonly principal?: string | undefined
  /** The database as the client named it. */
  readonly database?: string | undefined
  /** `x-request-id` as the client sent it; the reply repeats it. */
  readonly requestId?: string | undefined
  /** The context of the call, from the header. */
  readonly context?: Readonly<Record<string, string>> | undefined
  /**
   * Unknown fields of the body and parameters of the URL (`?name`) that were skipped, from a client that may be newer than this server.
   * Writes and queries are refused instead.
   */
  readonly skipped?: readonly string[] | undefined
  /** Milliseconds from the head of the request to the end of its reply, as far as the server could tell. */
  readonly durationMs: number
  /** Bytes of the body that were read. */
  readonly bytesIn: number
  /** Bytes of the reply's body that were sent. */
  readonly bytesOut: number
  /** The error with its cause; the client may have received less. */
  readonly error?: unknown
}
