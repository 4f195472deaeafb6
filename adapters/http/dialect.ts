/**
 * Handles the differences between the two families of clients. LanceDB's remote client adds a slash to the end of each
 * path; clients of the namespace specification never do.
 *
 * LanceDB's client retries after every status 409, and reads every status 404 as a missing table. So in its dialect,
 * other errors with these statuses are sent as 400. The client reads tags as a bare map, and recognizes an
 * existing table by the words "already exists".
 */
import { ErrorCode, invalidInput, quote, SheafError, unsupported } from '../../src/errors.js'
import type { OperationOptions } from '../../src/protocol/calls.js'
import type { OperationName } from '../../src/protocol/operations.js'

export type Dialect = NonNullable<OperationOptions['dialect']>

/** Return the dialect of a request, which its path determines. */
export function dialectOf(path: string): Dialect {
  return path.length > 1 && path.endsWith('/') ? 'lance' : 'namespace'
}

/**
 * Writes that LanceDB's clients (Node 0.37 and 0.39, Python 0.40) repeat under the same `x-request-id`. These clients
 * use a new id for each insert and merge, and never repeat a request that creates, renames or drops a table.
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

/**
 * Return whether a client of LanceDB repeats this operation under the same `x-request-id`. Two requests with one id are
 * then the same request.
 */
export function repeatsRequestId(userAgent: string | undefined, operation: OperationName): boolean {
  return sentAgain.has(operation) && /^LanceDB-[A-Za-z]+-Client\//.test(userAgent ?? '')
}

/**
 * Return whether a request may come from a client that is newer than this server. Clients of LanceDB and of the Lance
 * Namespace name themselves in `user-agent`, or send no `user-agent` if they are written in Rust. Other clients cannot
 * know names that this server does not know.
 */
export function mayBeNewer(userAgent: string | undefined): boolean {
  return userAgent === undefined || /^(LanceDB|OpenAPI-Generator)\b/i.test(userAgent)
}

/** Convert a path, which may have a query, to its form in a dialect. */
export function pathIn(dialect: Dialect, path: string): string {
  return dialect === 'lance' ? path.replace(/(?=\?|$)/, '/') : path
}

/** Return the error for a path without a route. */
export function unknownPath(path: string, dialect: Dialect): SheafError {
  const message = `no operation has the path ${quote(path)}`
  return dialect === 'lance' ? invalidInput(message) : unsupported(message, { status: 404 })
}

/** Convert an error to its form in a dialect: the code stays the same, but the status and the text may differ. */
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

/** Convert the JSON body of a reply to its form in a dialect. */
export function bodyIn(dialect: Dialect, operation: OperationName, body: unknown): unknown {
  return dialect === 'lance' && operation === 'listTableTags' ? (body as { tags: unknown }).tags : body
}

/** Convert the JSON body of a reply back from its form in a dialect. The inverse of `bodyIn`. */
export function bodyFrom(dialect: Dialect, operation: OperationName, body: unknown): unknown {
  return dialect === 'lance' && operation === 'listTableTags' ? { tags: body } : body
}
