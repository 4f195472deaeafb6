/** Reads the body of a request. */
import type { IncomingMessage } from 'node:http'
import { concatChunks } from '../../src/arrow/encode-ipc.js'
import { invalidInput, quote, type SheafError } from '../../src/errors.js'
import { readJson } from '../../src/protocol/json.js'
import { type ContentCoding, codingIn, decoded } from './content-coding.js'
import { firstWithin } from './events.js'
import type { Limits } from './limits.js'
import { arrowFile, arrowStream } from './media-types.js'

/**
 * Maximum number of member names in a JSON body, and in one object. Names take much more time to parse than other
 * values.
 */
const mostMembers = { inAll: 50_000, inOne: 10_000 }

/**
 * Maximum bytes of a JSON body, even if `bodyBytes` is larger. The server holds the whole text in memory to parse it.
 */
const maxJsonBytes = 16 << 20

/**
 * The body of a request. Nothing is read until a handler asks for the body. At that time, the server sends the status
 * 100 to a client that sent `Expect: 100-continue`. If the handler stops reading, the message is not destroyed, because
 * the reply needs its socket.
 */
export class RequestBody {
  readonly #message: IncomingMessage
  readonly #limits: Pick<Limits, 'bodyBytes' | 'pauseMs'>
  readonly #sendContinue: (() => void) | undefined
  #bytes = 0

  /** `sendContinue`: sends the status 100 to a client that waits for it. */
  constructor(
    message: IncomingMessage,
    limits: Pick<Limits, 'bodyBytes' | 'pauseMs'>,
    sendContinue?: (() => void) | undefined,
  ) {
    this.#message = message
    this.#limits = limits
    this.#sendContinue = sendContinue
  }

  /** Number of bytes read so far, before decoding. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether the whole request has arrived. Node sets `complete` only after the reader has got the last bytes. */
  get arrived(): boolean {
    return this.#message.complete || this.#bytes === Number(this.#message.headers['content-length'])
  }

  /** Whether the content type of the body is JSON. */
  get isJson(): boolean {
    return /^application\/([\w.+-]+\+)?json *(;|$)/i.test(this.#message.headers['content-type'] ?? '')
  }

  /**
   * Read the body, chunk by chunk, and decode gzip and zstd. Throws InvalidInput, with these statuses:
   *
   * - 413 if the body, encoded or decoded, is larger than the limit.
   * - 415 for another encoding.
   * - 408 for a client that pauses too long.
   * - 400 if the connection ends before the body is complete, so that a part of an upload is never taken for the whole.
   *
   * Rejects with `signal.reason` while it waits for bytes.
   */
  async *chunks(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const limit = this.#limits.bodyBytes
    const coding = this.#begin(limit)
    const sent = this.#rest(limit, signal)
    yield* coding === undefined ? sent : decoded(sent, coding, limit)
  }

  /**
   * Read the body as JSON. Returns undefined for an empty body. Throws the errors of `chunks`, and InvalidInput for
   * another content type or invalid JSON.
   *
   * `maxBytes`: a lower limit for this client. `withinMs`: milliseconds in which the whole body must arrive; otherwise
   * the status is 408.
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
      // Wait for one microtask. Most bodies arrive together with the head of the request, and Node makes their bytes
      // readable immediately after it emits the request.
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
    if (!this.isJson) {
      throw invalidInput(`a body with the content type ${quote(type ?? 'none')} is not supported`, {
        hint: 'send application/json',
      })
    }
    return readJson(concatChunks(chunks), limit, mostMembers)
  }

  /** Check the declared length, tell the client to send the body, and return the coding of the body. */
  #begin(maxBytes: number): ContentCoding | undefined {
    const { headers } = this.#message
    const coding = codingIn(headers['content-encoding'])
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
    this.#sendContinue?.()
    return coding
  }

  /** Return the bytes that have arrived and were not read yet, or null if there are none. */
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
    // If the connection is lost, Node drops bytes that arrived but were not read. So a complete message may lack its
    // last bytes.
    if (!message.complete || !message.readableEnded) throw cutShort(this.#bytes, message.errored ?? undefined)
  }

  /** Wait for more bytes. Time in which the server does not read is not counted as a pause of the client. */
  async #more(signal: AbortSignal | undefined, until: number): Promise<void> {
    const message = this.#message
    const { pauseMs } = this.#limits
    const leftMs = until - performance.now()
    const events = ['readable', 'end', 'error', 'close'].map(event => [message, event] as const)
    if (leftMs > 0 && (await firstWithin(Math.min(pauseMs, leftMs), signal, ...events))) return
    if (leftMs < pauseMs) {
      throw invalidInput(
        `the body did not arrive within the time limit for callers without credentials in the header`,
        {
          status: 408,
          hint: 'send credentials in the header',
        },
      )
    }
    throw invalidInput(`the body paused for ${pauseMs} ms after ${this.#bytes} bytes`, {
      status: 408,
    })
  }
}

interface JsonOptions {
  readonly maxBytes?: number | undefined
  readonly withinMs?: number | undefined
  /** Converts an Arrow IPC body to the equivalent JSON. Default: Arrow bodies are refused. */
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
