/** Authenticates callers, and asks the `authorize` hook what they may do. */

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

/** How callers authenticate. At least one way must be given; each of them admits a caller. Secrets are keyed by the name of the owner. */
export interface AuthOptions {
  /** Secrets accepted in `Authorization: Bearer`, by owner. */
  readonly tokens?: Readonly<Record<string, string>> | undefined
  /** Secrets accepted in `x-api-key`, by owner. */
  readonly apiKeys?: Readonly<Record<string, string>> | undefined
  /** JSON Web Tokens accepted in `Authorization: Bearer`; needs the package `jose`. */
  readonly jwt?: JwtOptions | undefined
  /**
   * Databases that the owner of a token or key may open, by owner; `['*']`: all. Only for a server of `databases`. Once this or
   * `jwt.databasesClaim` is given, a caller opens only the databases granted to it.
   */
  readonly grants?: Readonly<Record<string, readonly string[]>> | undefined
}

/** A shape that never quotes a value of the wrong type: it may be a secret. */
const secrets = given<Readonly<Record<string, string>>>('an object of secrets by name', () => true)

export const authShape = options<AuthOptions>()({
  tokens: secrets,
  apiKeys: secrets,
  jwt: jwtShape,
  grants: record(array(string('nonEmpty'))),
})

/** An authenticated caller. */
export interface Principal {
  /** Owner of the secret, or subject (`sub`) of the token. */
  readonly name: string
  /** The claims of a JSON Web Token. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  /** Databases that the caller may open, `*` for all; undefined if `auth` grants none to any caller, and so restricts no caller. */
  readonly databases?: readonly string[] | undefined
}

/** A grant of all databases. */
const all = '*'

/** What `authorize` gets in addition to operation, id and identity. */
export interface Asked {
  /** The authenticated caller; undefined without `auth`. */
  readonly principal: Principal | undefined
  /** The context that the client sent, and every header field of the request as `header.<name>`, except credentials. */
  readonly context: Readonly<Record<string, string>>
  /** The database as the client named it. */
  readonly database: string | undefined
}

/**
 * Decides whether a call may go on. Called for each object that the call names, with the operation on that object:
 *
 * - A batch asks for each of its tables, with `createTableVersion`, `declareTable` and so on. A rename asks for the old and the new name.
 * - A view asks for itself and, as `queryTable`, for its source.
 * - Transactions and jobs ask with their own ids, `[id]`, which contain no table names.
 * - A listing asks for the namespace that it lists, or the root (`[]`) for all tables or all jobs. Its result is not filtered.
 * - Dropping a namespace with its content asks for the namespace alone.
 *
 * The hook runs before anything is looked up or uploaded, so a refused caller does not learn whether an object exists.
 *
 * Only `true` lets the call go on. Any other result or error refuses the call with PermissionDenied (403). If the hook throws a SheafError,
 * the caller gets this error instead. `identity` is what the client sent; the header takes precedence over the body.
 *
 * ```js
 * const authorize = (operation, id, identity, { principal }) => principal?.name === 'admin' || operation === 'queryTable'
 * ```
 */
export type Authorize = (
  operation: OperationName,
  id: readonly string[],
  identity: Identity,
  asked: Asked,
) => boolean | Promise<boolean>

/** Authenticates callers, and asks whether they may do a call. */
export class Gate {
  /** Null: callers are not authenticated. */
  readonly #ways: Ways | null
  readonly #authorize: Authorize | undefined

  private constructor(ways: Ways | null, authorize: Authorize | undefined) {
    this.#ways = ways
    this.#authorize = authorize
  }

  /** Create a gate. Throws InvalidInput for invalid options, such as options that admit no caller, or every caller by mistake. */
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

  /** Return the caller with these credentials; undefined without `auth`. Throws Unauthenticated if they are missing or wrong. */
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

  /** Throw PermissionDenied for a database that is not granted to the caller, whether the database exists or not. */
  allowDatabase(principal: Principal | undefined, database: string | undefined): void {
    const granted = principal?.databases
    if (granted === undefined || database === undefined) return
    if (granted.includes(database) || granted.includes(all)) return
    throw new SheafError(ErrorCode.PermissionDenied, `not allowed: the database ${quote(database)}`)
  }

  /** Ask `authorize` for each object. Throws the refusal of the first object that is not allowed. */
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

/** Make the error of a refusal. `cause`: what the hook threw, for the log only. */
function forbidden(operation: OperationName, id: readonly string[], cause?: unknown): SheafError {
  return new SheafError(ErrorCode.PermissionDenied, `not allowed: ${operation} of ${quote(formatId(id))}`, {
    cause,
  })
}

interface Ways {
  readonly tokens: Secrets
  readonly apiKeys: Secrets
  readonly jwt: VerifyToken | undefined
  /** Databases by owner of a token or key; undefined if no databases are granted. */
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
    throw invalidInput('auth lets nobody in: it has no tokens, apiKeys or jwt', {
      hint: 'give tokens, apiKeys or jwt, or leave auth out',
    })
  }
  return ways
}

/** Return whether callers open only the databases that are granted to them. */
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
 * Check the grants of a server. Throws InvalidInput if every authenticated caller could open every database unless the options say so, and
 * if databases are granted although there is one namespace for all.
 */
export function checkGrants(
  isDatabases: boolean,
  { auth, authorize }: { auth?: AuthOptions | undefined; authorize?: Authorize | undefined },
): void {
  if (auth === undefined) return
  const isGranted = grantsDatabases(auth)
  if (isGranted && !isDatabases) {
    throw invalidInput('auth grants databases, and this server has one namespace for all', {
      hint: 'serve databases(directory), or leave grants and databasesClaim out',
    })
  }
  if (isGranted || !isDatabases || authorize !== undefined) return
  throw invalidInput('every caller with any credentials could open every database', {
    hint: 'say who opens which: auth.grants (--grant NAME=DATABASE,..., or NAME=* for all), jwt.databasesClaim, or authorize',
  })
}

function waysIn({ tokens, apiKeys, jwt }: Ways): string {
  const ways = [
    ...(tokens.size > 0 || jwt !== undefined ? ['Authorization: Bearer <token>'] : []),
    ...(apiKeys.size > 0 ? ['x-api-key: <key>'] : []),
  ]
  return `send ${ways.join(' or ')}`
}

/** Throw InvalidInput for listening on an address that other machines reach without `auth`, unless `allowAnonymous` is set. */
export function checkBinding(
  host: string,
  { auth, allowAnonymous = false }: { auth?: AuthOptions | undefined; allowAnonymous?: boolean | undefined },
): void {
  if (auth !== undefined || allowAnonymous || isLoopback(host)) return
  throw invalidInput(
    `${quote(host)} may be reached from other machines, and every caller may do everything`,
    {
      hint: 'give auth, or set allowAnonymous: true',
    },
  )
}
