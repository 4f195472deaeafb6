/**
 * Which host names a server answers to, and which web pages may call it.
 *
 * A browser sends requests of any page to any address that it reaches, a server on the same machine included. Two checks keep pages out:
 * - `Host`: a page whose domain resolves to the address of the server (DNS rebinding) still sends its own domain.
 * - `Origin` and `Sec-Fetch-Site`: the browser, and not the page, says which page a request comes from.
 *
 * Callers that are not browsers send neither `Origin` nor `Sec-Fetch-Site`. Source: the Fetch Standard (CORS), W3C Fetch Metadata.
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { isLoopback } from './loopback.js'
import type { ServeOptions } from './options.js'
import { type HeaderFields, type HttpReply, serverVersion, tableVersion } from './reply.js'
import type { Target } from './request.js'
import type { Found } from './routes.js'

/** Header fields of replies that scripts of allowed origins may read in addition to those that all scripts may read. */
const exposed = ['x-request-id', tableVersion, serverVersion[0], 'retry-after', 'www-authenticate', 'allow']

/** How long a browser may keep the answer to a preflight request, seconds. */
const preflightSeconds = 600

/** Routes that answer every caller: their replies contain nothing about the data. */
const publicRoutes: ReadonlySet<string | null> = new Set(['/healthz', '/readyz'])

export class Pages {
  /** Tests a host name; null: every name is allowed. */
  readonly #hosts: ((name: string) => boolean) | null
  readonly #origins: ReadonlySet<string>

  /** Throws InvalidInput for host names and origins that no browser sends. */
  constructor(
    host: string,
    { auth, allowHosts, allowOrigins = [] }: Pick<ServeOptions, 'auth' | 'allowHosts' | 'allowOrigins'>,
  ) {
    // Callers with credentials are not browsers that a page misleads: the page does not have the credentials.
    const anyHost = auth !== undefined && allowHosts === undefined
    this.#hosts = anyHost ? null : hostTest(host, textsOf(allowHosts ?? [], 'allowHosts').map(hostName))
    this.#origins = new Set(textsOf(allowOrigins, 'allowOrigins').map(originOf))
  }

  /**
   * Answer a preflight request of an allowed origin; null for any other request that may go on. Throws PermissionDenied for a Host to which
   * the server does not answer, and for a page whose origin is not allowed.
   */
  answer({ headers, method }: IncomingMessage, target: Target, found: Found): HttpReply | null {
    if (publicRoutes.has(target.route)) return null
    const authority = target.authority ?? headers.host
    if (this.#hosts !== null && authority !== undefined && !this.#hosts(nameIn(authority))) {
      throw denied(
        `the server does not answer to the host ${quote(authority)}`,
        'allow the name: allowHosts (--allow-host)',
      )
    }
    const { origin } = headers
    const site = headers['sec-fetch-site']
    const isForeign =
      origin === undefined
        ? site === 'cross-site' || site === 'same-site'
        : !(this.#origins.has(origin) || isOwn(origin, authority))
    if (isForeign) {
      throw denied(
        `the server does not answer to web pages of ${origin === undefined ? 'other origins' : quote(origin)}`,
        'allow the origin: allowOrigins (--allow-origin)',
      )
    }
    const asked = headers['access-control-request-method']
    if (method !== 'OPTIONS' || asked === undefined || origin === undefined) return null
    return preflightReply(
      found.kind === 'wrong-method' ? found.allowed : [asked],
      headers['access-control-request-headers'],
    )
  }

  /** Return the header fields that tell a browser whether the page may read the reply. None if no origin is allowed. */
  fieldsFor({ headers: { origin } }: IncomingMessage): HeaderFields {
    if (this.#origins.size === 0) return []
    const vary = ['vary', 'origin']
    if (origin === undefined || !this.#origins.has(origin)) return vary
    return [
      ...vary,
      'access-control-allow-origin',
      origin,
      'access-control-expose-headers',
      exposed.join(', '),
    ]
  }
}

function preflightReply(methods: readonly string[], headers: string | undefined): HttpReply {
  return {
    // 204 would be without `content-length`, which every other reply has.
    status: 200,
    headers: [
      ...['vary', 'access-control-request-method, access-control-request-headers'],
      ...['access-control-allow-methods', methods.join(', ')],
      // An allowed origin may send any field. `*` would not cover `authorization`.
      ...(headers === undefined ? [] : ['access-control-allow-headers', headers]),
      ...['access-control-max-age', String(preflightSeconds)],
    ],
    body: '',
  }
}

function denied(message: string, hint: string): SheafError {
  return new SheafError(ErrorCode.PermissionDenied, message, { hint })
}

/** Return whether a page is of this server. A proxy in front of the server may speak TLS with the browser, so both schemes count. */
function isOwn(origin: string, authority: string | undefined): boolean {
  const own = authority?.toLowerCase()
  return own !== undefined && (origin === `http://${own}` || origin === `https://${own}`)
}

/**
 * Return a test for the host names of a server that listens on `host`: `host` itself, the names of this machine, and `more`. The domain of
 * a page cannot be an IP address of this machine, so a server that listens on all addresses answers to every IP address.
 */
function hostTest(host: string, more: readonly string[]): (name: string) => boolean {
  const names = new Set([nameIn(isIP(host) === 6 ? `[${host}]` : host), 'localhost', ...more])
  const anyAddress = /^(0\.0\.0\.0|::)$/.test(host)
  return name => names.has(name) || isLoopback(name) || (anyAddress && isIP(name) !== 0)
}

/** Return the name in `Host`, in lower case, without port, brackets and the dot at the end of a full domain. */
function nameIn(authority: string): string {
  const [, address, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(authority.trim()) ?? []
  return (address ?? name).toLowerCase().replace(/\.$/, '')
}

function textsOf(value: readonly string[], place: string): readonly string[] {
  if (Array.isArray(value) && value.every(each => typeof each === 'string')) return value
  throw invalidInput(`${place} must be an array of strings, got ${quote(value)}`)
}

function hostName(text: string): string {
  if (isIP(text) !== 0 || /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?$/i.test(text)) {
    return nameIn(isIP(text) === 6 ? `[${text}]` : text)
  }
  throw invalidInput(`allowHosts has ${quote(text)}, which is not a host name`, {
    hint: 'give the name alone, without scheme and port, as in "data.example"',
  })
}

/** Return an origin as browsers send it: `https://app.example`, lower case, without default port and path. */
function originOf(text: string): string {
  const isWeb = /^https?:/i.test(text)
  const isOrigin = isWeb
    ? URL.canParse(text) && new URL(text).origin === text
    : /^[a-z][a-z0-9+.-]*:\/\/[^\s/,*]+$/.test(text)
  if (isOrigin && !text.includes('*')) return text
  throw invalidInput(`allowOrigins has ${quote(text)}, which is not an origin as browsers send it`, {
    hint: 'give scheme, host and port of each page, as in "https://app.example" or "http://localhost:5173"',
  })
}
