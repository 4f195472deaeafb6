/** Calling operations in process: the types that follow from the table, and the door that checks requests. */
import type { SharedMemory } from '../arrow/budget.js'
import { invalidInput, quote, unsupported } from '../errors.js'
import { refuseMore } from './arguments.js'
import { CallKey, canonicalJson, digestOf } from './call-key.js'
import { type OperationEntry, type OperationName, operationNames, operations } from './operations.js'
import { parse, parseKnown } from './parse.js'
import { type Identity, identity, stringMap } from './request-fields.js'
import { given, type Infer, integer, oneOf, optionFields, options, string } from './shape.js'

type Table = typeof operations

export type Request<N extends OperationName> = Infer<Table[N]['request']>

/** Rows of a query: an Arrow IPC file, cut anywhere. */
export interface ArrowReply {
  /** Version of the table that was read. */
  readonly version: number
  readonly chunks: readonly Uint8Array[]
  /**
   * What follows the chunks, found as it is asked for; to be read once. Chunks may be empty. The last chunk of it is the footer of the file. Throws
   * what a query throws, `signal.reason` included: then what came before is no answer. Only where `streamAfter` allows it.
   */
  readonly rest?: AsyncIterable<Uint8Array> | undefined
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
   * Names the call, so that sending it again does not commit it again. A key that was committed with the same request and the
   * same rows gives the recorded reply; how the rows are cut into batches does not count. A key that was committed with
   * another request or other rows is refused (`InvalidInput`, status 422). Keys are kept for at least 24 hours and 10,000
   * commits. Reads ignore them.
   */
  readonly idempotencyKey?: string | undefined
}

/** What operations take beside what every call does. */
export interface OperationOptions extends CallOptions {
  /** UUID of the table the call is about, whatever it is called now; `id` then only says how to call it in messages. */
  readonly table?: string | undefined
  /** Bytes one message of an Arrow body that comes in chunks may take, as sent and as decoded; code 13 above it. Default 1 GiB. */
  readonly maxMessageBytes?: number | undefined
  /** Whose names of types replies use: those of the specification (default) or of Lance. */
  readonly dialect?: 'namespace' | 'lance' | undefined
}

export const signalShape = given<AbortSignal>(
  'an AbortSignal',
  value => typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value,
)

export const callFields = optionFields<CallOptions>()({
  signal: signalShape,
  identity,
  context: stringMap,
  idempotencyKey: string('nonEmpty'),
})

export const callShape = options<CallOptions>()(callFields)

/** What the uploads in parts that one caller has open may be. */
export interface UploadLimits {
  /** Tells callers apart; only its digest is kept. */
  readonly caller: string
  /** How many. */
  readonly open: number
  /** Bytes of their files, all together. */
  readonly bytes: number
  /** For how long a server takes parts for one of them, milliseconds. */
  readonly ageMs: number
}

/** For servers: who can give an answer away in parts, and knows of clients that are newer. */
export interface ServerCallOptions extends OperationOptions {
  /**
   * Bytes of an answer after which the rest of it may come as it is found (`ArrowReply.rest`). The bytes are only to be looked
   * at: they may be those the engine keeps. Default: it is gathered whole, as it always is by an engine elsewhere.
   */
  readonly streamAfter?: number | undefined
  /** What an Arrow body that comes in chunks takes while it is decoded is taken of it. Default: nobody counts. */
  readonly memory?: SharedMemory | undefined
  /** How much a caller may have in uploads in parts that are open. Default: no limits. */
  readonly uploadLimits?: UploadLimits | undefined
  /** Names in the request that are not known are skipped, and added to this list. Default: they are refused. */
  readonly skipped?: string[] | undefined
}

export const serverCallShape = options<ServerCallOptions>()({
  streamAfter: integer(0),
  memory: given<SharedMemory>('memory that is shared', value => typeof value === 'object' && value !== null),
  uploadLimits: given<UploadLimits>('limits', value => typeof value === 'object' && value !== null),
  skipped: given<string[]>('an array', Array.isArray),
  table: string(),
  maxMessageBytes: given<number>('a number of bytes > 0', value => typeof value === 'number' && value > 0),
  dialect: oneOf('namespace', 'lance'),
  ...callFields,
})

/** The normal form of a request. Throws InvalidInput. */
export function parseRequest(name: OperationName, request: unknown, { skipped }: ServerCallOptions): object {
  const { request: shape }: OperationEntry = operations[name]
  return (
    skipped === undefined ? parse(shape, request, name) : parseKnown(shape, request, name, skipped)
  ) as object
}

/** What handlers are given: the options of the call, and its key. */
export interface HandlerOptions extends ServerCallOptions {
  readonly callKey?: CallKey | undefined
}

/** Every operation as a method. */
export type Operations = {
  readonly [N in OperationName]: N extends ArrowOperationName
    ? (request: Request<N>, body: ArrowBody, options?: OperationOptions) => Promise<Reply<N>>
    : (request: Request<N>, options?: OperationOptions) => Promise<Reply<N>>
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
    const body = entry.body === 'arrow' ? [arrowBody(rest.shift(), name)] : []
    refuseMore(name, body.length + 2, rest.slice(1))
    const options = parse(serverCallShape, rest[0] ?? {}, name)
    const parsed = parseRequest(name, request, options)
    options.signal?.throwIfAborted()
    return handler(context, parsed, ...body, handlerOptions(entry, name, parsed, options))
  }
}

function handlerOptions(
  entry: OperationEntry,
  name: OperationName,
  request: unknown,
  options: ServerCallOptions,
): HandlerOptions {
  const { idempotencyKey: key } = options
  const told = withCaller(options, request as Pick<CallOptions, 'identity' | 'context'>)
  if (key === undefined || entry.access === 'read') return told
  const { identity: _, context: __, ...content } = request as Record<string, unknown>
  const fingerprint = digestOf(canonicalJson([name, options.table, content]))
  return { ...told, callKey: new CallKey(key, fingerprint, entry.body === 'arrow') }
}

/** Who calls, and with what context, may be said in the request too; what is said beside it counts before that. */
function withCaller(options: CallOptions, request: Pick<CallOptions, 'identity' | 'context'>): CallOptions {
  const { identity = request.identity, context = request.context } = options
  const isSaid = identity === options.identity && context === options.context
  return isSaid ? options : { ...options, identity, context }
}

function arrowBody(value: unknown, name: string): ArrowBody {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'object' && value !== null && Symbol.asyncIterator in value) return value as ArrowBody
  throw invalidInput(
    `${name}: the body must be bytes of Arrow IPC or an async iterable of them, got ${quote(value)}`,
  )
}
