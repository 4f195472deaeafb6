/** Sends the sub-queries of searches to the nodes of a root, through the load balancer of these nodes. */
import type { IncomingHttpHeaders } from 'node:http'
import { concatBytes } from '../../src/arrow/concat-bytes.js'
import type { NodeSender } from '../../src/protocol/calls.js'
import { errorFrom } from '../../src/protocol/errors-wire.js'
import { type OperationEntry, operations } from '../../src/protocol/operations.js'
import type { Identity } from '../../src/protocol/request-fields.js'
import { given, integer, options, string } from '../../src/protocol/shape.js'
import { writeRequest } from '../../src/protocol/wire.js'
import { writeCaller } from './caller.js'
import { longestTimerMs } from './events.js'
import { HttpConnection } from './exchange.js'
import { arrowFile } from './media-types.js'
import { timeoutHeader } from './patience.js'
import { sheafClient } from './stored-rows.js'

/** Options for searches that several nodes execute. */
export interface BalancerOptions {
  /** URL of the load balancer of all nodes of the root, with their base path. */
  readonly url: string
  /**
   * A search with less estimated work, or with less than a fifth of it per part, is not divided. Milliseconds on one
   * core. Default 20.
   */
  readonly minWorkMs?: number | undefined
  /** Time after which this server also computes a part that no node has answered, milliseconds. Default 1,000. */
  readonly hedgeMs?: number | undefined
}

export const balancerShape = options<BalancerOptions>()(
  {
    url: string('nonEmpty'),
    minWorkMs: given<number>('a number >= 0', value => typeof value === 'number' && value >= 0),
    hedgeMs: integer(1, longestTimerMs),
  },
  { url: true },
)

const defaults = { minWorkMs: 20, hedgeMs: 1000 }

/** Header field by which a load balancer chooses the node: the table's UUID, a slash, and the name of the data. */
const shardHeader = 'x-sheaf-shard'

/** After this many failures without a success in between, sub-queries are not sent for `pauseMs` milliseconds. */
const failuresMax = 16
const pauseMs = 5_000

/**
 * Header fields that belong to the connection or to the body of a request. All other fields are sent with sub-queries,
 * so that each node checks the credentials of the caller and the other facts that `authorize` uses.
 */
const ofRequest: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
  ...['content-length', 'content-type', 'content-encoding', 'accept', 'accept-encoding', 'user-agent'],
  ...['proxy-authorization', 'proxy-connection', 'idempotency-key', 'origin', timeoutHeader],
])

/** Number of parts of searches that were sent to other nodes. A part counts as failed each time that it got no answer. */
export interface SentParts {
  readonly answered: number
  readonly failed: number
  /** Parts that were not sent, because the nodes failed too often just before. */
  readonly unsent: number
}

/** The connections of a server to the load balancer. */
export class NodeClient {
  readonly #parts = { answered: 0, failed: 0, unsent: 0 }
  readonly #connection: HttpConnection
  readonly #minWorkMs: number
  readonly #hedgeMs: number
  #failures = 0
  #pausedUntil = 0

  /** Throws InvalidInput for a text that is not an http or https URL. */
  constructor({ url, minWorkMs = defaults.minWorkMs, hedgeMs = defaults.hedgeMs }: BalancerOptions) {
    this.#connection = new HttpConnection(url)
    this.#minWorkMs = minWorkMs
    this.#hedgeMs = hedgeMs
  }

  get parts(): SentParts {
    return this.#parts
  }

  /** Return the sender for a call. `headers`: the header of the call. `endsAt`: end of its time, of `performance.now()`. */
  sender(headers: IncomingHttpHeaders, identity: Identity | undefined, endsAt: number): NodeSender {
    return {
      minWorkMs: this.#minWorkMs,
      hedgeMs: this.#hedgeMs,
      send: async (id, shard, token, signal) => {
        if (performance.now() < this.#pausedUntil) {
          this.#parts.unsent++
          throw new Error('the nodes failed too often')
        }
        const entry: OperationEntry = operations.readTableSlice
        const { method, path, body } = writeRequest(entry, { id, token })
        const left = Math.max(0, Math.floor(endsAt - performance.now()))
        const fields: Record<string, string> = {
          ...forwarded(headers),
          ...writeCaller({ identity }),
          ...sheafClient,
          'content-type': 'application/json',
          accept: arrowFile,
          [shardHeader]: shard,
          ...(Number.isFinite(left) && { [timeoutHeader]: String(left) }),
        }
        try {
          const reply = await this.#connection.exchange({
            method,
            path,
            headers: fields,
            body,
            access: 'read',
            signal,
            timeout: undefined,
          })
          const bytes = concatBytes(reply.chunks)
          if (reply.status !== 200) throw errorFrom(reply.status, Buffer.from(bytes).toString())
          this.#failures = 0
          this.#parts.answered++
          return bytes
        } catch (cause) {
          if (signal?.aborted !== true) this.#failed()
          throw cause
        }
      },
    }
  }

  #failed(): void {
    this.#parts.failed++
    this.#failures++
    if (this.#failures < failuresMax) return
    this.#failures = 0
    this.#pausedUntil = performance.now() + pauseMs
  }

  close(): void {
    this.#connection.close()
  }
}

function forwarded(headers: IncomingHttpHeaders): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !ofRequest.has(name))
      fields[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return fields
}
