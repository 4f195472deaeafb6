/** Authenticates callers, and calls the `authorize` hook to decide what they may do. */

import { ErrorCode, invalidInput, nearestName, quote, SheafError } from '../../src/errors.js'
import { formatId } from '../../src/protocol/identifiers.js'
import type { OperationName } from '../../src/protocol/operations.js'
import type { Identity } from '../../src/protocol/request-fields.js'
import { array, given, options, record, string } from '../../src/protocol/shape.js'
import { checkDatabase } from './databases.js'
import { type JwtOptions, jwtShape, tokenVerifier, type VerifyToken } from './jwt.js'
import { isLoopback } from './loopback.js'
import type { NamedObject } from './named-objects.js'
import { Secrets } from './secrets.js'

/**
 * How callers authenticate. At least one of `tokens`, `apiKeys` and `jwt` must be given. A caller needs one valid
 * credential of any kind. `tokens` and `apiKeys` map the name of the owner to the secret.
 */
export interface AuthOptions {
  /** Secrets that are accepted in `Authorization: Bearer`, by the name of the owner. */
  readonly tokens?: Readonly<Record<string, string>> | undefined
  /** Secrets that are accepted in `x-api-key`, by the name of the owner. */
  readonly apiKeys?: Readonly<Record<string, string>> | undefined
  /** JSON Web Tokens are accepted in `Authorization: Bearer`. Needs the package `jose`. */
  readonly jwt?: JwtOptions | undefined
  /**
   * Databases that the owner of a token or key may open, by owner. `['*']` grants all databases. Only for a server of
   * `databases`. If this option or `jwt.databasesClaim` is given, a caller may open only the databases that are granted
   * to it.
   */
  readonly grants?: Readonly<Record<string, readonly string[]>> | undefined
}

/** A shape whose errors never quote the value, because the value may be a secret. */
const secrets = given<Readonly<Record<string, string>>>('an object of secrets by name', () => true)

export const authShape = options<AuthOptions>()({
  tokens: secrets,
  apiKeys: secrets,
  jwt: jwtShape,
  grants: record(array(string('nonEmpty'))),
})

/** A caller whose credentials are valid. */
export interface Principal {
  /** The owner of the secret, or the subject (`sub`) of the token. */
  readonly name: string
  /** The claims of the token. Undefined for tokens and keys that are plain secrets. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  /**
   * Databases that the caller may open; `*` means all. Undefined if the server has no grants: then no caller is
   * restricted.
   */
  readonly databases?: readonly string[] | undefined
}

/** The database name in a grant that stands for all databases. */
const all = '*'

/** The facts about a call that `authorize` gets in addition to operation, id and identity. */
export interface Asked {
  /** The authenticated caller. Undefined without `auth`. */
  readonly principal: Principal | undefined
  /** The context that the client sent, and every header field of the request as `header.<name>`, except credentials. */
  readonly context: Readonly<Record<string, string>>
  /** The database, as the client wrote it. Undefined if the client sent none. */
  readonly database: string | undefined
}

/**
 * Decides whether a call may continue. The server calls this hook for each object that the call names, and passes the
 * operation on that object:
 *
 * - A batch: the hook runs for each of its tables, with operations such as `createTableVersion` or `declareTable`.
 * - A rename: the hook runs for the old and for the new name.
 * - Creating a view: the hook runs for the view, and for its source with the operation `queryTable`.
 * - Transactions and jobs: the id is `[id]`, with the id of the transaction or job. It contains no table name.
 * - A listing: the id is that of the listed namespace, or the root (`[]`) for all tables or all jobs. The result is not
 *   filtered.
 * - Dropping a namespace with its content: the hook runs only for the namespace.
 *
 * The hook runs before the server looks up an object or reads an upload. So a refused caller does not learn whether an
 * object exists.
 *
 * The call continues only if the hook returns `true`. Any other result or error refuses the call with PermissionDenied
 * (403). If the hook throws a SheafError, the caller gets this error instead. `identity`: the credentials that the
 * client sent. Credentials in the header take precedence over credentials in the body.
 *
 * ```js
 * const authorize = (operation, id, identity, { principal }) =>
 *   principal?.name === 'admin' || operation === 'queryTable'
 * ```
 */
