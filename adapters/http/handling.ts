/** From a request that has arrived to its reply, or the error that takes its place: who asks, for what, and what comes of it. */
import type { IncomingMessage } from 'node:http'
import { unsupported } from '../../src/errors.js'
import type { CallOptions, Operations } from '../../src/protocol/calls.js'
import { type OperationEntry, operations } from '../../src/protocol/operations.js'
import { readRequest } from '../../src/protocol/wire.js'
import { carryOut } from '../calls.js'
import { readCaller } from './caller.js'
import { unknownPath } from './dialect.js'
import type { Limits } from './limits.js'
import { openApi } from './openapi.js'
import { errorReply, type HttpReply, jsonReply, successReply } from './reply.js'
import { basePathOf, readJsonBody, readQuery, readUpload, type Target } from './request.js'
import type { Found } from './routes.js'

/** What a server answers with. */
export interface Served {
  readonly operations: Operations
}

/** Carries out what requests ask of `served`. */
export class Handling {
  readonly #served: Served
  readonly #limits: Limits

  constructor(served: Served, limits: Limits) {
    this.#served = served
    this.#limits = limits
  }

  /**
   * The reply. Throws what the client is to be told instead. `signal` ends a read whose client is gone, and every call whose time
   * is up before its commit has begun.
   */
  async reply(
    request: IncomingMessage,
    target: Target,
    found: Found,
    signal: (access: OperationEntry['access']) => AbortSignal | undefined,
  ): Promise<HttpReply> {
    switch (found.kind) {
      case 'unknown':
        if (target.route === '/healthz') return jsonReply(200, { status: 'ok' })
        if (target.route === '/openapi.json') return jsonReply(200, openApi(basePathOf(target)))
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
    const { bodyBytes } = this.#limits
    const query = readQuery(target.query)
    const upload = entry.body === 'arrow' ? readUpload(request, bodyBytes) : undefined
    const body = upload === undefined ? await readJsonBody(request, bodyBytes) : undefined
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
      signal: signal(entry.access),
    }
    const call = { name: found.name, request: fields, body: upload, options }
    const result = await carryOut(this.#served.operations, call)
    return successReply(found.name, result, target.dialect, request.headers.accept)
  }
}
