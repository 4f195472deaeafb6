/**
 * The error class of Sheaf, its error codes, and helpers that build error messages.
 *
 * The Lance Namespace error model defines codes 0-23, their HTTP statuses, and the wire fields `code`, `error`,
 * `detail` and `instance`. `kind` is the last segment of the wire field `type`. Messages are sentences in lower case
 * that contain the invalid value. Codes and names are stable API; messages may change.
 */
import { shareClass } from './primitives/shared-state.js'

/**
 * The error codes by name, to compare with `error.code`.
 *
 *     if (error instanceof SheafError && error.code === ErrorCode.TableNotFound) ...
 */
export const ErrorCode = {
  /** The request is valid, but Sheaf does not support what it asks for. */
  Unsupported: 0,
  NamespaceNotFound: 1,
  NamespaceAlreadyExists: 2,
  /** The namespace still contains tables or namespaces. */
  NamespaceNotEmpty: 3,
  TableNotFound: 4,
  TableAlreadyExists: 5,
  IndexNotFound: 6,
  IndexAlreadyExists: 7,
  TagNotFound: 8,
  TagAlreadyExists: 9,
  /** No transaction, job or upload has the id, or its record was removed after some time. */
  TransactionNotFound: 10,
  TableVersionNotFound: 11,
  ColumnNotFound: 12,
  /** The request is invalid, so sending the same request again fails again. */
  InvalidInput: 13,
  /** Other writers changed the same data during the call. Usually the call can be repeated. */
  ConcurrentModification: 14,
  PermissionDenied: 15,
  /** The caller sent no valid credentials. */
  Unauthenticated: 16,
  /**
   * Sheaf cannot execute the call now, for example because the disk or the memory is full, or a file cannot be read.
   */
  ServiceUnavailable: 17,
  /** Stored bytes are damaged, or Sheaf has a bug. */
  Internal: 18,
  /** The state of the object does not allow the call, for example a write to a materialized view. */
  InvalidTableState: 19,
  /** Rows or a schema do not fit the table. */
  SchemaValidation: 20,
  /** A limit on concurrent calls, sessions or uploads is reached. */
  Throttling: 21,
  BranchNotFound: 22,
  BranchAlreadyExists: 23,
} as const

/** One of the error codes. */
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode]

/** The name of an error code. */
type ErrorName = keyof typeof ErrorCode

const names: ReadonlyMap<ErrorCode, ErrorName> = new Map(
  (Object.keys(ErrorCode) as ErrorName[]).map(name => [ErrorCode[name], name]),
)

/**
 * The category of an error. Several codes may have the same category. `commit-state-unknown` means that the commit of
 * the call may have succeeded or failed.
 */
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

/**
 * The faulty part of a text, for example of an SQL string. `offset` and `length` count UTF-16 code units; `offset`
 * starts at 0.
 */
export interface SourceSpan {
  readonly offset: number
  readonly length: number
}

