/** Sends calls to an engine in another thread or process, and runs calls that were received from there. */
import { addCallerFrames, ErrorCode, invalidInput, quote, SheafError } from '../src/errors.js'
import { refuseMore } from '../src/protocol/arguments.js'
import {
  type ArrowBody,
  type OperationOptions,
  type Operations,
  parseRequest,
  serverCallShape,
} from '../src/protocol/calls.js'
import {
  type OperationEntry,
  type OperationName,
  operationNames,
  operations,
} from '../src/protocol/operations.js'
import { parse } from '../src/protocol/parse.js'

/** One call of an operation. `body` is undefined if the operation takes no Arrow data. */
export interface Call {
  readonly name: OperationName
  readonly request: Readonly<Record<string, unknown>>
  readonly body: ArrowBody | undefined
  readonly options: OperationOptions
}

/** Call the operation of `target` that `call.name` names. */
export function carryOut(target: Operations, { name, request, body, options }: Call): Promise<unknown> {
  const methods = target as unknown as Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>
  return body === undefined ? methods[name]!(request, options) : methods[name]!(request, body, options)
}

export interface Remote {
  readonly operations: Operations
  /** Throw ServiceUnavailable after calls are refused. */
  checkOpen(): void
  /** Run a function that calls the other side without an operation. `drain` waits for it as for an operation. */
  run<T>(call: () => Promise<T>): Promise<T>
  /**
   * Refuse further calls with ServiceUnavailable. Resolves when all running calls have ended, whether they succeed or
   * fail.
   */
  drain(): Promise<void>
}

/**
 * Return operations that pass each call to `send`. Requests are checked and converted to their normal form before they
 * are sent. The sent request is therefore plain data, and shares no objects with the caller. `place`: the name of the
 * other side in error messages.
 */
export function remoteOperations(place: string, send: (call: Call) => Promise<unknown>): Remote {
  const pending = new Set<Promise<unknown>>()
  let closed = false

  const checkOpen = (): void => {
    if (closed) throw new SheafError(ErrorCode.ServiceUnavailable, `the connection to ${place} is closed`)
  }

  const counted = <T>(reply: Promise<T>): Promise<T> => {
    const settled = reply.then(ignore, ignore)
    pending.add(settled)
    settled.then(() => pending.delete(settled))
    return reply
  }

  const perform = async (name: OperationName, args: unknown[]): Promise<unknown> => {
    checkOpen()
    const entry: OperationEntry = operations[name]
    const asked = args.shift()
    const body = entry.body === 'arrow' ? arrowBody(args.shift(), name) : undefined
    refuseMore(name, entry.body === 'arrow' ? 3 : 2, args.slice(1))
    // `memory` is not sent: the side that receives the call limits its own memory. Functions cannot be sent.
    const { memory: _, nodes: __, skipped, ...options } = parse(serverCallShape, args[0] ?? {}, name)
    const request = parseRequest(name, asked, { skipped }) as Call['request']
    options.signal?.throwIfAborted()
    try {
      return await counted(send({ name, request, body, options }))
    } catch (error) {
      throw addCallerFrames(error)
    }
  }

  return {
    operations: Object.fromEntries(
      operationNames.map(name => [name, (...args: unknown[]) => perform(name, args)]),
    ) as unknown as Operations,
    checkOpen,
    async run(call) {
      checkOpen()
      return counted(call())
    },
    async drain() {
      closed = true
      await Promise.all(pending)
    },
  }
}

function ignore(): void {}

function arrowBody(value: unknown, name: OperationName): ArrowBody {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'object' && value !== null && Symbol.asyncIterator in value) return value as ArrowBody
  throw invalidInput(
    `${name}: the body must be Arrow IPC data: a Uint8Array or an async iterable of them, got ${quote(value)}`,
  )
}

/**
 * Convert any error to one that callers may see. An unexpected error becomes Internal, and its message has no details.
 */
export function presentable(cause: unknown): SheafError {
  if (cause instanceof SheafError) return cause
  return new SheafError(ErrorCode.Internal, 'an unexpected error occurred in the engine', { cause })
}
