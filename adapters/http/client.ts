/** Opens a namespace that a server provides over HTTP, as if it were in this process. */

import { concatBytes } from '../../src/arrow/concat-bytes.js'
import { Namespace } from '../../src/client/namespace.js'
import { ErrorCode, SheafError } from '../../src/errors.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import type { ArrowReply } from '../../src/protocol/calls.js'
import { errorFrom } from '../../src/protocol/errors-wire.js'
import { readJson } from '../../src/protocol/json.js'
import { type OperationEntry, operations } from '../../src/protocol/operations.js'
import { parse } from '../../src/protocol/parse.js'
import { options as declare, record, string } from '../../src/protocol/shape.js'
import { readReply, writeRequest } from '../../src/protocol/wire.js'
import { type Call, remoteOperations } from '../calls.js'
import { type Caller, writeCaller } from './caller.js'
import { bodyFrom, pathIn } from './dialect.js'
import { HttpConnection, type Incoming } from './exchange.js'
import { tableVersion } from './reply.js'
import { sheafClient } from './stored-rows.js'

export interface ConnectHttpOptions {
  /** Header fields that are sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export const connectHttpShape = declare<ConnectHttpOptions>()({ headers: record(string()) })

/**
 * Open the namespace at `url`, base path included. Connects with the first call.
 *
 * Throws InvalidInput for a text that is not an http or https URL. Calls reject with ServiceUnavailable while the server cannot be reached.
 * If the connection is lost after a write was sent, the error has kind `commit-state-unknown`. The `signal` of a call aborts a read at any
 * time, and a write until it is sent completely.
 *
 * ```js
 * const ns = connectHttp('http://localhost:2333', { headers: { 'x-api-key': key } })
 * ```
 */
export function connectHttp(url: string, options?: ConnectHttpOptions): Namespace
export function connectHttp(
  url: string,
  options: ConnectHttpOptions = {},
  ...more: readonly unknown[]
): Namespace {
  refuseMore('connectHttp', 2, more)
  const { headers } = parse(connectHttpShape, options, 'connectHttp')
  const connection = new HttpConnection(url)
  const remote = remoteOperations(connection.base, call => send(connection, headers, call))
  return new Namespace(remote.operations, async () => {
    await remote.drain()
    connection.close()
  })
}

async function send(
  connection: HttpConnection,
  headers: ConnectHttpOptions['headers'],
  { name, request, body, options }: Call,
): Promise<unknown> {
  const { signal, identity, context, idempotencyKey, table, dialect = 'namespace' } = options
  const entry: OperationEntry = operations[name]
  const wire = writeRequest(entry, request)
  const type = body !== undefined ? 'application/vnd.apache.arrow.stream' : wire.body && 'application/json'
  const reply = await connection.exchange({
    method: wire.method,
    path: pathIn(dialect, wire.path),
    headers: {
      ...headers,
      ...(type && { 'content-type': type }),
      ...sheafClient,
      ...writeCaller({
        identity: identity ?? (request.identity as Caller['identity']),
        context: context ?? (request.context as Caller['context']),
        idempotencyKey,
        table,
      }),
    },
    body: body ?? wire.body,
    access: entry.access,
    signal,
  })
  if (reply.status >= 300) throw errorFrom(reply.status, errorContent(reply))
  try {
    if (entry.reply === 'arrow') return arrowReply(reply)
    if (entry.response === null) return undefined
    return readReply(entry, bodyFrom(dialect, name, readJson(concatBytes(reply.chunks), Infinity)), name)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `the reply of ${connection.base} is not as specified: ${reason}`
    throw new SheafError(ErrorCode.Internal, message, { cause })
  }
}

function arrowReply({ headers, chunks }: Incoming): ArrowReply {
  const text = headers[tableVersion]
  if (typeof text !== 'string' || !/^\d+$/.test(text)) throw new Error(`no number in ${tableVersion}`)
  return { version: Number(text), chunks }
}

/** Return the JSON of an error, or its text if a proxy answered instead of the server. */
function errorContent({ chunks }: Incoming): unknown {
  const bytes = concatBytes(chunks)
  try {
    return readJson(bytes, Infinity)
  } catch {
    return Buffer.from(bytes).toString()
  }
}
