/**
 * Checks the host name of a request, and whether it comes from a web page that may call the server.
 *
 * A browser sends requests of any web page to any address that it can reach, also to a server on the same machine. Two
 * checks refuse requests of foreign pages:
 *
 * - `Host`: the domain of a page may resolve to the address of the server (DNS rebinding). Its requests still have the
 *   domain of the page as `Host`.
 * - `Origin` and `Sec-Fetch-Site`: the browser sets these fields, and a page cannot change them.
 *
 * Callers that are not browsers send neither `Origin` nor `Sec-Fetch-Site`. Source: the Fetch Standard (CORS), W3C
 * Fetch Metadata.
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { isLoopback } from './loopback.js'
import type { ServeOptions } from './options.js'
import { type HeaderFields, type HttpReply, serverVersion, tableVersion } from './reply.js'
import type { Target } from './request.js'
import type { Found } from './routes.js'

/**
 * Header fields that scripts of allowed origins may read in replies, in addition to the fields that any script may
 * read.
 */
const exposed = ['x-request-id', tableVersion, serverVersion[0], 'retry-after', 'www-authenticate', 'allow']

/** Time for which a browser may cache the reply to a preflight request, seconds. */
const preflightSeconds = 600

/** Routes without these checks, because their replies contain nothing about the data. */
const publicRoutes: ReadonlySet<string | null> = new Set(['/healthz', '/readyz'])

export class Pages {
  /** Returns whether the server answers to a host name. Null: it answers to every name. */
  readonly #hosts: ((name: string) => boolean) | null
  readonly #origins: ReadonlySet<string>

  /** Create the checks. Throws InvalidInput for host names and origins that no browser sends. */
  constructor(
    host: string,
    { auth, allowHosts, allowOrigins = [] }: Pick<ServeOptions, 'auth' | 'allowHosts' | 'allowOrigins'>,
  ) {
    // With `auth`, the Host check is not needed: a foreign page has no credentials to send.
    const anyHost = auth !== undefined && allowHosts === undefined
    this.#hosts = anyHost ? null : hostTest(host, textsOf(allowHosts ?? [], 'allowHosts').map(hostName))
    this.#origins = new Set(textsOf(allowOrigins, 'allowOrigins').map(originOf))
  }

  /**
   * Check a request. Returns the reply to a preflight request of an allowed origin, and null for any other allowed
   * request. Throws PermissionDenied if the server does not answer to the Host, or if the origin of the page is not
   * allowed.
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

  /**
   * Return the header fields that tell a browser whether a page may read the reply. Returns no fields if the options
   * allow no origins.
   */
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
    // Not 204: Node sends no `content-length` with 204, and every other reply has this field.
    status: 200,
    headers: [
      ...['vary', 'access-control-request-method, access-control-request-headers'],
      ...['access-control-allow-methods', methods.join(', ')],
      // Allow all requested fields. `*` would not include `authorization`.
      ...(headers === undefined ? [] : ['access-control-allow-headers', headers]),
      ...['access-control-max-age', String(preflightSeconds)],
    ],
    body: '',
  }
}

function denied(message: string, hint: string): SheafError {
  return new SheafError(ErrorCode.PermissionDenied, message, { hint })
}

/**
 * Return whether a page belongs to this server. Both schemes count, because a proxy in front of the server may use TLS.
 */
function isOwn(origin: string, authority: string | undefined): boolean {
  const own = authority?.toLowerCase()
  return own !== undefined && (origin === `http://${own}` || origin === `https://${own}`)
}

/**
 * Return a function that tells whether the server answers to a host name. It answers to `host`, to the names of this
 * machine, and to `more`. A server that listens on all addresses also answers to every IP address, because a foreign
 * page has a domain name as its host.
 */
function hostTest(host: string, more: readonly string[]): (name: string) => boolean {
  const names = new Set([nameIn(isIP(host) === 6 ? `[${host}]` : host), 'localhost', ...more])
  const anyAddress = /^(0\.0\.0\.0|::)$/.test(host)
  return name => names.has(name) || isLoopback(name) || (anyAddress && isIP(name) !== 0)
}

/**
 * Return the host name of a `Host` value, in lower case. Removes the port, brackets, and the dot at the end of a full
 * domain name.
 */
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
    hint: 'write only the name, without scheme and port, for example "data.example"',
  })
}

/**
 * Check that a text is an origin in the form that browsers send, such as `https://app.example`: in lower case, without
 * default port and path. Returns the text. Throws InvalidInput.
 */
function originOf(text: string): string {
  const isWeb = /^https?:/i.test(text)
  const isOrigin = isWeb
    ? URL.canParse(text) && new URL(text).origin === text
    : /^[a-z][a-z0-9+.-]*:\/\/[^\s/,*]+$/.test(text)
  if (isOrigin && !text.includes('*')) return text
  throw invalidInput(`allowOrigins has ${quote(text)}, which is not an origin as browsers send it`, {
    hint: 'write scheme, host and port, for example "https://app.example" or "http://localhost:5173"',
  })
}
