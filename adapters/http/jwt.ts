/** Verifies JSON Web Tokens. Only this file uses the package `jose`. */

import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { options, string } from '../../src/protocol/shape.js'

export interface JwtOptions {
  /** URL of the public keys (RFC 7517). They are fetched when the first token comes, and kept for ten minutes. */
  readonly jwksUrl: string
  /** The required `iss`. Default: any. */
  readonly issuer?: string | undefined
  /** The required `aud`, or a member of it. Default: any. */
  readonly audience?: string | undefined
  /**
   * Name of the claim with the databases that the caller may open: one name, or an array of names; `*`: all. A token without it opens none.
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

/** What a token says about its owner. */
interface TokenOwner {
  /** The claim `sub`. */
  readonly name: string
  readonly claims: Readonly<Record<string, unknown>>
  /** Undefined if `databasesClaim` is not given. */
  readonly databases: readonly string[] | undefined
}

export type VerifyToken = (token: string) => Promise<TokenOwner>

/** Public-key algorithms only: a key that verifies cannot sign. So neither `none` nor algorithms with a shared secret. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]
/** How far the clocks of issuer and server may differ, seconds. */
const clockTolerance = 5

/** Import `jose`, or what `load` returns. The import is in a `try`, because only there bundlers accept that a package is missing. */
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
 * Return a function that verifies tokens. A valid token is signed by a key of `jwksUrl`, names a subject (`sub`), has an expiry (`exp`),
 * and has not expired. Any other token throws Unauthenticated; keys that are not available throw ServiceUnavailable.
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
  // The signatures of this package do not use the types of `jose`, because users without tokens do not install it.
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
  /** Whether the token is at fault, and not the keys or their retrieval. */
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
      // Messages of `jose` name claims and what is wrong with them. They contain no part of the token.
      if (isRefusal(error)) {
        throw new SheafError(ErrorCode.Unauthenticated, `the token is not accepted: ${error.message}`)
      }
      throw new SheafError(ErrorCode.ServiceUnavailable, 'cannot fetch the keys that verify tokens', {
        cause: error,
      })
    }
  }
}

/** Return the names in a claim. A value that is not a string grants nothing. */
function databasesIn(claim: unknown): readonly string[] {
  return [claim].flat().filter(each => typeof each === 'string')
}
