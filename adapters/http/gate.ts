/** Who gets in. */

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

/** Any one of the ways given lets a caller in; at least one must be. Secrets by the name of who has them. */
export interface AuthOptions {
  /** Accepted in `Authorization: Bearer`. */
  readonly tokens?: Readonly<Record<string, string>> | undefined
  /** Accepted in `x-api-key`. */
  readonly apiKeys?: Readonly<Record<string, string>> | undefined
  /** JSON Web Tokens accepted in `Authorization: Bearer`; needs the package `jose`. */
  readonly jwt?: JwtOptions | undefined
  /**
   * Databases that a caller with a token or key may open, by the name of its owner; `['*']`: all. For a server of `databases` only. Once this or
   * `jwt.databasesClaim` is given, a caller opens the databases granted to it and no other.
   */
  readonly grants?: Readonly<Record<string, readonly string[]>> | undefined
}

/** Of secrets; what is no object of them is told without its content. */
const secrets = given<Readonly<Record<string, string>>>('an object of secrets by name', () => true)

export const authShape = options<AuthOptions>()({
  tokens: secrets,
  apiKeys: secrets,
  jwt: jwtShape,
  grants: record(array(string('nonEmpty'))),
})

/** Somebody who proved who they are. */
export interface Principal {
  /** Of the secret, or the subject of the token. */
  readonly name: string
  /** Of a JSON Web Token. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  /** Databases it may open, `*` for all; undefined where `auth` grants none to anybody, and so restricts nobody. */
  readonly databases?: readonly string[] | undefined
}

/** A grant of all databases. */
const all = '*'

/** What is asked for beside operation and identifier. */
export interface Asked {
  /** Undefined where nobody is asked who they are. */
  readonly principal: Principal | undefined
  /** What the client sent as context, and every header field of the request as `header.<name>`, but no credentials. */
  readonly context: Readonly<Record<string, string>>
  /** As the client named it. */
  readonly database: string | undefined
}

/**
 * Called for each object that a call names, with the operation that is done to it: a batch asks `createTableVersion`, `declareTable` and so on for
 * each of its tables, a rename for the old name and the new one, a view for itself and, as `queryTable`, for its source. Transactions and jobs are
 * asked for by their own ids, `[id]`, which tell nothing of tables. Listings are asked for by the namespace they list (those of all tables and of
 * all jobs by the root, `[]`), and are not filtered; a namespace that is dropped with all there is in it is asked for
 * alone. Nothing has been looked up and no upload read by then, so who is refused does not learn whether there is such an object.
 *
 * Only `true` lets the call go on. Anything else, or what it throws, refuses it with code 15 (403); a SheafError that it throws takes the
 * place of that one. `identity` is what the client sent, header before body.
 */
export type Authorize = (
  operation: OperationName,
  id: readonly string[],
  identity: Identity,
  asked: Asked,
) => boolean | Promise<boolean>

/** Knows who may come in, and asks what they may do. */
export class Gate {
  /** Null: nobody is asked who they are. */
  readonly #ways: Ways | null
  readonly #authorize: Authorize | undefined

  private constructor(ways: Ways | null, authorize: Authorize | undefined) {
    this.#ways = ways
    this.#authorize = authorize
  }

  /** Throws code 13 for options that make no sense: above all for such as would let nobody in, or everybody by mistake. */
  static async open(auth: AuthOptions | undefined, authorize: Authorize | undefined): Promise<Gate> {
    if (authorize !== undefined && typeof authorize !== 'function') {
      throw invalidInput(`authorize must be a function, got ${quote(authorize)}`)
    }
    return new Gate(auth === undefined ? null : await settleAuth(auth), authorize)
  }

  /** Whether callers have to say who they are. */
  get asksWho(): boolean {
    return this.#ways !== null
  }

  /** Whether callers may not do everything. */
  get asksWhat(): boolean {
    return this.#authorize !== undefined
  }

  /** Who has these credentials; undefined where nobody is asked. Throws code 16 for credentials that are missing or wrong. */
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
    const problem =
      identity === undefined ? 'this server asks who calls' : 'nobody here has these credentials'
    throw new SheafError(ErrorCode.Unauthenticated, problem, { hint: waysIn(this.#ways) })
  }

  /** Throws code 15 for a database that is not granted to the caller, whether there is such a database or not. */
  allowDatabase(principal: Principal | undefined, database: string | undefined): void {
    const granted = principal?.databases
    if (granted === undefined || database === undefined) return
    if (granted.includes(database) || granted.includes(all)) return
    throw new SheafError(ErrorCode.PermissionDenied, `not allowed: the database ${quote(database)}`)
  }

  /** Throws what refuses the first object the caller may not have. */
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

/** `cause`: what the hook threw, for the log alone. */
function forbidden(operation: OperationName, id: readonly string[], cause?: unknown): SheafError {
  return new SheafError(ErrorCode.PermissionDenied, `not allowed: ${operation} of ${quote(formatId(id))}`, {
    cause,
  })
}

interface Ways {
  readonly tokens: Secrets
  readonly apiKeys: Secrets
  readonly jwt: VerifyToken | undefined
  /** Databases by the name of who has a token or key; undefined where nobody is granted any. */
  readonly grants: ReadonlyMap<string, readonly string[]> | undefined
}

async function settleAuth(auth: AuthOptions): Promise<Ways> {
  const { tokens = {}, apiKeys = {}, jwt, grants } = auth
  const ways = {
    tokens: new Secrets(tokens, 'auth.tokens'),
    apiKeys: new Secrets(apiKeys, 'auth.apiKeys'),
    jwt: jwt && (await tokenVerifier(jwt)),
    grants: grantsDatabases(auth)
      ? settleGrants(grants ?? {}, [...Object.keys(tokens), ...Object.keys(apiKeys)])
      : undefined,
  }
  if (ways.tokens.size + ways.apiKeys.size === 0 && jwt === undefined) {
    throw invalidInput('auth lets nobody in', { hint: 'give tokens, apiKeys or jwt, or leave auth out' })
  }
  return ways
}

/** Whether callers open only the databases that are granted to them. */
function grantsDatabases({ grants, jwt }: AuthOptions): boolean {
  return grants !== undefined || jwt?.databasesClaim !== undefined
}

function settleGrants(
  grants: Readonly<Record<string, readonly string[]>>,
  owners: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  if (typeof grants !== 'object' || grants === null || Array.isArray(grants)) {
    throw invalidInput('auth.grants must be an object of arrays of databases, by the name of who has a key')
  }
  for (const [name, granted] of Object.entries(grants)) {
    if (!owners.includes(name)) {
      const near = nearestName(name, owners)
      throw invalidInput(`auth.grants has ${quote(name)}, and nobody of that name has a token or key`, {
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
 * Refuses (code 13) databases that everybody with any credentials could open unless that is said, and grants where there is one namespace
 * for all.
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

/** Refuses (code 13) to listen where strangers are, and let all of them in, unless that is what is wanted. */
export function checkBinding(
  host: string,
  { auth, allowAnonymous = false }: { auth?: AuthOptions | undefined; allowAnonymous?: boolean | undefined },
): void {
  if (auth !== undefined || allowAnonymous || isLoopback(host)) return
  throw invalidInput(
    `${quote(host)} may be reached from other machines, and whoever reaches it may do everything`,
    {
      hint: 'give auth, or set allowAnonymous: true',
    },
  )
}