/** Options of `SheafError`. */
interface SheafErrorOptions {
  /** HTTP status. Default: the status of the code. Set it for statuses without a code, for example 405, 413 and 415. */
  readonly status?: number | undefined
  /** The category of the error. Default: the category of the status. */
  readonly kind?: ErrorKind | undefined
  /** Advice for fixing the error, if Sheaf has any, for example the most similar column name or the option to set. */
  readonly hint?: string | undefined
  /** The faulty part of the text, if the error concerns a text. */
  readonly at?: SourceSpan | undefined
  /** Id of the transaction whose outcome can be looked up, if Sheaf does not know whether the commit succeeded. */
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

/** Return the HTTP status of an error code. */
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

/**
 * Maximum number of frames in the stack of an error. Node's default of 10 is too small, because there may be more
 * functions of Sheaf between the caller and the error.
 */
const maxFrames = 50

/** The members of V8's stack trace API that this module uses. */
const traced: { stackTraceLimit?: number; captureStackTrace?(error: object, above: unknown): void } = Error

/** Whether `Error.stackTraceLimit` can be changed. With the Node option `--frozen-intrinsics`, it cannot. */
const isLimitWritable = Object.getOwnPropertyDescriptor(traced, 'stackTraceLimit')?.writable === true

/**
 * The class of the errors that Sheaf throws. There are two exceptions: the reason of an aborted signal, and errors of
 * the caller's own callbacks. Any other error is a bug in Sheaf. `stack` contains the line of the caller that awaited
 * the call.
 *
 *     try {
 *       await ns.openTable('docs')
 *     } catch (error) {
 *       if (!(error instanceof SheafError) || error.code !== ErrorCode.TableNotFound) throw error
 *       console.log(error.message, error.hint)
 *     }
 */
export class SheafError extends Error {
  /** The name of the error code, for example `ColumnNotFound`. */
  override readonly name: ErrorName
  /** The error code: one of the values of `ErrorCode`. */
  readonly code: ErrorCode
  /** The HTTP status. */
  readonly status: number
  /** The category of the error. */
  readonly kind: ErrorKind
  /** Advice for fixing the error, if Sheaf has any. */
  readonly hint: string | undefined
  /** The faulty part of the text, if the error concerns a text. */
  readonly at: SourceSpan | undefined
  /** Id of the transaction whose outcome can be looked up. Set if Sheaf does not know whether the commit succeeded. */
  readonly transactionId: string | undefined
  /** The place in the package that describes the code: `sheaf/docs/errors.md#columnnotfound`. */
  readonly docs: string

