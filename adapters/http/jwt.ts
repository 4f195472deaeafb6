/** Verifies JSON Web Tokens. Only this file uses the package `jose`. */

import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { options, string } from '../../src/protocol/shape.js'

export interface JwtOptions {
  /**
   * URL of the public keys (RFC 7517). The keys are fetched when the first token arrives, and are kept for ten minutes.
   */
  readonly jwksUrl: string
  /** The issuer (`iss`) that a token must have. Default: any issuer. */
  readonly issuer?: string | undefined
  /** The audience that a token must have in `aud`. Default: any audience. */
  readonly audience?: string | undefined
  /**
   * Name of the claim with the databases that the caller may open. The claim is one name or an array of names; `*`
   * means all databases. A token without this claim may open no database.
   */
  readonly databasesClaim?: string | undefined
}

export const jwtShape = options<JwtOptions>()(
  {
    jwksUrl: string(),
    issuer: string('nonEmpty'),
    audience: string('nonEmpty'),
    databasesClaim: string('nonEmpty'),
  },
  { jwksUrl: true },
)

/** The facts about the caller in a valid token. */
interface TokenOwner {
  /** The subject of the token (`sub`). */
  readonly name: string
  readonly claims: Readonly<Record<string, unknown>>
  /** Databases that the caller may open. Undefined if the option `databasesClaim` is not given. */
  readonly databases: readonly string[] | undefined
}

export type VerifyToken = (token: string) => Promise<TokenOwner>

/**
 * Accepted algorithms. All of them use public keys, so the server cannot sign tokens. `none` and algorithms with a
 * shared secret are not accepted.
 */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]
/** Maximum difference between the clocks of issuer and server, seconds. */
const clockTolerance = 5

/**
 * Import `jose`, or call `load` instead if it is given. The import must be inside `try`: bundlers accept a missing
 * package only there.
 */
async function importJose(load: (() => Promise<object>) | undefined): Promise<object> {
  try {
    if (load !== undefined) return await load()
    return await import('jose')
  } catch (cause) {
    throw invalidInput('auth.jwt needs the package "jose", which cannot be loaded', {
      hint: 'npm install jose',
      cause,
    })
  }
}

/**
 * Return a function that verifies tokens. A valid token is signed by a key of `jwksUrl`, has a subject (`sub`) and an
 * expiry (`exp`), and has not expired. The returned function throws Unauthenticated for any other token, and
 * ServiceUnavailable if the keys are not available.
 *
 * Throws InvalidInput for invalid options, and if `jose` is not installed.
 */
export async function tokenVerifier(
  { jwksUrl, issuer, audience, databasesClaim }: JwtOptions,
  load?: () => Promise<object>,
): Promise<VerifyToken> {
  const url = URL.canParse(jwksUrl) ? new URL(jwksUrl) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalidInput(`auth.jwt.jwksUrl must be an http or https URL, got ${quote(jwksUrl)}`)
  }
  // The type is asserted here, because no exported declaration may name a type of `jose`: users who do not use tokens do
  // not install `jose`.
  const jose = (await importJose(load)) as typeof import('jose')
  const { createRemoteJWKSet, errors, jwtVerify } = jose
  const keys = createRemoteJWKSet(url)
  const demands = {
    algorithms,
    clockTolerance,
    requiredClaims: ['sub', 'exp'],
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  }
  /** Return whether an error means that the token is invalid. Otherwise the keys could not be fetched. */
  const isRefusal = (error: unknown): error is Error =>
    error instanceof errors.JOSEError &&
    !(error instanceof errors.JWKSTimeout) &&
    !(error instanceof errors.JWKSInvalid) &&
    error.code !== errors.JOSEError.code
  return async token => {
    try {
      const { payload } = await jwtVerify(token, keys, demands)
      // `jose` does not check the type of `sub`.
      if (typeof payload.sub !== 'string' || payload.sub === '') {
        throw new errors.JWTClaimValidationFailed(
          '"sub" claim must be a string that is not empty',
          payload,
          'sub',
        )
      }
      const databases = databasesClaim === undefined ? undefined : databasesIn(payload[databasesClaim])
      return { name: payload.sub, claims: payload, databases }
    } catch (error) {
      // The message of `jose` may be shown: it names a claim and its problem, and contains no part of the token.
      if (isRefusal(error)) {
        throw new SheafError(ErrorCode.Unauthenticated, `the token is not valid: ${error.message}`)
      }
      throw new SheafError(ErrorCode.ServiceUnavailable, 'cannot fetch the keys that verify tokens', {
        cause: error,
      })
    }
  }
}

/** Return the strings in a claim. A value that is not a string grants no database. */
function databasesIn(claim: unknown): readonly string[] {
  return [claim].flat().filter(each => typeof each === 'string')
}
