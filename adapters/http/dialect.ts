/**
 * What differs between the two families of clients, told apart by a trailing slash: LanceDB's remote client sends one,
 * clients of the namespace specification never do.
 *
 * LanceDB's client retries every 409 and takes every 404 for a missing table, so in its dialect both are sent only where
 * that is true. It reads tags as a bare map, and knows "already exists" by these words.
 */
import { ErrorCode, invalidInput, quote, SheafError, unsupported } from '../../src/errors.js'
import type { OperationOptions } from '../../src/protocol/calls.js'
import type { OperationName } from '../../src/protocol/operations.js'

export type Dialect = NonNullable<OperationOptions['dialect']>

/** What the path of a request says. */
export function dialectOf(path: string): Dialect {
  return path.length > 1 && path.endsWith('/') ? 'lance' : 'namespace'
}

/**
 * Writes that LanceDB's clients (Node 0.37 and 0.39, Python 0.40) were seen to send again under the `x-request-id` they had: rows
 * that are inserted or merged get another id each time, and what makes, renames or drops a table is sent once.
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

/** Whether two requests of that client with one `x-request-id` are the same one. */
export function repeatsRequestId(userAgent: string | undefined, operation: OperationName): boolean {
  return sentAgain.has(operation) && /^LanceDB-[A-Za-z]+-Client\//.test(userAgent ?? '')
}

/**
 * Whether a request may come from a release of a client that is newer than this server: those of LanceDB and of the Lance Namespace name
 * themselves so, or, written in Rust, not at all. Nobody else can know names that this server does not.
 */
export function mayBeNewer(userAgent: string | undefined): boolean {
  return userAgent === undefined || /^(LanceDB|OpenAPI-Generator)\b/i.test(userAgent)
}

/** The path, with its query, that asks for a dialect. */
export function pathIn(dialect: Dialect, path: string): string {
  return dialect === 'lance' ? path.replace(/(?=\?|$)/, '/') : path
}

/** The error for a path no route has. */
export function unknownPath(path: string, dialect: Dialect): SheafError {
  const message = `no operation has the path ${quote(path)}`
  return dialect === 'lance' ? invalidInput(message) : unsupported(message, { status: 404 })
}

/** The error as the dialect says it: the same code, perhaps another status and a plainer text. */
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

/** The JSON body of a reply as the dialect has it. */
export function bodyIn(dialect: Dialect, operation: OperationName, body: unknown): unknown {
  return dialect === 'lance' && operation === 'listTableTags' ? (body as { tags: unknown }).tags : body
}

/** The inverse of `bodyIn`. */
export function bodyFrom(dialect: Dialect, operation: OperationName, body: unknown): unknown {
  return dialect === 'lance' && operation === 'listTableTags' ? { tags: body } : body
}
