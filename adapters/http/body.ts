/** Reading what a request brings. */
import type { IncomingMessage } from 'node:http'
import { concatChunks } from '../../src/arrow/encode-ipc.js'
import { invalidInput, quote, type SheafError } from '../../src/errors.js'
import { readJson } from '../../src/protocol/json.js'
import { arrowFile, arrowStream } from './accept.js'
import { type ContentCoding, codingIn, decoded } from './content-coding.js'
import { firstWithin } from './events.js'
import type { Limits } from './limits.js'

/** Names in a JSON body: other values take much less time. */
const mostMembers = { inAll: 50_000, inOne: 10_000 }

/** The most JSON a request may hold, whatever the limit on bodies: it is read and parsed as a whole. */
const maxJsonBytes = 16 << 20

/**
 * The body of a request. Nothing of it is read before it is asked for, and the client that waits to be told to send is told
 * then. The message outlives its reader: the reply still has to go out on its socket.
 */
export class RequestBody {
  readonly #message: IncomingMessage
  readonly #limits: Pick<Limits, 'bodyBytes' | 'pauseMs'>
  readonly #sendOn: (() => void) | undefined
  #bytes = 0

  /** `sendOn` tells a client that asked whether to send. */
  constructor(
    message: IncomingMessage,
    limits: Pick<Limits, 'bodyBytes' | 'pauseMs'>,
    sendOn?: (() => void) | undefined,
  ) {
    this.#message = message
    this.#limits = limits
    this.#sendOn = sendOn
  }

  /** Bytes read so far, as they were sent. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether all of the request is here; node notices only after it has given the last bytes away. */
  get arrived(): boolean {
    return this.#message.complete || this.#bytes === Number(this.#message.headers['content-length'])
  }

  /**
   * The body, chunk by chunk; gzip and zstd are decoded. Throws code 13: with status 413 above the limit, coded or decoded, 415 for
   * another coding, 408 for a client that pauses too long; and where the connection ends before the body does, so that part of an upload is never taken for the
   * whole. Waiting for bytes ends with `signal.reason`.
   */
  async *chunks(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const limit = this.#limits.bodyBytes
    const coding = this.#begin(limit)
    const sent = this.#rest(limit, signal)
    yield* coding === undefined ? sent : decoded(sent, coding, limit)
  }

  /**
   * The JSON, or undefined where nothing was sent. Throws what `chunks` throws, and code 13 for another content type, and for
   * text that is not JSON. `maxBytes`: where less is read of this client; `withinMs`: all of it must come in that time (408).
   */
  async json(
    signal: AbortSignal | undefined,
    { maxBytes = maxJsonBytes, withinMs = Number.POSITIVE_INFINITY, fromArrow }: JsonOptions = {},
  ): Promise<unknown> {
    const limit = Math.min(this.#limits.bodyBytes, maxJsonBytes, maxBytes)
    const until = performance.now() + withinMs
    const coding = this.#begin(limit)
    const chunks: Uint8Array[] = []
    if (coding === undefined) {
      // Most bodies come with the head, and are given away right after it: nothing else is waited for then.
      await null
      const first = this.#take(limit)
      if (first !== null) chunks.push(first)
      if (!this.arrived || this.#message.destroyed)
        for await (const chunk of this.#rest(limit, signal, until)) chunks.push(chunk)
    } else {
      const sent = this.#rest(limit, signal, until)
      for await (const chunk of decoded(sent, coding, limit)) chunks.push(chunk)
    }
    if (chunks.length === 0) return undefined
    const type = this.#message.headers['content-type']
    if (fromArrow !== undefined && isArrow(type)) return fromArrow(concatChunks(chunks))
    if (type === undefined || !/^application\/([\w.+-]+\+)?json *(;|$)/i.test(type)) {
      throw invalidInput(`the body has the content type ${quote(type ?? 'none')}`, {
        hint: 'send application/json',
      })
    }
    return readJson(concatChunks(chunks), limit, mostMembers)
  }

  /** How the body is coded. */
  #begin(maxBytes: number): ContentCoding | undefined {
    const { headers } = this.#message
    const coding = codingIn(headers['content-encoding'])
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
    this.#sendOn?.()
    return coding
  }

  /** What is here, if anything is. */
  #take(maxBytes: number): Uint8Array | null {
    const chunk = this.#message.read() as Uint8Array | null
    this.#bytes += chunk?.length ?? 0
    if (this.#bytes > maxBytes) throw tooLarge(maxBytes)
    return chunk
  }

  async *#rest(
    maxBytes: number,
    signal: AbortSignal | undefined,
    until = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<Uint8Array> {
    const message = this.#message
    for (;;) {
      const chunk = this.#take(maxBytes)
      if (chunk !== null) yield chunk
      else if (message.readableEnded || message.destroyed) break
      else await this.#more(signal, until)
    }
    // Bytes that lay there when the connection was lost are lost with it, also where they were the last.
    if (!message.complete || !message.readableEnded) throw cutShort(this.#bytes, message.errored ?? undefined)
  }

  /** Only while somebody waits for the client does its pause count. */
  async #more(signal: AbortSignal | undefined, until: number): Promise<void> {
    const message = this.#message
    const { pauseMs } = this.#limits
    const leftMs = until - performance.now()
    const events = ['readable', 'end', 'error', 'close'].map(event => [message, event] as const)
    if (leftMs > 0 && (await firstWithin(Math.min(pauseMs, leftMs), signal, ...events))) return
    if (leftMs < pauseMs) {
      throw invalidInput(`the body did not come in the time that callers have who are not known yet`, {
        status: 408,
        hint: 'send credentials in the header',
      })
    }
    throw invalidInput(`nothing of the body came for ${pauseMs} ms, after ${this.#bytes} bytes`, {
      status: 408,
    })
  }
}

export interface JsonOptions {
  readonly maxBytes?: number | undefined
  readonly withinMs?: number | undefined
  /** The JSON that an Arrow IPC body stands for; absent: such a body is refused. */
  readonly fromArrow?: ((bytes: Uint8Array) => unknown) | undefined
}

function isArrow(type = ''): boolean {
  const [name] = type.toLowerCase().split(/ *;/)
  return name === arrowStream || name === arrowFile
}

function tooLarge(maxBytes: number): SheafError {
  return invalidInput(`the body is larger than the limit of ${maxBytes} bytes`, { status: 413 })
}

function cutShort(length: number, cause?: unknown): SheafError {
  return invalidInput(`the connection ended after ${length} bytes of the body, before its end`, { cause })
}
