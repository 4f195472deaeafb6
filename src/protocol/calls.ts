/** Calling operations in process: the types that follow from the table, and the door that checks requests. */
import { createHash } from 'node:crypto'
import { invalidInput, quote, unsupported } from '../errors.js'
import { type OperationEntry, type OperationName, operationNames, operations } from './operations.js'
import { parse } from './parse.js'
import type { Identity } from './request-fields.js'
import type { Infer } from './shape.js'

type Table = typeof operations

export type Request<N extends OperationName> = Infer<Table[N]['request']>

/** Rows of a query: an Arrow IPC file, cut anywhere. */
export interface ArrowReply {
  /** Version of the table that was read. */
  readonly version: number
  readonly chunks: readonly Uint8Array[]
}

/** Rows for a write: an Arrow IPC stream or file. */
export type ArrowBody = Uint8Array | AsyncIterable<Uint8Array>

export type Reply<N extends OperationName> = Table[N]['reply'] extends 'arrow'
  ? ArrowReply
  : Table[N]['reply'] extends 'empty'
    ? undefined
    : Infer<Table[N]['response']>

/** Operations that take Arrow data beside their request. */
export type ArrowOperationName = {
  [N in OperationName]: Table[N]['body'] extends 'arrow' ? N : never
}[OperationName]

export interface CallOptions {
  /** Abandons the call; from the moment a commit has begun its outcome is awaited. */
  readonly signal?: AbortSignal | undefined
  readonly identity?: Identity | undefined
  /** Handed to hooks as it is; never changes a result. */
  readonly context?: Readonly<Record<string, string>> | undefined
  /**
   * Names the call, so that sending it again does not commit it again: a key that was committed with the same request gives
   * the recorded reply (rows sent beside the request are not compared), with another request code 19. Keys are kept for at
   * least 24 hours and 10,000 commits.
   */
  readonly idempotencyKey?: string | undefined
  /** UUID of the table the call is about, whatever it is called now; `id` then only says how to call it in messages. */
  readonly table?: string | undefined
  /** Bytes one message of an Arrow body that comes in chunks may take, as sent and as decoded; code 13 above it. Default 1 GiB. */
  readonly maxMessageBytes?: number | undefined
  /** Whose names of types replies use: those of the specification (default) or of Lance. */
  readonly dialect?: 'namespace' | 'lance' | undefined
}

/** What handlers are given: the options of the call, and its key with the fingerprint of its request. */
export interface HandlerOptions extends CallOptions {
  readonly idempotency?: Idempotency | undefined
}

export interface Idempotency {
  readonly key: string
  /** Equal for equal requests of one operation, whoever sends them. */
  readonly hash: string
}

/** Every operation as a method. */
export type Operations = {
  readonly [N in OperationName]: N extends ArrowOperationName
    ? (request: Request<N>, body: ArrowBody, options?: CallOptions) => Promise<Reply<N>>
    : (request: Request<N>, options?: CallOptions) => Promise<Reply<N>>
}

/** Carries out one operation; its request is in normal form. */
export type Handler<C, N extends OperationName> = N extends ArrowOperationName
  ? (context: C, request: Request<N>, body: ArrowBody, options: HandlerOptions) => Promise<Reply<N>>
  : (context: C, request: Request<N>, options: HandlerOptions) => Promise<Reply<N>>

/** One handler per operation; a missing one does not compile, one not built yet is stated. */
export type Handlers<C> = { readonly [N in OperationName]: Handler<C, N> | 'unsupported' }

/**
 * The operations that `handlers` carry out on `context`. Each call is checked here, once: handlers get the normal form of
 * the request. Rejects with InvalidInput (bad request), Unsupported (no handler), or `signal.reason` (aborted before it began).
 */
export function bindHandlers<C>(handlers: Handlers<C>, context: C): Operations {
  const bound = operationNames.map(name => [
    name,
    bindHandler(name, handlers[name] as AnyHandler | 'unsupported', context),
  ])
  return Object.fromEntries(bound) as Operations
}

type AnyHandler = (context: unknown, request: unknown, ...rest: unknown[]) => Promise<unknown>

function bindHandler(name: OperationName, handler: AnyHandler | 'unsupported', context: unknown) {
  const entry: OperationEntry = operations[name]
  return async (request: unknown, ...rest: unknown[]): Promise<unknown> => {
    if (handler === 'unsupported') throw unsupported(`${name} is not supported yet`)
    const parsed = parse(entry.request, request, name)
    const body = entry.body === 'arrow' ? [arrowBody(rest.shift(), name)] : []
    const options = (rest[0] ?? {}) as CallOptions
    options.signal?.throwIfAborted()
    return handler(context, parsed, ...body, handlerOptions(entry, name, parsed, options))
  }
}

/** Keys longer than this travel as their digest. */
const keyLengthMax = 128

function handlerOptions(
  entry: OperationEntry,
  name: OperationName,
  request: unknown,
  options: CallOptions,
): HandlerOptions {
  const { idempotencyKey: key } = options
  if (key === undefined || entry.access === 'read') return options
  if (typeof key !== 'string')
    throw invalidInput(`${name}: idempotencyKey must be a string, got ${quote(key)}`)
  const { identity: _, context: __, ...content } = request as Record<string, unknown>
  const hash = digest(JSON.stringify([name, options.table, content], inOrder))
  return { ...options, idempotency: { key: key.length > keyLengthMax ? digest(key) : key, hash } }
}

/** Objects with their keys in order: which comes first means nothing. */
function inOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value))
    return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

function arrowBody(value: unknown, name: string): ArrowBody {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'object' && value !== null && Symbol.asyncIterator in value) return value as ArrowBody
  throw invalidInput(
    `${name}: the body must be bytes of Arrow IPC or an async iterable of them, got ${quote(value)}`,
  )
}
