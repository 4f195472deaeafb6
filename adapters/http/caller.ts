/** Who calls, and with what context: header fields that belong to no operation. Read and write are inverses. */
import { type IncomingHttpHeaders, validateHeaderName, validateHeaderValue } from 'node:http'
import { invalidInput, quote } from '../../src/errors.js'
import type { OperationOptions } from '../../src/protocol/calls.js'
import type { OperationName } from '../../src/protocol/operations.js'
import type { Identity } from '../../src/protocol/request-fields.js'
import { repeatsRequestId } from './dialect.js'

export type Caller = Pick<OperationOptions, 'identity' | 'context' | 'table'>

/** The first is the one clients should use; the others are of other products. */
const contextPrefixes: readonly string[] = ['x-sheaf-ctx-', 'x-ns-ctx-', 'x-lance-ctx-']

/** The table a call is about, whatever it is called now. */
const tableHeader = 'x-sheaf-table'

const databaseHeader = 'x-lancedb-database'
/** Names below that database, joined by slashes. */
const belowDatabaseHeader = 'x-lancedb-database-prefix'

/** Header fields that show who somebody is. Never context, and never in a log. */
const credentials: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'cookie',
])

/** The prefixes of header fields that are context. Throws code 13 for what no header field begins with. */
export function settlePrefixes(prefixes: readonly string[] = contextPrefixes): readonly string[] {
  if (!Array.isArray(prefixes)) throw invalidInput(`contextPrefixes must be an array, got ${quote(prefixes)}`)
  for (const prefix of prefixes) {
    if (typeof prefix === 'string' && /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(prefix)) continue
    throw invalidInput(`contextPrefixes has ${quote(prefix)}, which begins no header field`, {
      hint: 'use lower-case letters, digits and "-", as in "x-acme-ctx-"',
    })
  }
  return prefixes
}

/**
 * What the header says; fields it says nothing about are absent. Names of context entries are in lower case. Where several prefixes give one
 * name, the earlier prefix counts.
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

/** What a client calls a request, for the log and for the reply. It need not be unique: proxies pass on that of their own caller. */
export function readRequestId(headers: IncomingHttpHeaders): string | undefined {
  return one(headers['x-request-id']) || undefined
}

const keyHeader = 'idempotency-key'

/**
 * The idempotency key of a call: that of the header field made for it; or the id of a request that a client of LanceDB's sends
 * again under the same id. Keys of two principals are two keys. Throws code 13 for one that is empty.
 */
export function readKey(
  headers: IncomingHttpHeaders,
  operation: OperationName,
  principal: string | undefined,
): string | undefined {
  const given = one(headers[keyHeader])
  if (given === '') throw invalidInput(`${keyHeader} is empty`, { hint: 'send a fresh key, or none' })
  const key =
    given ?? (repeatsRequestId(headers['user-agent'], operation) ? readRequestId(headers) : undefined)
  return key === undefined || principal === undefined ? key : JSON.stringify([principal, key])
}

/** The credentials in the header, right or wrong. */
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
 * The context with every header field beside it as `header.<name>`, in lower case, but no credentials. It takes several times as long as reading
 * the rest of a header, so it is made where somebody looks.
 */
export function withHeaders(
  context: Readonly<Record<string, string>>,
  headers: IncomingHttpHeaders,
): Readonly<Record<string, string>> {
  const all: Record<string, string> = { ...context }
  for (const name in headers) if (!credentials.has(name)) all[`header.${name}`] = one(headers[name])!
  return all
}

/** The database a request is for: its name, and names below it, joined by slashes. Undefined where it names none. */
export function readDatabase(headers: IncomingHttpHeaders): string | undefined {
  const name = one(headers[databaseHeader]) || undefined
  const below = one(headers[belowDatabaseHeader]) || undefined
  return below === undefined ? name : `${name ?? ''}/${below}`
}

/**
 * The identity in a JSON body, for callers whose header has none. Throws code 13 for what is none, and does not say what it is: it
 * might be half a secret.
 */
export function identityIn(body: unknown): Identity | undefined {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, 'identity')) return undefined
  const { identity } = body as { readonly identity: unknown }
  if (identity === undefined || identity === null) return undefined
  const { api_key, auth_token } = identity as Record<keyof Identity, unknown>
  const isObject = typeof identity === 'object' && !Array.isArray(identity)
  if (!isObject || !isTextOrAbsent(api_key) || !isTextOrAbsent(auth_token)) {
    throw invalidInput('identity must be an object of the texts api_key and auth_token')
  }
  return { ...(api_key != null && { api_key }), ...(auth_token != null && { auth_token }) }
}

function isTextOrAbsent(value: unknown): value is string | null | undefined {
  return typeof value === 'string' || value === undefined || value === null
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

/** The header fields that say so. What no header can carry is InvalidInput. */
export function writeCaller({
  identity,
  context,
  idempotencyKey,
  table,
}: Caller & Pick<OperationOptions, 'idempotencyKey'>): Record<string, string> {
  const headers: Record<string, string> = {}
  if (identity?.api_key !== undefined) headers['x-api-key'] = identity.api_key
  if (identity?.auth_token !== undefined) headers.authorization = `Bearer ${identity.auth_token}`
  if (idempotencyKey !== undefined) headers[keyHeader] = idempotencyKey
  if (table !== undefined) headers[tableHeader] = table
  for (const [name, value] of Object.entries(context ?? {})) headers[contextPrefixes[0] + name] = value
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch (cause) {
      throw invalidInput(`the header field ${JSON.stringify(name)} cannot carry this name or value`, {
        cause,
      })
    }
  }
  return headers
}
