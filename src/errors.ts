/**
 * The one error class and what each code tells the caller to do.
 *
 * Codes 0-23 and their HTTP statuses are those of the Lance Namespace error model
 * (`code`, `error`, `detail`, `instance`); `kind` is the last segment of the wire field `type`.
 * Messages are lower-case sentences that name the offending value; codes are API, messages are not.
 */

export const ErrorCode = {
  Unsupported: 0,
  NamespaceNotFound: 1,
  NamespaceAlreadyExists: 2,
  NamespaceNotEmpty: 3,
  TableNotFound: 4,
  TableAlreadyExists: 5,
  IndexNotFound: 6,
  IndexAlreadyExists: 7,
  TagNotFound: 8,
  TagAlreadyExists: 9,
  TransactionNotFound: 10,
  TableVersionNotFound: 11,
  ColumnNotFound: 12,
  InvalidInput: 13,
  ConcurrentModification: 14,
  PermissionDenied: 15,
  Unauthenticated: 16,
  ServiceUnavailable: 17,
  Internal: 18,
  InvalidTableState: 19,
  SchemaValidation: 20,
  Throttling: 21,
  BranchNotFound: 22,
  BranchAlreadyExists: 23,
} as const

export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode]

export type ErrorKind =
  | 'bad-request'
  | 'unauthorized-request'
  | 'forbidden-request'
  | 'not-found-error'
  | 'unsupported-operation'
  | 'conflict'
  | 'throttled'
  | 'service-unavailable'
  | 'commit-state-unknown'
  | 'server-error'

/** Where in a text (an SQL string) the fault lies. Offsets count UTF-16 units from 0. */
export interface SourceSpan {
  readonly offset: number
  readonly length: number
}

export interface SheafErrorOptions {
  /** HTTP status; absent: the one of the code. 405, 413 and 415 have no code of their own. */
  readonly status?: number | undefined
  readonly kind?: ErrorKind | undefined
  /** The way out, when there is one: the nearest column name, the option to set. */
  readonly hint?: string | undefined
  readonly at?: SourceSpan | undefined
  readonly transactionId?: string | undefined
  readonly cause?: unknown
}

const byStatus: Readonly<Record<number, ErrorKind>> = {
  400: 'bad-request',
  401: 'unauthorized-request',
  403: 'forbidden-request',
  404: 'not-found-error',
  406: 'unsupported-operation',
  409: 'conflict',
  429: 'throttled',
  500: 'server-error',
  503: 'service-unavailable',
}

/** HTTP status of an error code (rule A-028). */
export function statusOf(code: ErrorCode): number {
  switch (code) {
    case ErrorCode.Unsupported:
      return 406
    case ErrorCode.NamespaceNotFound:
    case ErrorCode.TableNotFound:
    case ErrorCode.IndexNotFound:
    case ErrorCode.TagNotFound:
    case ErrorCode.TransactionNotFound:
    case ErrorCode.TableVersionNotFound:
    case ErrorCode.ColumnNotFound:
    case ErrorCode.BranchNotFound:
      return 404
    case ErrorCode.NamespaceAlreadyExists:
    case ErrorCode.NamespaceNotEmpty:
    case ErrorCode.TableAlreadyExists:
    case ErrorCode.IndexAlreadyExists:
    case ErrorCode.TagAlreadyExists:
    case ErrorCode.ConcurrentModification:
    case ErrorCode.InvalidTableState:
    case ErrorCode.BranchAlreadyExists:
      return 409
    case ErrorCode.InvalidInput:
    case ErrorCode.SchemaValidation:
      return 400
    case ErrorCode.PermissionDenied:
      return 403
    case ErrorCode.Unauthenticated:
      return 401
    case ErrorCode.ServiceUnavailable:
      return 503
    case ErrorCode.Internal:
      return 500
    case ErrorCode.Throttling:
      return 429
  }
}

/** Every failure a caller can meet. `code` is stable API; an error with another class is a bug of ours. */
export class SheafError extends Error {
  override readonly name = 'SheafError'
  readonly code: ErrorCode
  readonly status: number
  readonly kind: ErrorKind
  readonly hint: string | undefined
  readonly at: SourceSpan | undefined
  /** Set where a commit's state is unknown: the transaction to look up. */
  readonly transactionId: string | undefined

