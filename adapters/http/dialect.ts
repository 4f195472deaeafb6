/**
 * The differences between the two families of clients. A trailing slash tells them apart: LanceDB's remote client sends one,
 * clients of the namespace specification never do.
 *
 * LanceDB's client retries every 409 and takes every 404 for a missing table, so in its dialect both are sent only if that is
 * right. It reads tags as a bare map, and recognizes an existing table by the words "already exists".
 */
import { ErrorCode, invalidInput, quote, SheafError, unsupported } from '../../src/errors.js'
import type { OperationOptions } from '../../src/protocol/calls.js'
import type { OperationName } from '../../src/protocol/operations.js'

export type Dialect = NonNullable<OperationOptions['dialect']>

/** Return the dialect of a request by its path. */
export function dialectOf(path: string): Dialect {
  return path.length > 1 && path.endsWith('/') ? 'lance' : 'namespace'
}

/**
 * Writes that LanceDB's clients (Node 0.37 and 0.39, Python 0.40) were seen to repeat with the same `x-request-id`. Inserts and merges
 * get a new id each time; requests that create, rename or drop a table are sent once.
 */
const sentAgain: ReadonlySet<OperationName> = new Set<OperationName>([
  'updateTable',
  'deleteFromTable',
  'alterTableAddColumns',
  'alterTableAlterColumns',
  'alterTableDropColumns',
  'updateFieldMetadata',
  'createTableIndex',
  'dropTableIndex',
  'createTableTag',
  'updateTableTag',
  'deleteTableTag',
  'restoreTable',
])

/** Return whether two requests of LanceDB's client with one `x-request-id` are the same request. */
export function repeatsRequestId(userAgent: string | undefined, operation: OperationName): boolean {
  return sentAgain.has(operation) && /^LanceDB-[A-Za-z]+-Client\//.test(userAgent ?? '')
}

/**
 * Return whether a request may come from a client that is newer than this server. Clients of LanceDB and of the Lance Namespace have these
 * names in `user-agent`; those in Rust send no such field. No other client can know names that this server does not.
 */
export function mayBeNewer(userAgent: string | undefined): boolean {
  return userAgent === undefined || /^(LanceDB|OpenAPI-Generator)\b/i.test(userAgent)
}

/** Return the path, with its query, in a dialect. */
export function pathIn(dialect: Dialect, path: string): string {
  return dialect === 'lance' ? path.replace(/(?=\?|$)/, '/') : path
}

/** Return the error for a path without a route. */
export function unknownPath(path: string, dialect: Dialect): SheafError {
  const message = `no operation has the path ${quote(path)}`
  return dialect === 'lance' ? invalidInput(message) : unsupported(message, { status: 404 })
}

/** Return the error in a dialect: the same code, perhaps with another status and a plainer text. */
export function errorIn(
  dialect: Dialect,
  error: SheafError,
  operation: OperationName | undefined,
): { readonly error: SheafError; readonly status: number } {
  if (dialect === 'namespace') return { error, status: error.status }
  const { code, message, kind, hint, at, transactionId } = error
  const status = lanceStatus(error, operation)
  if (code !== ErrorCode.TableAlreadyExists || message.includes('already exists')) return { error, status }
  const text = `${message} (it already exists)`
  return { error: new SheafError(code, text, { status, kind, hint, at, transactionId }), status }
}

function lanceStatus({ code, status }: SheafError, operation: OperationName | undefined): number {
  if (status === 409) return code === ErrorCode.ConcurrentModification ? 409 : 400
  if (status !== 404) return status
  switch (code) {
    case ErrorCode.NamespaceNotFound:
    case ErrorCode.TableNotFound:
    case ErrorCode.IndexNotFound:
      return 404
    case ErrorCode.TableVersionNotFound:
      return operation === 'describeTable' || operation === 'describeTableVersion' ? 404 : 400
    default:
      return 400
  }
}

/** Return the JSON body of a reply in a dialect. */
export function bodyIn(dialect: Dialect, operation: OperationName, body: unknown): unknown {
  return dialect === 'lance' && operation === 'listTableTags' ? (body as { tags: unknown }).tags : body
}

/** The inverse of `bodyIn`. */
export function bodyFrom(dialect: Dialect, operation: OperationName, body: unknown): unknown {
  return dialect === 'lance' && operation === 'listTableTags' ? { tags: body } : body
}
