/**
 * Converts calls to parts of HTTP requests (path, query and body) and back, and replies to bodies and back. Writing and
 * reading are inverse functions. The table of operations defines both.
 *
 * - `identity` and `context` are sent as header fields. The adapter reads and writes these fields. A JSON body may also
 *   have `identity` and `context`.
 * - If both path and body have a value, the values must be equal. If both query and body have a field, the body takes
 *   precedence.
 */
import { invalidInput, quote } from '../errors.js'
import {
  agreeOnId,
  decodeSegment,
  defaultDelimiter,
  delimiterFor,
  encodeSegment,
  formatId,
  parseId,
} from './identifiers.js'
import type { OperationEntry } from './operations.js'
import { parseReply, refuseName } from './parse.js'
import type { Shape } from './shape.js'

/** The parts of an HTTP request. */
export interface WireParts {
  /** By placeholder of the route: the segment of the path, still percent-encoded. */
  readonly segments: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The parsed JSON body; undefined if the request has no body. */
  readonly body: unknown
}

/**
 * Assemble a request from its parts, without validating the request. Throws InvalidInput for malformed parts, for parts
 * that contradict each other, and for unknown query parameters. If `skipped` is given, names of unknown parameters are
 * added to this array instead.
 */
export function readRequest(
  entry: OperationEntry,
  parts: WireParts,
  skipped?: string[],
): Record<string, unknown> {
  checkParameters(entry, parts.query, skipped)
  const request = { ...bodyFields(entry, parts.body) }
  for (const name of entry.query) {
    const texts = parts.query.getAll(name)
    if (texts.length > 0 && (request[name] === undefined || request[name] === null)) {
      request[name] = fromText(entry.request.fields[name]!.shape, texts)
    }
  }
  if (entry.target !== 'none') request.id = readId(entry, parts, request.id)
  const index = parts.segments.index_name
  if (index !== undefined) request.index_name = agreeOnIndex(decodeSegment(index), request.index_name)
  const { column, row_id: rowId } = parts.segments
  if (column !== undefined) request.column = decodeSegment(column)
  if (rowId !== undefined) request.row_ids = [/^\d{1,20}$/.test(rowId) ? Number(rowId) : rowId]
  return request
}

/** Check the names of query parameters. `delimiter` is always allowed: clients send it with every request. */
function checkParameters(entry: OperationEntry, query: URLSearchParams, skipped?: string[]): void {
  for (const name of query.keys()) {
    if (name === 'delimiter' || entry.query.includes(name)) continue
    if (skipped === undefined)
      refuseName(name, [...new Set([...entry.query, 'delimiter'])], 'the query of the URL')
    skipped.push(`?${name}`)
  }
}

function bodyFields(entry: OperationEntry, body: unknown): Record<string, unknown> {
  if (entry.bare !== undefined) return { [entry.bare]: body }
  if (body === undefined || body === null) return {}
  if (typeof body !== 'object' || Array.isArray(body)) {
    throw invalidInput(`the body must be a JSON object, got ${quote(body)}`)
  }
  return body as Record<string, unknown>
}

/**
 * Read the id of the object. A path without `{id}` names the root. For transactions, an id in the body is ignored,
 * because clients send the id of a table there.
 */
function readId(entry: OperationEntry, parts: WireParts, fromBody: unknown): unknown {
  const delimiter = parts.query.get('delimiter') ?? defaultDelimiter
  const path = decodeSegment(parts.segments.id ?? encodeURIComponent(delimiter))
  if (entry.target === 'transaction' || fromBody === undefined || fromBody === null)
    return parseId(path, delimiter)
  const isPath = Array.isArray(fromBody) && fromBody.every(name => typeof name === 'string')
  // Some clients write all fields, so the body has an empty id if their caller did not set it.
  if (isPath && fromBody.length === 0) return parseId(path, delimiter)
  return isPath ? agreeOnId(path, fromBody, delimiter) : fromBody
}

function agreeOnIndex(fromPath: string, fromBody: unknown): string {
  if (fromBody === undefined || fromBody === null || fromBody === fromPath) return fromPath
  throw invalidInput(`index_name in the path is ${quote(fromPath)} but in the body ${quote(fromBody)}`)
}

/**
 * Convert a query parameter to a value of `shape`. A text that does not fit is returned unchanged; validation refuses
 * it.
 */
function fromText(shape: Shape, texts: readonly string[]): unknown {
  switch (shape.kind) {
    case 'accept':
    case 'nullable':
      return fromText(shape.shape, texts)
    case 'array':
      return texts
  }
  if (texts.length > 1) return texts
  const text = texts[0]!
  switch (shape.kind) {
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'integer':
      return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
    case 'record':
    case 'json':
      return jsonOr(text)
    default:
      return text
  }
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export interface WireRequest {
  readonly method: 'GET' | 'POST'
  /** Path and query, percent-encoded. */
  readonly path: string
  /** JSON text; null if the body is Arrow data, or if the request has no body. */
  readonly body: string | null
}

/** Write a request in normal form for the first route of its operation. */
export function writeRequest(entry: OperationEntry, request: Readonly<Record<string, unknown>>): WireRequest {
  const [method, template] = entry.routes[0].split(' ') as ['GET' | 'POST', string]
  const { identity: _, context: __, id, index_name: index, ...fields } = request
  const names = (id ?? []) as readonly string[]
  const delimiter = delimiterFor(names)
  const query = new URLSearchParams()
  if (entry.target !== 'none' && delimiter !== defaultDelimiter) query.set('delimiter', delimiter)
  const fitsBody = entry.body === 'json' && entry.bare === undefined
  const rest: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    if (!fitsBody && entry.query.includes(name))
      addText(query, name, entry.request.fields[name]!.shape, value)
    else rest[name] = value
  }
  const path = template
    .replace('{id}', encodeSegment(formatId(names, delimiter)))
    .replace('{index_name}', encodeSegment(String(index)))
  return {
    method,
    path: query.size === 0 ? path : `${path}?${query}`,
    body: bodyText(entry, rest),
  }
}

function addText(query: URLSearchParams, name: string, shape: Shape, value: unknown): void {
  if (shape.kind === 'json') query.append(name, JSON.stringify(value))
  else if (Array.isArray(value)) for (const item of value) query.append(name, String(item))
  else query.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
}

function bodyText(entry: OperationEntry, fields: Readonly<Record<string, unknown>>): string | null {
  if (entry.body === 'arrow' || (entry.body === 'none' && Object.keys(fields).length === 0)) return null
  return JSON.stringify(withArrays(entry.bare === undefined ? fields : fields[entry.bare]))
}

/** Convert typed arrays to arrays, which JSON can represent. */
function withArrays(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<number>)
  if (Array.isArray(value)) return typeof value[0] === 'number' ? value : value.map(withArrays)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withArrays(item)]))
}

/** Return the JSON body of a reply: each field under all its names, or the bare value if the operation returns one. */
export function writeReply(entry: OperationEntry, reply: unknown): unknown {
  if (entry.response?.kind !== 'object') return reply
  const body = { ...(reply as Record<string, unknown>) }
  if (entry.bare !== undefined) return body[entry.bare]
  for (const [name, field] of Object.entries(entry.response.fields)) {
    for (const other of field.also) body[other] = body[name]
  }
  return body
}

/** Read the reply from a JSON body. Throws InvalidInput for a body that is not a valid reply. */
export function readReply(entry: OperationEntry, body: unknown, name: string): unknown {
  if (entry.response === null) return undefined
  const reply = entry.bare === undefined ? body : { [entry.bare]: body }
  return parseReply(entry.response, reply, `the reply of ${name}`)
}
