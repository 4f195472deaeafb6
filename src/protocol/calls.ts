/** Types of calls in this process, derived from the table of operations, and the validation of requests. */
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

/** The rows of a query as the bytes of an Arrow IPC file, in chunks of any size. */
export interface ArrowReply {
  /** Version of the table that was read. */
  readonly version: number
  readonly chunks: readonly Uint8Array[]
  /**
   * The bytes that follow `chunks`, produced on demand. They can be read only once. A chunk may be empty; the last
   * chunk is the footer of the file. Iteration throws the errors of a query, and `signal.reason`. After an error, the
   * earlier chunks are not a valid answer. Present only if the call has `streamAfter`, and the answer is longer.
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
  /** Signal that aborts the call. If a commit has begun, the call still waits for the outcome of the commit. */
  readonly signal?: AbortSignal | undefined
  readonly identity?: Identity | undefined
  /** Data for hooks, which receive it unchanged. It never changes a result. */
  readonly context?: Readonly<Record<string, string>> | undefined
  /**
   * Key that identifies the call, so that a repeated call does not commit again.
   *
   * - A repeated key with the same request and rows returns the recorded reply. The rows may be cut into other batches.
   * - A repeated key with another request or other rows throws `InvalidInput` (status 422).
   * - Keys are kept for at least 24 hours and at least 10,000 commits. Reads ignore the key.
   */
  readonly idempotencyKey?: string | undefined
  /**
   * Maximum age in milliseconds of the state that a query, a search, a `get` or a count in object storage may use. 0: the
   * call sees everything that was committed before it. Other calls ignore it. Default: that of `connect`.
   */
  readonly maxStalenessMs?: number | undefined
}

/** Options of operations. Methods of handles accept only the `CallOptions`. */
export interface OperationOptions extends CallOptions {
  /**
   * UUID of the table to use. If it is given, `id` is only a name for messages. Default: the table with the name `id`.
   */
  readonly table?: string | undefined
  /**
   * Maximum bytes of one message of an Arrow body that arrives in chunks. The limit applies to the bytes as sent, and
   * to the decoded bytes. A longer message throws InvalidInput. Default 1 GiB.
   */
  readonly maxMessageBytes?: number | undefined
  /** Dialect of the type names in replies: names of the specification (`namespace`, default), or names of Lance. */
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
  maxStalenessMs: integer(0),
})

export const callShape = options<CallOptions>()(callFields)

/** Limits for the open uploads of one caller. */
export interface UploadLimits {
  /** Name or id of the caller. Only a digest of this text is stored. */
  readonly caller: string
  /** Maximum number of open uploads. */
  readonly open: number
  /** Maximum bytes of the files of all open uploads together. */
  readonly bytes: number
  /** Time in milliseconds after the beginning of an upload, during which a server accepts parts. */
  readonly ageMs: number
}

/**
 * Further options for servers, which stream answers, limit their clients, and may have clients newer than themselves.
 */
export interface ServerCallOptions extends OperationOptions {
  /**
   * Number of bytes of an answer after which the rest may be produced on demand (`ArrowReply.rest`). The caller must
   * not change the bytes, because they may belong to the engine's cache. Default: `chunks` has the whole answer. An
   * engine in another process always returns the whole answer.
   */
  readonly streamAfter?: number | undefined
  /** Memory budget for decoding an Arrow body that arrives in chunks. Default: no budget. */
  readonly memory?: SharedMemory | undefined
  /** Limits for the open uploads of the caller. Default: no limits. */
  readonly uploadLimits?: UploadLimits | undefined
  /** Array to which the unknown names of the request are added; they are then skipped. Default: they are refused. */
  readonly skipped?: string[] | undefined
  /** Sends parts of a search to other nodes. Default: the engine searches alone. An engine in another thread ignores it. */
  readonly nodes?: NodeSender | undefined
}

