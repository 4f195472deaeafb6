/** Parses the target of a request: the URL after the method. */
import { invalidInput, quote } from '../../src/errors.js'
import { type Dialect, dialectOf } from './dialect.js'

export interface Target {
  /**
   * Host and port, if the client sent a whole URL, as clients of a proxy do. Undefined if the client sent only a path.
   */
  readonly authority: string | undefined
  /** The path as sent, without the query. */
  readonly path: string
  /** The path below the base path, without a trailing slash. Null if the path is outside of the base path. */
  readonly route: string | null
  /** The query as sent, without the `?`. */
  readonly query: string
  readonly dialect: Dialect
}

/**
 * Split a request target into its parts. Segments of the path stay percent-encoded. `.` and `..` have no special
 * meaning.
 */
export function readTarget(url: string, basePath: string): Target {
  // A client of a proxy sends a whole URL. A server must accept this form, too (RFC 9112, 3.2.2).
  const [whole = '', authority] = /^https?:\/\/([^/?]*)/i.exec(url) ?? []
  const [path, query] = splitOnce(url.slice(whole.length), '?')
  const dialect = dialectOf(path)
  const inside = path === basePath || path.startsWith(`${basePath}/`)
  const rest = inside ? path.slice(basePath.length, dialect === 'lance' ? -1 : undefined) : null
  // Lance's namespace client encodes a space in a path as a plus sign. LanceDB's remote client sends a plus sign as
  // itself.
  const route = dialect === 'namespace' && rest !== null ? rest.replaceAll('+', '%20') : rest
  return { authority, path, route, query, dialect }
}

/** Return the part of the path that comes before `route`. */
export function basePathOf({ path, route }: Target): string {
  return path.slice(0, path.lastIndexOf(route ?? ''))
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

const noQuery = new URLSearchParams()

/**
 * Parse the query. Throws InvalidInput for malformed percent-encoding, because a wrongly decoded predicate could delete
 * the wrong rows.
 */
export function readQuery(query: string): URLSearchParams {
  try {
    decodeURIComponent(query)
  } catch {
    throw invalidInput(`the query ${quote(query)} is not valid percent-encoding`)
  }
  return query === '' ? noQuery : new URLSearchParams(query)
}