  constructor(code: ErrorCode, message: string, options: SheafErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = names.get(code) ?? 'Internal'
    this.code = code
    this.status = options.status ?? statusOf(code)
    this.kind = options.kind ?? byStatus[this.status] ?? (this.status < 500 ? 'bad-request' : 'server-error')
    this.hint = options.hint
    this.at = options.at
    this.transactionId = options.transactionId
    this.docs = `sheaf/docs/errors.md#${this.name.toLowerCase()}`
    // Capture the stack again, because now the name is set, and with more frames, so that the caller's frames are
    // included.
    capture(this, this.constructor)
  }
}
shareClass(SheafError, 'SheafError')

/** Set `target.stack` to the stack above the function `above`: its callers. */
function capture(target: object, above: unknown): void {
  const { stackTraceLimit: limit } = traced
  if (limit === undefined || limit === 0 || traced.captureStackTrace === undefined) return
  if (isLimitWritable) traced.stackTraceLimit = Math.max(limit, maxFrames)
  traced.captureStackTrace(target, above)
  if (isLimitWritable) traced.stackTraceLimit = limit
}

/**
 * Errors to which the frames of a caller were appended. An error of several calls gets the frames of only the first
 * call.
 */
const withCaller = new WeakSet<SheafError>()

/**
 * Append the frames of the caller to the stack of an error that was created elsewhere: in another thread, in a server,
 * or in a commit of several calls. Returns the error. Call this function in the `catch` block of an async function that
 * the caller awaits, because only there V8 knows the frames of the caller.
 */
export function addCallerFrames(error: unknown): unknown {
  if (!(error instanceof SheafError) || withCaller.has(error)) return error
  withCaller.add(error)
  const here: { stack?: string } = {}
  capture(here, addCallerFrames)
  // The first line is the name and the message, not a frame.
  const frames = here.stack?.split('\n').slice(1) ?? []
  const outermost = frames.at(-1)
  if (outermost === undefined || error.stack === undefined || error.stack.endsWith(outermost)) return error
  error.stack += `\n${frames.join('\n')}`
  return error
}

/** Create an `InvalidInput` error, for an invalid request. */
export function invalidInput(message: string, options?: SheafErrorOptions): SheafError {
  return new SheafError(ErrorCode.InvalidInput, message, options)
}

/** Create a `SchemaValidation` error, for rows or a schema that do not fit the table. */
export function schemaMismatch(message: string, options?: SheafErrorOptions): SheafError {
  return new SheafError(ErrorCode.SchemaValidation, message, options)
}

/** Create an `Unsupported` error, for a valid request that Sheaf does not support. */
export function unsupported(message: string, options?: SheafErrorOptions): SheafError {
  return new SheafError(ErrorCode.Unsupported, message, options)
}

/** Create an `Internal` error, for damaged stored bytes. The message must have the name of the file and the damage. */
export function corrupted(message: string, options?: SheafErrorOptions): SheafError {
  return new SheafError(ErrorCode.Internal, message, options)
}

/**
 * Create a `ColumnNotFound` error for `name`. The hint suggests `near`; default: the most similar name in `known`.
 * `otherwise`: the hint if no name is similar.
 */
export function columnNotFound(
  name: string,
  known: readonly string[],
  at?: SourceSpan,
  near: string | undefined = nearestName(name, known),
  otherwise?: string | undefined,
): SheafError {
  return new SheafError(
    ErrorCode.ColumnNotFound,
    `no column named ${quote(name)}; columns: ${shortList(known, 20)}`,
    {
      hint: near === undefined ? otherwise : `did you mean ${quote(near)}?`,
      at,
    },
  )
}

/** Throw `Internal` if `condition` is false. Use it only for invariants of Sheaf, never to check input. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new SheafError(ErrorCode.Internal, `invariant broken: ${message}`)
}

/** Throw `Internal`. Use it in the default branch of an exhaustive switch. */
export function unreachable(value: never): never {
  throw new SheafError(ErrorCode.Internal, `invariant broken: unexpected ${JSON.stringify(value)}`)
}

/** Format a value for an error message: quoted, on one line, at most 120 characters. */
export function quote(value: unknown): string {
  if (typeof value !== 'string') return cut(describe(value), maxQuoteLength)
  // Cut again after quoting, because quotes and escapes add characters.
  return cut(JSON.stringify(value.slice(0, maxQuoteLength)), maxQuoteLength)
}

const maxQuoteLength = 120

/** Shorten a text to at most `length` characters, without splitting a surrogate pair. */
export function cut(text: string, length = 80): string {
  if (text.length <= length) return text
  const kept = text.slice(0, length - 3)
  return `${/[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept}...`
}

/** Return a text with the first `maxItems` items (names or types), and the number of further items. */
export function shortList(items: readonly string[], maxItems = 8, separator = ', '): string {
  const shown = items
    .slice(0, maxItems)
    .map(item => cut(item))
    .join(separator)
  return items.length > maxItems ? `${shown} and ${items.length - maxItems} more` : shown
}

function describe(value: unknown): string {
  if (typeof value === 'bigint') return BigInt.asIntN(512, value) === value ? `${value}n` : 'a huge bigint'
  if (typeof value === 'number' || value === undefined || value === null) return String(value)
  if (value instanceof Promise) return 'a promise (is await missing?)'
  if (ArrayBuffer.isView(value)) return `${value.constructor.name} of ${value.byteLength} bytes`
  try {
    return JSON.stringify(value, shortened) ?? String(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** Replacer for JSON.stringify. It shortens long values, because a message shows only the beginning of a value. */
function shortened(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, maxQuoteLength)
  if (typeof value === 'bigint') return describe(value)
  if (Array.isArray(value)) return value.slice(0, maxQuoteLength)
  return ArrayBuffer.isView(value) ? describe(value) : value
}

/** Maximum number of edits between a name and a suggested name. */
const maxTypingMistakes = 3

/** Maximum length in characters of a name for which a name is suggested. */
const maxNameLength = 100

/**
 * Return the known name with the smallest edit distance to `name`. Returns undefined if all known names are too
 * different for `name` to be a typing mistake.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > maxNameLength) return undefined
  let best: string | undefined
  let bestDistance =
    Math.min(maxTypingMistakes, Math.max(name.length > 3 ? 2 : 1, Math.floor(name.length / 3))) + 1
  for (const candidate of known) {
    if (candidate.length > maxNameLength) continue
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase(), bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/**
 * Return the edit distance of two names: the number of inserted, deleted and replaced letters, and of swaps of adjacent
 * letters. Returns `limit` if the distance is at least `limit`.
 */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  let beforePrevious: readonly number[] = []
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let least = Math.min(substituted, previous[j]! + 1, current[j - 1]! + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, beforePrevious[j - 2]! + 1)
      current.push(least)
    }
    beforePrevious = previous
    previous = current
  }
  return Math.min(limit, previous[b.length]!)
}