/** Sends sub-queries to the nodes of a root. */
export interface NodeSender {
  /** A search with less estimated work, or with less than a fifth of it per part, is not sent. Milliseconds. */
  readonly minWorkMs: number
  /** Time after which a sub-query without an answer is also run by this node, milliseconds. */
  readonly hedgeMs: number
  /**
   * Send a token to a node, which answers as `readTableSlice` does. `shard`: name of the data that the sub-query reads.
   * Rejects if no node answers, or if the answer is an error.
   */
  send(
    id: readonly string[],
    shard: string,
    token: string,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array>
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null

export const serverCallShape = options<ServerCallOptions>()({
  streamAfter: integer(0),
  memory: given<SharedMemory>('memory', isObject),
  uploadLimits: given<UploadLimits>('limits', isObject),
  nodes: given<NodeSender>('nodes', isObject),
  skipped: given<string[]>('an array', Array.isArray),
  table: string(),
  maxMessageBytes: given<number>('a number of bytes > 0', value => typeof value === 'number' && value > 0),
  dialect: oneOf('namespace', 'lance'),
  ...callFields,
})

/** Return the normal form of a request. Throws InvalidInput for an invalid request. */
export function parseRequest(name: OperationName, request: unknown, { skipped }: ServerCallOptions): object {
  const { request: shape }: OperationEntry = operations[name]
  if (normalForms.has(request as object)) return request as object
  return (
    skipped === undefined ? parse(shape, request, name) : parseKnown(shape, request, name, skipped)
  ) as object
}

/** Options that handlers receive: the options of the call, and its idempotency key. */
export interface HandlerOptions extends ServerCallOptions {
  readonly callKey?: CallKey | undefined
}

/** An object with a method for each operation. */
export type Operations = {
  readonly [N in OperationName]: N extends ArrowOperationName
    ? (request: Request<N>, body: ArrowBody, options?: OperationOptions) => Promise<Reply<N>>
    : (request: Request<N>, options?: OperationOptions) => Promise<Reply<N>>
}

/** Function that executes one operation. The request is in normal form. */
export type Handler<C, N extends OperationName> = N extends ArrowOperationName
  ? (context: C, request: Request<N>, body: ArrowBody, options: HandlerOptions) => Promise<Reply<N>>
  : (context: C, request: Request<N>, options: HandlerOptions) => Promise<Reply<N>>

/**
 * One handler per operation. The compiler reports missing handlers. `unsupported` marks operations without a handler.
 */
export type Handlers<C> = { readonly [N in OperationName]: Handler<C, N> | 'unsupported' }

/**
 * Return operations that `handlers` execute on `context`. Each request is validated once, here, and the handler gets
 * the normal form of the request.
 *
 * Calls reject with InvalidInput for an invalid request, with Unsupported if there is no handler, and with
 * `signal.reason` if the signal is aborted before the call begins.
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
  const parameters = entry.body === 'arrow' ? 3 : 2
  return async (...given: unknown[]): Promise<unknown> => {
    if (handler === 'unsupported') throw unsupported(`${name} is not supported yet`)
    const body = parameters === 3 ? arrowBody(given[1], name) : undefined
    if (given.length > parameters) refuseMore(name, parameters, given.slice(parameters))
    const options = parseOptions(name, given[parameters - 1])
    const request = parseRequest(name, given[0], options)
    options.signal?.throwIfAborted()
    const all = handlerOptions(entry, name, request, options)
    try {
      return await (parameters === 3 ? handler(context, request, body, all) : handler(context, request, all))
    } catch (error) {
      throw addCallerFrames(error)
    }
  }
}

const noOptions: ServerCallOptions = {}

/**
 * Requests and options that handles made in their normal form, and never change. They are not validated again for each
 * call, because the validation takes a large part of the CPU time of a small commit.
 */
export const normalForms = new WeakSet<object>()

function parseOptions(name: OperationName, given: unknown): ServerCallOptions {
  if (given === undefined || given === null) return noOptions
  return normalForms.has(given) ? given : parse(serverCallShape, given, name)
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

/** Add identity and context from the request to the options, unless the options have them. */
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
