/**
 * Converts errors to JSON and back. The JSON has fields for two families of clients: one family reads `code`, the other
 * reads `type` and `title` (RFC 9457).
 */
import { ErrorCode, type ErrorKind, SheafError, type SourceSpan } from '../errors.js'

export interface ErrorBody {
  readonly type: `/errors/${ErrorKind}`
  readonly title: string
  /** The HTTP status of the reply. */
  readonly status: number
  /** The message, followed by its hint. */
  readonly detail: string
  /** Path of the request. */
  readonly instance: string
  readonly code: ErrorCode
  /** The message without the hint. */
  readonly error: string
  readonly hint?: string
  readonly at?: SourceSpan
  readonly transaction_id?: string
  /** The place in the npm package that describes the code. */
  readonly docs: string
}

/** Titles from the examples of the specification. The titles of the last two kinds are Sheaf's own. */
const titles: Readonly<Record<ErrorKind, string>> = {
  'bad-request': 'Malformed request',
  'unauthorized-request': 'No valid authentication credentials for the operation',
  'forbidden-request': 'Not authorized to make this request',
  'not-found-error': 'Not found Error',
  'unsupported-operation': 'The server does not support this operation',
  conflict: 'The namespace has been concurrently modified',
  'service-unavailable': 'Slow down',
  'server-error': 'Internal Server Error',
  throttled: 'Too many requests',
  'commit-state-unknown': 'The outcome of the commit is unknown',
}

/** Titles of errors of the kind `conflict` that are not caused by a concurrent writer. */
const conflictTitles: Partial<Record<ErrorCode, string>> = {
  [ErrorCode.NamespaceAlreadyExists]: 'The namespace already exists',
  [ErrorCode.NamespaceNotEmpty]: 'The namespace is not empty',
  [ErrorCode.TableAlreadyExists]: 'The table already exists',
  [ErrorCode.IndexAlreadyExists]: 'The index already exists',
  [ErrorCode.TagAlreadyExists]: 'The tag already exists',
  [ErrorCode.BranchAlreadyExists]: 'The branch already exists',
  [ErrorCode.InvalidTableState]: 'The table is not in a state for the operation',
}

function titleOf({ kind, code, status }: SheafError): string {
  if (status === 408) return 'Request timeout'
  return (kind === 'conflict' ? conflictTitles[code] : undefined) ?? titles[kind]
}

/**
 * Return the body for an error. `instance`: path of the request. `status`: HTTP status; default: the status of the
 * error. The status differs from the default only in one dialect.
 */
export function errorBody(error: SheafError, instance: string, status: number = error.status): ErrorBody {
  return {
    type: `/errors/${error.kind}`,
    title: titleOf(error),
    status,
    detail: error.hint === undefined ? error.message : `${error.message} (${error.hint})`,
    instance,
    code: error.code,
    error: error.message,
    ...(error.hint !== undefined && { hint: error.hint }),
    ...(error.at !== undefined && { at: error.at }),
    ...(error.transactionId !== undefined && { transaction_id: error.transactionId }),
    docs: error.docs,
  }
}

/**
 * Return the error that a reply describes. If `errorBody` made the body, this is the original error. For a body from
 * another program, it is an error with the most similar code.
 */
export function errorFrom(status: number, body: unknown): SheafError {
  const fields = typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {}
  const code = isCode(fields.code) ? fields.code : codeOf(status)
  const message =
    text(fields.error) ?? text(fields.detail) ?? text(body) ?? `the server answered with status ${status}`
  return new SheafError(code, message, {
    status,
    kind: kindOf(fields.type),
    hint: text(fields.hint),
    at: spanOf(fields.at),
    transactionId: text(fields.transaction_id),
  })
}

const codes: ReadonlySet<unknown> = new Set(Object.values(ErrorCode))

function isCode(value: unknown): value is ErrorCode {
  return codes.has(value)
}

function codeOf(status: number): ErrorCode {
  switch (status) {
    case 400:
    case 413:
    case 415:
      return ErrorCode.InvalidInput
    case 401:
      return ErrorCode.Unauthenticated
    case 403:
      return ErrorCode.PermissionDenied
    case 404:
    case 405:
    case 406:
    case 501:
      return ErrorCode.Unsupported
    case 409:
      return ErrorCode.ConcurrentModification
    case 429:
      return ErrorCode.Throttling
    case 502:
    case 503:
    case 504:
      return ErrorCode.ServiceUnavailable
    default:
      return ErrorCode.Internal
  }
}

function kindOf(type: unknown): ErrorKind | undefined {
  const kind = typeof type === 'string' ? type.replace('/errors/', '') : ''
  return Object.hasOwn(titles, kind) ? (kind as ErrorKind) : undefined
}

function spanOf(value: unknown): SourceSpan | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { offset, length } = value as Readonly<Record<string, unknown>>
  return typeof offset === 'number' && typeof length === 'number' ? { offset, length } : undefined
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
