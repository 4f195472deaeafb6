/**
 * Reads and writes the header fields that all operations share: caller, context, table, database. For each field, the
 * reader is the inverse of the writer.
 */
import { type IncomingHttpHeaders, validateHeaderName, validateHeaderValue } from 'node:http'
import { invalidInput, quote } from '../../src/errors.js'
import type { OperationOptions } from '../../src/protocol/calls.js'
import type { OperationName } from '../../src/protocol/operations.js'
import type { Identity } from '../../src/protocol/request-fields.js'
import { repeatsRequestId } from './dialect.js'

export type Caller = Pick<OperationOptions, 'identity' | 'context' | 'table'>

/**
 * Default prefixes of context fields. Clients of Sheaf use the first prefix; the others are those of other products.
 */
const contextPrefixes: readonly string[] = ['x-sheaf-ctx-', 'x-ns-ctx-', 'x-lance-ctx-']

/** Header field with the UUID of the table. A client sends it so that the call finds the table also after a rename. */
const tableHeader = 'x-sheaf-table'

/** Header field with the maximum age of the state that a read may use, in milliseconds. */
const stalenessHeader = 'x-sheaf-max-staleness-ms'

const databaseHeader = 'x-lancedb-database'
/** Header field with the namespaces below the database, joined by slashes. */
const belowDatabaseHeader = 'x-lancedb-database-prefix'

/** Header fields with credentials. They never become part of the context, and are never logged. */
const credentials: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'cookie',
])

/**
 * Check the prefixes of context fields, and return them. Throws InvalidInput for a prefix with which no header field
 * can begin.
 */
export function resolvePrefixes(prefixes: readonly string[] = contextPrefixes): readonly string[] {
  if (!Array.isArray(prefixes)) throw invalidInput(`contextPrefixes must be an array, got ${quote(prefixes)}`)
  for (const prefix of prefixes) {
    if (typeof prefix === 'string' && /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(prefix)) continue
    throw invalidInput(`contextPrefixes has ${quote(prefix)}, which no header field can begin with`, {
      hint: 'use lower-case letters, digits and "-", as in "x-acme-ctx-"',
    })
  }
  return prefixes
}

/**
 * Return the identity, the context and the table from the header. Fields without a value are absent. Names of context
 * entries are in lower case. If several prefixes give the same name, the earlier prefix wins.
 */
export function readCaller(headers: IncomingHttpHeaders, prefixes: readonly string[]): Caller {
  const identity = readIdentity(headers)
  const table = one(headers[tableHeader]) || undefined
  const context = contextIn(headers, prefixes)
  return {
    ...(identity !== undefined && { identity }),
    ...(context !== undefined && { context }),
    ...(table !== undefined && { table }),
  }
}

/**
 * Return the `x-request-id`, for the log and the reply. The id need not be unique, because proxies pass on the id of
 * their own caller.
 */
export function readRequestId(headers: IncomingHttpHeaders): string | undefined {
  return one(headers['x-request-id']) || undefined
}

const keyHeader = 'idempotency-key'

/**
 * Return the idempotency key of a call. The key is the header field `idempotency-key`, or else the `x-request-id` if
 * the client is one of LanceDB's that repeats requests under the same id. The key includes the principal, so that equal
 * keys of two principals differ. Throws InvalidInput for an empty key.
 */
export function readKey(
  headers: IncomingHttpHeaders,
  operation: OperationName,
  principal: string | undefined,
): string | undefined {
  const given = one(headers[keyHeader])
  if (given === '')
    throw invalidInput(`${keyHeader} is empty`, { hint: 'send a new key, or leave out the field' })
  const key =
    given ?? (repeatsRequestId(headers['user-agent'], operation) ? readRequestId(headers) : undefined)
  return key === undefined || principal === undefined ? key : JSON.stringify([principal, key])
}

/** Return the maximum age of the state that a read may use. Throws InvalidInput unless it is a number of milliseconds. */
export function readStaleness(headers: IncomingHttpHeaders): number | undefined {
  const text = one(headers[stalenessHeader])
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw invalidInput(`${stalenessHeader} must be a number of milliseconds >= 0, got ${quote(text)}`)
}

