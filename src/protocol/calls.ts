/** Calls of operations in this process: their types, which follow from the table of operations, and the check of requests. */
import type { SharedMemory } from '../arrow/budget.js'
import { addCallerFrames, invalidInput, quote, unsupported } from '../errors.js'
import { refuseMore } from './arguments.js'
import { CallKey, canonicalJson, digestOf } from './call-key.js'
import { type OperationEntry, type OperationName, operationNames, operations } from './operations.js'
import { parse, parseKnown } from './parse.js'
import { type Identity, identity, stringMap } from './request-fields.js'
import { given, type Infer, integer, oneOf, optionFields, options, string } from './shape.js'

type Table = typeof operations

export type Request<N extends OperationName> = Infer<Table[N]['request']>

/** The rows of a query as an Arrow IPC file. The chunks may be cut anywhere. */
export interface ArrowReply {
  /** Version of the table that was read. */
  readonly version: number
  readonly chunks: readonly Uint8Array[]
  /**
   * The bytes after the chunks, produced on demand; read them once. Chunks may be empty; the last one is the footer of the file. Throws the
   * errors of a query, `signal.reason` included; then the chunks before are not a valid answer. Present only if `streamAfter` allows it.
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

/** Operations that take Arrow data in addition to their request. */
export type ArrowOperationName = {
  [N in OperationName]: Table[N]['body'] extends 'arrow' ? N : never
}[OperationName]

export interface CallOptions {
  /** Aborts the call. Once a commit has begun, the call waits for its outcome. */
  readonly signal?: AbortSignal | undefined
  readonly identity?: Identity | undefined
  /** Passed to hooks unchanged. It never changes a result. */
  readonly context?: Readonly<Record<string, string>> | undefined
  /**
   * Names the call, so that sending it again does not commit it again.
   *
   * - A repeated key with the same request and rows returns the recorded reply. How the rows are cut into batches does not matter.
   * - A repeated key with another request or other rows throws `InvalidInput` (status 422).
   * - Keys are kept for at least 24 hours and 10,000 commits. Reads ignore them.
   */
  readonly idempotencyKey?: string | undefined
}

/** The options of operations. */
export interface OperationOptions extends CallOptions {
  /** UUID of the table, whatever its current name is. `id` then only names the table in messages. */
  readonly table?: string | undefined
  /**
   * The most bytes of one message of an Arrow body that comes in chunks, as sent and as decoded; more throws InvalidInput. Default 1 GiB.
   */
  readonly maxMessageBytes?: number | undefined
  /** Which type names replies use: those of the specification (default) or those of Lance. */
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

/** Limits for the open uploads in parts of one caller. */
export interface UploadLimits {
  /** Identifies the caller; only its digest is stored. */
  readonly caller: string
  /** The most open uploads. */
  readonly open: number
  /** The most bytes of the files of all open uploads. */
  readonly bytes: number
  /** How long a server takes parts for one upload, milliseconds. */
  readonly ageMs: number
}

/** Options for servers, which can stream answers, and which may have clients that are newer. */
export interface ServerCallOptions extends OperationOptions {
  /**
   * Bytes of an answer after which the rest may be produced on demand (`ArrowReply.rest`). The bytes must not be changed: they may be those
   * in the engine's cache. Default: the answer is gathered as a whole. An engine in another process always gathers it.
   */
  readonly streamAfter?: number | undefined
  /** Budget for decoding an Arrow body that comes in chunks. Default: no budget. */
  readonly memory?: SharedMemory | undefined
  /** Limits for the open uploads in parts of the caller. Default: no limits. */
  readonly uploadLimits?: UploadLimits | undefined
  /** Receives unknown names of the request, which are then skipped. Default: unknown names are refused. */
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

/** Return the normal form of a request. Throws InvalidInput. */
export function parseRequest(name: OperationName, request: unknown, { skipped }: ServerCallOptions): object {
  const { request: shape }: OperationEntry = operations[name]
  return (
    skipped === undefined ? parse(shape, request, name) : parseKnown(shape, request, name, skipped)
  ) as object
}

/** The options that handlers receive: the options of the call, and its key. */
export interface HandlerOptions extends ServerCallOptions {
  readonly callKey?: CallKey | undefined
}

/** All operations as methods. */
export type Operations = {
  readonly [N in OperationName]: N extends ArrowOperationName
    ? (request: Request<N>, body: ArrowBody, options?: OperationOptions) => Promise<Reply<N>>
    : (request: Request<N>, options?: OperationOptions) => Promise<Reply<N>>
}

/** Carries out one operation. The request is in normal form. */
export type Handler<C, N extends OperationName> = N extends ArrowOperationName
  ? (context: C, request: Request<N>, body: ArrowBody, options: HandlerOptions) => Promise<Reply<N>>
  : (context: C, request: Request<N>, options: HandlerOptions) => Promise<Reply<N>>

/** One handler per operation. A missing one does not compile; `unsupported` marks one that does not exist yet. */
export type Handlers<C> = { readonly [N in OperationName]: Handler<C, N> | 'unsupported' }

/**
 * Return the operations that `handlers` carry out on `context`. Each request is checked here, once, and handlers get its normal form. Calls
 * reject with InvalidInput (invalid request), Unsupported (no handler), or `signal.reason` (aborted before the call began).
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
    try {
      return await handler(context, parsed, ...body, handlerOptions(entry, name, parsed, options))
    } catch (error) {
      throw addCallerFrames(error)
    }
  }
}

function handlerOptions(
  entry: OperationEntry,
  name: OperationName,
  request: unknown,
  options: ServerCallOptions,
): HandlerOptions {
  const { idempotencyKey: key } = options
  const withIdentity = withCaller(options, request as Pick<CallOptions, 'identity' | 'context'>)
  if (key === undefined || entry.access === 'read') return withIdentity
  const { identity: _, context: __, ...content } = request as Record<string, unknown>
  const fingerprint = digestOf(canonicalJson([name, options.table, content]))
  return { ...withIdentity, callKey: new CallKey(key, fingerprint, entry.body === 'arrow') }
}

/** Take identity and context from the request, unless the options have them. */
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
