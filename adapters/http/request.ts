/** Reading what a client sends: where to, and what. */
import type { IncomingMessage } from 'node:http'
import { invalidInput, quote, SheafError } from '../../src/errors.js'
import { readJson } from '../../src/protocol/json.js'
import { joined } from '../bytes.js'
import { type Dialect, dialectOf } from './dialect.js'

/** The most JSON a request may hold, whatever the limit on bodies: it is read and parsed as a whole. */
const maxJsonBytes = 16 << 20

export interface Target {
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
  const [path, query] = splitOnce(url, '?')
  const dialect = dialectOf(path)
  const inside = path === basePath || path.startsWith(`${basePath}/`)
  const rest = inside ? path.slice(basePath.length, dialect === 'lance' ? -1 : undefined) : null
  // Lance's namespace client encodes paths as it would a form; its remote client sends a plus sign as it is.
  const route = dialect === 'namespace' && rest !== null ? rest.replaceAll('+', '%20') : rest
  return { path, route, query, dialect }
}

/** What comes before `route` in the path. */
export function basePathOf({ path, route }: Target): string {
  return path.slice(0, path.lastIndexOf(route ?? ''))
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

/** Query parameters. Malformed percent-encoding is InvalidInput: a predicate read wrong could delete the wrong rows. */
export function readQuery(query: string): URLSearchParams {
  try {
    decodeURIComponent(query)
  } catch {
    throw invalidInput(`the query ${quote(query)} is not valid percent-encoding`)
  }
  return new URLSearchParams(query)
}

/** The JSON body, or undefined where nothing was sent. Another content type, or text that is not JSON, is InvalidInput. */
export async function readJsonBody(message: IncomingMessage, maxBytes: number): Promise<unknown> {
  const limit = Math.min(maxBytes, maxJsonBytes)
  const chunks: Uint8Array[] = []
  for await (const chunk of readUpload(message, limit)) chunks.push(chunk)
  if (chunks.length === 0) return undefined
  const type = message.headers['content-type']
  if (type === undefined || !/^application\/([\w.+-]+\+)?json *(;|$)/i.test(type)) {
    throw invalidInput(`the body has the content type ${quote(type ?? 'none')}`, {
      hint: 'send application/json',
    })
  }
  return readJson(joined(chunks), limit)
}

/**
 * The body, chunk by chunk; nothing is read before it is asked for. Throws InvalidInput with status 413 above `maxBytes`,
 * and where the connection ends before the body does, so that part of an upload is never taken for the whole. The message
 * outlives its reader: the reply still has to go out on its socket.
 */
export async function* readUpload(message: IncomingMessage, maxBytes: number): AsyncGenerator<Uint8Array> {
  let length = Number(message.headers['content-length'] ?? 0)
  if (length > maxBytes) throw tooLarge(maxBytes)
  length = 0
  try {
    for await (const chunk of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      length += chunk.length
      if (length > maxBytes) throw tooLarge(maxBytes)
      yield chunk
    }
  } catch (cause) {
    if (cause instanceof SheafError) throw cause
    throw cutShort(length, cause)
  }
  if (!message.complete) throw cutShort(length)
}

function tooLarge(maxBytes: number): SheafError {
  return invalidInput(`the body is larger than the limit of ${maxBytes} bytes`, { status: 413 })
}

function cutShort(length: number, cause?: unknown): SheafError {
  return invalidInput(`the connection ended after ${length} bytes of the body, before its end`, { cause })
}