/** Return the credentials in the header without checking them, or undefined if there are none. */
export function readIdentity(headers: IncomingHttpHeaders): Identity | undefined {
  const token = /^bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]
  const key = one(headers['x-api-key'])
  if (token === undefined && key === undefined) return undefined
  return { ...(key !== undefined && { api_key: key }), ...(token !== undefined && { auth_token: token }) }
}

function contextIn(
  headers: IncomingHttpHeaders,
  prefixes: readonly string[],
): Record<string, string> | undefined {
  const found: { readonly which: number; readonly entry: [string, string] }[] = []
  for (const name in headers) {
    const which = prefixes.findIndex(prefix => name.startsWith(prefix))
    if (which === -1 || credentials.has(name) || name === prefixes[which]) continue
    found.push({ which, entry: [name.slice(prefixes[which]!.length), one(headers[name])!] })
  }
  if (found.length === 0) return undefined
  return Object.fromEntries(found.sort((a, b) => b.which - a.which).map(({ entry }) => entry))
}

/**
 * Return the context, with every header field except credentials added as `header.<name>`, in lower case. Call this
 * only if needed: it takes several times as long as reading the rest of a header.
 */
export function withHeaders(
  context: Readonly<Record<string, string>>,
  headers: IncomingHttpHeaders,
): Readonly<Record<string, string>> {
  const all: Record<string, string> = { ...context }
  for (const name in headers) if (!credentials.has(name)) all[`header.${name}`] = one(headers[name])!
  return all
}

/**
 * Return the database of a request: its name and the namespaces below it, joined by slashes. Undefined if the request
 * has no database.
 */
export function readDatabase(headers: IncomingHttpHeaders): string | undefined {
  const name = one(headers[databaseHeader]) || undefined
  const below = one(headers[belowDatabaseHeader]) || undefined
  return below === undefined ? name : `${name ?? ''}/${below}`
}

/**
 * Return the identity in a JSON body, for requests without credentials in the header. Throws InvalidInput for an
 * invalid identity. The message does not quote the identity, which may contain a part of a secret.
 */
export function identityIn(body: unknown): Identity | undefined {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, 'identity')) return undefined
  const { identity } = body as { readonly identity: unknown }
  if (identity === undefined || identity === null) return undefined
  const { api_key, auth_token } = identity as Record<keyof Identity, unknown>
  const isObject = typeof identity === 'object' && !Array.isArray(identity)
  if (!isObject || !isTextOrAbsent(api_key) || !isTextOrAbsent(auth_token)) {
    throw invalidInput('identity must be an object with the strings api_key and auth_token')
  }
  return { ...(api_key != null && { api_key }), ...(auth_token != null && { auth_token }) }
}

function isTextOrAbsent(value: unknown): value is string | null | undefined {
  return typeof value === 'string' || value === undefined || value === null
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

/**
 * Return the header fields that carry the identity, context, key, table and freshness of a call. Throws InvalidInput for a value
 * that a header field cannot carry.
 */
export function writeCaller({
  identity,
  context,
  idempotencyKey,
  table,
  maxStalenessMs,
}: Caller & Pick<OperationOptions, 'idempotencyKey' | 'maxStalenessMs'>): Record<string, string> {
  const headers: Record<string, string> = {}
  if (identity?.api_key !== undefined) headers['x-api-key'] = identity.api_key
  if (identity?.auth_token !== undefined) headers.authorization = `Bearer ${identity.auth_token}`
  if (idempotencyKey !== undefined) headers[keyHeader] = idempotencyKey
  if (table !== undefined) headers[tableHeader] = table
  if (maxStalenessMs !== undefined) headers[stalenessHeader] = String(maxStalenessMs)
  for (const [name, value] of Object.entries(context ?? {})) headers[contextPrefixes[0] + name] = value
  checkHeaders(headers)
  return headers
}

/**
 * Check the header fields that a client wants to send. Throws InvalidInput for a name or value that HTTP does not
 * allow. The message does not contain the value.
 */
export function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch (cause) {
      throw invalidInput(`the header field ${JSON.stringify(name)} has a character that HTTP forbids`, {
        cause,
      })
    }
  }
}