export type Authorize = (
  operation: OperationName,
  id: readonly string[],
  identity: Identity,
  asked: Asked,
) => boolean | Promise<boolean>

/** Authenticates callers, and decides whether a call is allowed. */
export class Gate {
  /** The accepted credentials. Null: callers need not authenticate. */
  readonly #ways: Ways | null
  readonly #authorize: Authorize | undefined

  private constructor(ways: Ways | null, authorize: Authorize | undefined) {
    this.#ways = ways
    this.#authorize = authorize
  }

  /** Create a gate. Throws InvalidInput for invalid options, for example if no caller could authenticate. */
  static async open(auth: AuthOptions | undefined, authorize: Authorize | undefined): Promise<Gate> {
    if (authorize !== undefined && typeof authorize !== 'function') {
      throw invalidInput(`authorize must be a function, got ${quote(authorize)}`)
    }
    return new Gate(auth === undefined ? null : await resolveAuth(auth), authorize)
  }

  /** Whether callers must authenticate. */
  get authenticates(): boolean {
    return this.#ways !== null
  }

  /** Whether there is a hook that may refuse calls. */
  get authorizes(): boolean {
    return this.#authorize !== undefined
  }

  /**
   * Return the caller with these credentials. Returns undefined without `auth`. Throws Unauthenticated if the
   * credentials are missing or wrong.
   */
  async admit(identity: Identity | undefined): Promise<Principal | undefined> {
    if (this.#ways === null) return undefined
    const { tokens, apiKeys, jwt, grants } = this.#ways
    const { api_key: key, auth_token: token } = identity ?? {}
    const owners = [tokens.ownerOf(token ?? ''), apiKeys.ownerOf(key ?? '')]
    const name = owners.find(owner => owner !== undefined)
    if (name !== undefined) return { name, databases: grants && (grants.get(name) ?? []) }
    if (token !== undefined && jwt !== undefined) {
      const owner = await jwt(token)
      return grants === undefined ? owner : { ...owner, databases: owner.databases ?? [] }
    }
    const problem = identity === undefined ? 'the server needs credentials' : 'the credentials are not valid'
    throw new SheafError(ErrorCode.Unauthenticated, problem, { hint: waysIn(this.#ways) })
  }

  /** Throw PermissionDenied if the database is not granted to the caller, whether or not the database exists. */
  allowDatabase(principal: Principal | undefined, database: string | undefined): void {
    const granted = principal?.databases
    if (granted === undefined || database === undefined) return
    if (granted.includes(database) || granted.includes(all)) return
    throw new SheafError(ErrorCode.PermissionDenied, `not allowed: the database ${quote(database)}`)
  }

  /** Call `authorize` for each object. Throws the refusal for the first object that is not allowed. */
  async allow(objects: readonly NamedObject[], identity: Identity | undefined, asked: Asked): Promise<void> {
    if (this.#authorize === undefined) return
    for (const { operation, id, shown = id } of objects) {
      let isAllowed: boolean
      try {
        isAllowed = await this.#authorize(operation, id, identity ?? {}, asked)
      } catch (cause) {
        throw cause instanceof SheafError ? cause : forbidden(operation, shown, cause)
      }
      if (isAllowed !== true) throw forbidden(operation, shown)
    }
  }
}

/** Make the error of a refusal. `cause`: the error that the hook threw; only the log shows it. */
function forbidden(operation: OperationName, id: readonly string[], cause?: unknown): SheafError {
  return new SheafError(ErrorCode.PermissionDenied, `not allowed: ${operation} of ${quote(formatId(id))}`, {
    cause,
  })
}

interface Ways {
  readonly tokens: Secrets
  readonly apiKeys: Secrets
  readonly jwt: VerifyToken | undefined
  /** Granted databases by owner of a token or key. Undefined if the options have no grants. */
  readonly grants: ReadonlyMap<string, readonly string[]> | undefined
}

async function resolveAuth(auth: AuthOptions): Promise<Ways> {
  const { tokens = {}, apiKeys = {}, jwt, grants } = auth
  const ways = {
    tokens: new Secrets(tokens, 'auth.tokens'),
    apiKeys: new Secrets(apiKeys, 'auth.apiKeys'),
    jwt: jwt && (await tokenVerifier(jwt)),
    grants: grantsDatabases(auth)
      ? resolveGrants(grants ?? {}, [...Object.keys(tokens), ...Object.keys(apiKeys)])
      : undefined,
  }
  if (ways.tokens.size + ways.apiKeys.size === 0 && jwt === undefined) {
    throw invalidInput('auth would refuse every caller: it has no tokens, apiKeys or jwt', {
      hint: 'give tokens, apiKeys or jwt, or leave auth out',
    })
  }
  return ways
}

/** Return whether a caller may open only the databases that are granted to it. */
function grantsDatabases({ grants, jwt }: AuthOptions): boolean {
  return grants !== undefined || jwt?.databasesClaim !== undefined
}

function resolveGrants(
  grants: Readonly<Record<string, readonly string[]>>,
  owners: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  if (typeof grants !== 'object' || grants === null || Array.isArray(grants)) {
    throw invalidInput(
      'auth.grants must be an object of arrays of databases, by the name of the owner of a token or key',
    )
  }
  for (const [name, granted] of Object.entries(grants)) {
    if (!owners.includes(name)) {
      const near = nearestName(name, owners)
      throw invalidInput(`auth.grants has ${quote(name)}, but no token or key has an owner of that name`, {
        hint: near === undefined ? undefined : `did you mean ${quote(near)}?`,
      })
    }
    if (!Array.isArray(granted)) {
      throw invalidInput(`auth.grants of ${quote(name)} must be an array of databases, got ${quote(granted)}`)
    }
    for (const each of granted) if (each !== all) checkDatabase(each)
  }
  return new Map(Object.entries(grants))
}

/**
 * Check the grants of a server. Throws InvalidInput in two cases: the options grant databases, but the server has only
 * one namespace; or the server has databases, but neither grants nor `authorize` limit the callers of each database.
 */
export function checkGrants(
  isDatabases: boolean,
  { auth, authorize }: { auth?: AuthOptions | undefined; authorize?: Authorize | undefined },
): void {
  if (auth === undefined) return
  const isGranted = grantsDatabases(auth)
  if (isGranted && !isDatabases) {
    throw invalidInput('auth grants databases, but this server has only one namespace', {
      hint: 'serve databases(directory), or leave out grants and databasesClaim',
    })
  }
  if (isGranted || !isDatabases || authorize !== undefined) return
  throw invalidInput('every caller with valid credentials could open every database', {
    hint: 'restrict callers with auth.grants (--grant NAME=DATABASE,..., or NAME=* for all), jwt.databasesClaim, or authorize',
  })
}

function waysIn({ tokens, apiKeys, jwt }: Ways): string {
  const ways = [
    ...(tokens.size > 0 || jwt !== undefined ? ['Authorization: Bearer <token>'] : []),
    ...(apiKeys.size > 0 ? ['x-api-key: <key>'] : []),
  ]
  return `send ${ways.join(' or ')}`
}

/**
 * Throw InvalidInput if other machines can reach the address of the server, but neither `auth` nor `allowAnonymous` is
 * set.
 */
export function checkBinding(
  host: string,
  { auth, allowAnonymous = false }: { auth?: AuthOptions | undefined; allowAnonymous?: boolean | undefined },
): void {
  if (auth !== undefined || allowAnonymous || isLoopback(host)) return
  throw invalidInput(
    `other machines can reach the address ${quote(host)}, and without auth every caller may do everything`,
    {
      hint: 'set auth, or set allowAnonymous: true',
    },
  )
}
