/** JSON Web Tokens, by the package `jose`, which only this file knows. */

import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { options, string } from '../../src/protocol/shape.js'

export interface JwtOptions {
  /** Where the public keys are (RFC 7517). They are fetched when the first token comes, and kept for ten minutes. */
  readonly jwksUrl: string
  /** What `iss` must be. Default: anything. */
  readonly issuer?: string | undefined
  /** What `aud` must be, or hold. Default: anything. */
  readonly audience?: string | undefined
  /** Claim that has the databases that its owner may open: one name, or an array of names; `*`: all. Without it, a token opens none. */
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

/** What a token says of who has it. */
export interface TokenOwner {
  /** `sub`. */
  readonly name: string
  readonly claims: Readonly<Record<string, unknown>>
  /** Undefined where `databasesClaim` is not given. */
  readonly databases: readonly string[] | undefined
}

export type VerifyToken = (token: string) => Promise<TokenOwner>

/** Keys that verify cannot sign: neither `none` nor a secret that both sides share. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]
/** How far the clocks of who signs and who verifies may be apart. */
const clockTolerance = 5

/**
 * Tells whose a token is: one that is signed by a key of `jwksUrl`, names a subject, says when it expires (`exp`), and holds now; else code 16. Code 17 while the keys
 * cannot be had. Throws code 13 for options that make no sense, and where `jose` is not installed.
 */
export async function tokenVerifier(
  { jwksUrl, issuer, audience, databasesClaim }: JwtOptions,
  load: () => Promise<object> = () => import('jose'),
): Promise<VerifyToken> {
  const url = URL.canParse(jwksUrl) ? new URL(jwksUrl) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalidInput(`auth.jwt.jwksUrl must be an http or https URL, got ${quote(jwksUrl)}`)
  }
  // Its types are not in our signatures: who does not use it does not have it.
  const { createRemoteJWKSet, errors, jwtVerify } = (await load().catch(cause => {
    throw invalidInput('auth.jwt needs the package "jose", which cannot be loaded', {
      hint: 'npm install jose',
      cause,
    })
  })) as typeof import('jose')
  const keys = createRemoteJWKSet(url)
  const demands = {
    algorithms,
    clockTolerance,
    requiredClaims: ['sub', 'exp'],
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  }
  /** Whether it is the token that is wrong, and not the keys, or the way to them. */
  const isRefusal = (error: unknown): error is Error =>
    error instanceof errors.JOSEError &&
    !(error instanceof errors.JWKSTimeout) &&
    !(error instanceof errors.JWKSInvalid) &&
    error.code !== errors.JOSEError.code
  return async token => {
    try {
      const { payload } = await jwtVerify(token, keys, demands)
      // The package does not look at its type.
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
      // What `jose` says names claims and what is wrong with them; nothing in it is the token.
      if (isRefusal(error)) {
        throw new SheafError(ErrorCode.Unauthenticated, `the token is not accepted: ${error.message}`)
      }
      throw new SheafError(ErrorCode.ServiceUnavailable, 'the keys that verify tokens cannot be had now', {
        cause: error,
      })
    }
  }
}

/** What is no name grants nothing. */
function databasesIn(claim: unknown): readonly string[] {
  return [claim].flat().filter(each => typeof each === 'string')
}
