/** What a server can be told. */
import { invalidInput } from '../../src/errors.js'
import type { OperationName } from '../../src/protocol/operations.js'
import { array, boolean, callback, either, integer, options, string } from '../../src/protocol/shape.js'
import { type AuthOptions, type Authorize, authShape } from './gate.js'
import { type Limits, limitsShape } from './limits.js'

export interface ServeOptions {
  /** 0: any free port. Default 2333. */
  readonly port?: number | undefined
  /** Address to listen on. Default `127.0.0.1`. */
  readonly host?: string | undefined
  /** Path before `/v1`. Default none. */
  readonly basePath?: string | undefined
  /** Who may call. Default: whoever reaches the address. */
  readonly auth?: AuthOptions | undefined
  /** Asked before each call, once it is known who calls and what for. Default: everybody may do everything. */
  readonly authorize?: Authorize | undefined
  /** Listen on an address that other machines reach although `auth` is not given. Default false: that is refused. */
  readonly allowAnonymous?: boolean | undefined
  /**
   * More host names that the server answers to, without port, beside `host`, the addresses it listens on, and `localhost`. A request whose `Host` is
   * none of these is refused with code 15. Default: none; with `auth`, any name is answered to unless this option is given.
   */
  readonly allowHosts?: readonly string[] | undefined
  /**
   * Origins whose web pages may call the server and read its replies (CORS), as browsers send them: `https://app.example`. Requests of pages of other
   * origins are refused with code 15. Default: only pages that this server itself is the origin of.
   */
  readonly allowOrigins?: readonly string[] | undefined
  readonly limits?: Partial<Limits> | undefined
  /** Header fields that are context, by the rest of their name, begin with one of these, in lower case. Default `x-sheaf-ctx-`, `x-ns-ctx-`, `x-lance-ctx-`. */
  readonly contextPrefixes?: readonly string[] | undefined
  /** Called once per request, before its client can have the whole reply, or when nobody waits for one any more. What it throws is dropped. */
  readonly logger?: ((record: RequestRecord) => void) | undefined
}

/** `auth` is not quoted where it is none: it may be a secret. */
const auth = either<AuthOptions>(
  { is: value => typeof value === 'object' && value !== null && !Array.isArray(value), shape: authShape },
  {
    is: () => {
      throw invalidInput('serve: auth must be an object of tokens, apiKeys, jwt or grants')
    },
    shape: authShape,
  },
)

export const serveShape = options<ServeOptions>()({
  port: integer(0, 65_535),
  host: string('nonEmpty'),
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

/** What a log says of a request. Secrets are in none of it. */
export interface RequestRecord {
  /** Empty, like `path`, where what was sent is not HTTP. */
  readonly method: string
  readonly path: string
  /** Absent where the path means none. */
  readonly operation?: OperationName | undefined
  readonly status: number
  /** Name of who called; absent where nobody is asked, or nobody was let in. */
  readonly principal?: string | undefined
  /** As the client named it. */
  readonly database?: string | undefined
  /** `x-request-id` as the client sent it; the reply has it too. */
  readonly requestId?: string | undefined
  /** What the header said is context. */
  readonly context?: Readonly<Record<string, string>> | undefined
  /**
   * Warns of fields of the body and parameters of the URL (`?name`) that a client sent which may be newer than this server, and
   * that were skipped. Writes and queries are refused instead.
   */
  readonly skipped?: readonly string[] | undefined
  /** From its head to the end of its reply, as far as that was up to the server. */
  readonly durationMs: number
  /** Of the body, as far as it was read. */
  readonly bytesIn: number
  /** Of the body of the reply, as far as it was sent. */
  readonly bytesOut: number
  /** What went wrong, whole; the client may have been told less. */
  readonly error?: unknown
}
