/** From a request that has arrived to its reply, or the error that takes its place: who asks, for what, and what comes of it. */
import type { IncomingMessage } from 'node:http'
import { unsupported } from '../../src/errors.js'
import type { RootStats } from '../../src/index.js'
import type { CallOptions, Operations } from '../../src/protocol/calls.js'
import { type OperationEntry, operations } from '../../src/protocol/operations.js'
import { readRequest } from '../../src/protocol/wire.js'
import { carryOut } from '../calls.js'
import type { RequestBody } from './body.js'
import { readCaller } from './caller.js'
import { unknownPath } from './dialect.js'
import type { Limits } from './limits.js'
import type { Particulars } from './options.js'
import { errorReply, type HttpReply, successReply } from './reply.js'
import { readQuery, type Target } from './request.js'
import type { Found } from './routes.js'

/** What a server answers with. */
export interface Served {
  readonly operations: Operations
  /** What is known of the root, for `/metrics`; may throw where it is elsewhere. */
  readonly stats?: (() => RootStats) | undefined
}

/** A request on its way through a server. */
export interface Arrival {
  readonly request: IncomingMessage
  readonly body: RequestBody
  readonly target: Target
  readonly found: Found
  /** Ends a read whose client is gone, and every call whose time is up before its commit has begun. */
  readonly signal: (access: OperationEntry['access']) => AbortSignal | undefined
  /** Says once who calls, undefined where nobody is asked. Throws code 21 where that caller has too many calls under way. */
  readonly admit: (principal: string | undefined) => void
  /** What the log is told. */
  readonly particulars: Particulars
}

/** Carries out what requests ask of `served`. */
export class Handling {
  readonly #served: Served
  readonly #limits: Limits

  constructor(served: Served, limits: Limits) {
    this.#served = served
    this.#limits = limits
  }

  /** The reply. Throws what the client is to be told instead. */
  async reply({ request, body: sent, target, found, signal, admit }: Arrival): Promise<HttpReply> {
    switch (found.kind) {
      case 'unknown':
        throw unknownPath(target.path, target.dialect)
      case 'unserved':
        throw unsupported(`${request.method} ${target.path} is known but not supported`)
      case 'wrong-method': {
        const error = unsupported(`${request.method} is not a method of ${target.path}`, { status: 405 })
        const allow = found.allowed.join(', ')
        return errorReply(error, target.path, target.dialect, undefined, { allow })
      }
    }
    const entry: OperationEntry = operations[found.name]
    admit(undefined)
    const ended = signal(entry.access)
    const query = readQuery(target.query)
    const upload = entry.body === 'arrow' ? sent.chunks(ended) : undefined
    const body = upload === undefined ? await sent.json(ended) : undefined
    const { identity, context, idempotencyKey, table } = readCaller(request.headers)
    const fields = {
      ...readRequest(entry, { segments: found.segments, query, body }),
      ...(identity && { identity }),
      ...(context && { context }),
    }
    const options: CallOptions = {
      identity,
      context,
      idempotencyKey,
      table,
      dialect: target.dialect,
      signal: ended,
      maxMessageBytes: this.#limits.messageBytes,
    }
    const call = { name: found.name, request: fields, body: upload, options }
    const result = await carryOut(this.#served.operations, call)
    return successReply(found.name, result, target.dialect, request.headers.accept)
  }
}
