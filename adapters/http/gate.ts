/** Who gets in. */
import type { OperationName } from '../../src/protocol/operations.js'
import type { Identity } from '../../src/protocol/request-fields.js'

/** Any one of the ways given lets a caller in; with none of them nobody is asked. Secrets by the name of who has them. */
export interface AuthOptions {
  /** Accepted in `Authorization: Bearer`. */
  readonly tokens?: Readonly<Record<string, string>> | undefined
  /** Accepted in `x-api-key`. */
  readonly apiKeys?: Readonly<Record<string, string>> | undefined
  /** JSON Web Tokens accepted in `Authorization: Bearer`; needs the package `jose`. */
  readonly jwt?: JwtOptions | undefined
}

export interface JwtOptions {
  /** Where the public keys are (RFC 7517). */
  readonly jwksUrl: string
  readonly issuer?: string | undefined
  readonly audience?: string | undefined
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
  readonly context: Readonly<Record<string, string>>
  /** As the client named it. */
  readonly database: string | undefined
}

/**
 * Called for each object that a call names: `false`, or what it throws, refuses the call (code 15, 403). `identity` is what the
 * client sent, header before body.
 */
export type Authorize = (
  operation: OperationName,
  id: readonly string[],
  identity: Identity,
  asked: Asked,
) => boolean | undefined | Promise<boolean | undefined>
