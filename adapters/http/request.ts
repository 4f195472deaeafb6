/** Reading where a request goes. */
import { invalidInput, quote } from '../../src/errors.js'
import { type Dialect, dialectOf } from './dialect.js'

export interface Target {
  /** Host and port where the client sent a whole URL, as it does to a proxy; undefined where it sent a path. */
  readonly authority: string | undefined
  /** As sent, without the query. */
  readonly path: string
  /** Below the base path, without trailing slash; null outside of it. */
  readonly route: string | null
  /** As sent, without the `?`. */
  readonly query: string
  readonly dialect: Dialect
}

/** The parts of a request target. Segments stay percent-encoded, and `.` and `..` are names like any other. */
export function readTarget(url: string, basePath: string): Target {
  // Who speaks to a proxy sends the whole URL; servers take that too (RFC 9112, 3.2.2).
  const [whole = '', authority] = /^https?:\/\/([^/?]*)/i.exec(url) ?? []
  const [path, query] = splitOnce(url.slice(whole.length), '?')
  const dialect = dialectOf(path)
  const inside = path === basePath || path.startsWith(`${basePath}/`)
  const rest = inside ? path.slice(basePath.length, dialect === 'lance' ? -1 : undefined) : null
  // Lance's namespace client encodes paths as it would a form; its remote client sends a plus sign as it is.
  const route = dialect === 'namespace' && rest !== null ? rest.replaceAll('+', '%20') : rest
  return { authority, path, route, query, dialect }
}

/** What comes before `route` in the path. */
export function basePathOf({ path, route }: Target): string {
  return path.slice(0, path.lastIndexOf(route ?? ''))
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

const noQuery = new URLSearchParams()

/** Query parameters, to be read. Malformed percent-encoding is InvalidInput: a predicate read wrong could delete the wrong rows. */
export function readQuery(query: string): URLSearchParams {
  try {
    decodeURIComponent(query)
  } catch {
    throw invalidInput(`the query ${quote(query)} is not valid percent-encoding`)
  }
  return query === '' ? noQuery : new URLSearchParams(query)
}