  constructor(code: ErrorCode, message: string, options: SheafErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = options.status ?? statusOf(code)
    this.kind = options.kind ?? byStatus[this.status] ?? (this.status < 500 ? 'bad-request' : 'server-error')
    this.hint = options.hint
    this.at = options.at
    this.transactionId = options.transactionId
  }
}

/** A request that can never succeed as sent (code 13). */
export function invalidInput(message: string, options?: SheafErrorOptions): SheafError {
  return new SheafError(ErrorCode.InvalidInput, message, options)
}

/** Rows or a schema that do not fit the table (code 20). */
export function schemaMismatch(message: string, options?: SheafErrorOptions): SheafError {
  return new SheafError(ErrorCode.SchemaValidation, message, options)
}

/** Known, but not something this engine does (code 0). */
export function unsupported(message: string, options?: SheafErrorOptions): SheafError {
  return new SheafError(ErrorCode.Unsupported, message, options)
}

/** Bytes on disk that are not what was written: says which file and what about it (code 18). */
export function corrupted(message: string, options?: SheafErrorOptions): SheafError {
  return new SheafError(ErrorCode.Internal, message, options)
}

/** An unknown column (code 12) with a hint: `near`, or absent the nearest known name. */
export function columnNotFound(
  name: string,
  known: readonly string[],
  at?: SourceSpan,
  near: string | undefined = nearestName(name, known),
): SheafError {
  return new SheafError(
    ErrorCode.ColumnNotFound,
    `no column named ${quote(name)}; columns: ${shortList(known, 20)}`,
    {
      hint: near === undefined ? undefined : `did you mean ${quote(near)}?`,
      at,
    },
  )
}

/** A broken promise inside Sheaf itself, never bad input. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new SheafError(ErrorCode.Internal, `invariant broken: ${message}`)
}

/** For the default branch of an exhaustive switch. */
export function unreachable(value: never): never {
  throw new SheafError(ErrorCode.Internal, `invariant broken: unexpected ${JSON.stringify(value)}`)
}

/** A value as it appears in a message: quoted, on one line, cut to a readable length. */
export function quote(value: unknown): string {
  if (typeof value !== 'string') return cut(describe(value), longestQuote)
  // The quote that closes a text which is cut would be cut with it.
  return cut(JSON.stringify(value.slice(0, longestQuote)), longestQuote)
}

const longestQuote = 120

/** A text as far as a message has room for it: at most `length` characters, and no half of a surrogate pair. */
export function cut(text: string, length = 80): string {
  if (text.length <= length) return text
  const kept = text.slice(0, length - 3)
  return `${/[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept}...`
}

/** The first of many names or types, and how many there are beside them. */
export function shortList(items: readonly string[], most = 8, between = ', '): string {
  const shown = items
    .slice(0, most)
    .map(item => cut(item))
    .join(between)
  return items.length > most ? `${shown} and ${items.length - most} more` : shown
}

function describe(value: unknown): string {
  if (typeof value === 'bigint') return BigInt.asIntN(512, value) === value ? `${value}n` : 'a huge bigint'
  if (typeof value === 'number' || value === undefined || value === null) return String(value)
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} of ${value.byteLength} bytes`
  try {
    return JSON.stringify(value, shortened) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** For JSON of which only the beginning is shown. */
function shortened(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, longestQuote)
  if (typeof value === 'bigint') return describe(value)
  if (Array.isArray(value)) return value.slice(0, longestQuote)
  return ArrayBuffer.isView(value) ? describe(value) : value
}

/** Nobody mistypes more letters than this. */
const typingMistakes = 3

/** Longer names are not typed. */
const longestName = 100

/** The known name with the smallest edit distance, if it is near enough to be a typing mistake. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > longestName) return undefined
  let best: string | undefined
  let bestDistance =
    Math.min(typingMistakes, Math.max(name.length > 3 ? 2 : 1, Math.floor(name.length / 3))) + 1
  for (const candidate of known) {
    if (candidate.length > longestName) continue
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase(), bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Levenshtein distance in which two letters that changed places count once, or `limit` when it is at least that. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  let beforeThat: readonly number[] = []
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let least = Math.min(substituted, previous[j]! + 1, current[j - 1]! + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, beforeThat[j - 2]! + 1)
      current.push(least)
    }
    beforeThat = previous
    previous = current
  }
  return Math.min(limit, previous[b.length]!)
}
