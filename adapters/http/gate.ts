/** Who gets in. */
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { formatId } from '../../src/protocol/identifiers.js'
import type { OperationName } from '../../src/protocol/operations.js'
import type { Identity } from '../../src/protocol/request-fields.js'
import { type JwtOptions, tokenVerifier, type VerifyToken } from './jwt.js'
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
}

/** Somebody who proved who they are. */
export interface Principal {
  /** Of the secret, or the subject of the token. */
  readonly name: string
  /** Of a JSON Web Token. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined
}

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
    const { tokens, apiKeys, jwt } = this.#ways
    const { api_key: key, auth_token: token } = identity ?? {}
    const owners = [tokens.ownerOf(token ?? ''), apiKeys.ownerOf(key ?? '')]
    const name = owners.find(owner => owner !== undefined)
    if (name !== undefined) return { name }
    if (token !== undefined && jwt !== undefined) return jwt(token)
    const problem =
      identity === undefined ? 'this server asks who calls' : 'nobody here has these credentials'
    throw new SheafError(ErrorCode.Unauthenticated, problem, { hint: waysIn(this.#ways) })
  }

  /** Throws what refuses the first object the caller may not have. */
  async allow(objects: readonly NamedObject[], identity: Identity | undefined, asked: Asked): Promise<void> {
    if (this.#authorize === undefined) return
    for (const { operation, id } of objects) {
      let isAllowed: boolean
      try {
        isAllowed = await this.#authorize(operation, id, identity ?? {}, asked)
      } catch (cause) {
        throw cause instanceof SheafError ? cause : forbidden(operation, id, cause)
      }
      if (isAllowed !== true) throw forbidden(operation, id)
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
}

async function settleAuth(auth: AuthOptions): Promise<Ways> {
  if (typeof auth !== 'object' || auth === null) throw invalidInput('auth must be an object')
  const { tokens = {}, apiKeys = {}, jwt, ...others } = auth
  const [other] = Object.keys(others)
  if (other !== undefined) throw invalidInput(`there is no auth.${other}: use tokens, apiKeys or jwt`)
  const ways = {
    tokens: new Secrets(tokens, 'auth.tokens'),
    apiKeys: new Secrets(apiKeys, 'auth.apiKeys'),
    jwt: jwt && (await tokenVerifier(jwt)),
  }
  if (ways.tokens.size + ways.apiKeys.size === 0 && jwt === undefined) {
    throw invalidInput('auth lets nobody in', { hint: 'give tokens, apiKeys or jwt, or leave auth out' })
  }
  return ways
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
