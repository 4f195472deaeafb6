/**
 * Reads Arrow IPC streams and files (columnar format, "IPC Streaming Format" and "IPC File Format") that come
 * from outside. Columns are views of the bytes given wherever the machine can address them as they lie.
 */
import { invalidInput, quote } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import { Budget, defaultMaxBytes, tooLarge } from './budget.js'
import type { Batch } from './column.js'
import { concatBytes } from './concat.js'
import { IpcDecoder } from './ipc-decoder.js'
import {
  type Block,
  decodeFooter,
  decodeMessage,
  decodePrefix,
  fileMagic,
  type Message,
  prefixBytes,
} from './ipc-message.js'
import { asBytes } from './layout.js'
import { runAtOnce, runPaced } from './steps.js'
import type { Schema } from './types.js'

export interface DecodeLimits {
  /**
   * Bytes that decoding may allocate beyond those given: decompressed buffers, views and 64-bit offsets made
   * plain, joined dictionaries. Default 1 GiB.
   */
  readonly maxBytes?: number
}

export interface Decoded {
  readonly schema: Schema
  readonly batches: readonly Batch[]
}

/** Footer length and closing magic. */
const tailBytes = 4 + fileMagic.length
/** Opening magic, padded to 8 bytes. */
const headBytes = 8

/**
 * Decodes a whole stream or file; which of the two, the first bytes say.
 *
 * Types Sheaf does not hold are refused; utf8_view and binary_view become utf8 and binary. Text is checked to
 * be UTF-8, offsets and dictionary indices to be in range.
 * @throws invalidInput (code 13) for what is not Arrow, cut off or broken, saying what and at which byte; with
 *   status 413 past `limits.maxBytes`; unsupported (code 0) for types, compression and byte order not held.
 */
export function decodeIpc(bytes: Uint8Array, limits: DecodeLimits = {}): Decoded {
  if (bytes.length === 0) throw invalidInput('0 bytes is not an Arrow body')
  const budget = new Budget(limits.maxBytes ?? defaultMaxBytes)
  const plain = asBytes(bytes)
  return startsAsFile(plain) ? decodeFile(plain, budget) : decodeStream(plain, budget)
}

function startsAsFile(bytes: Uint8Array): boolean {
  if (bytes.length < fileMagic.length) return false
  for (let i = 0; i < fileMagic.length; i++) if (bytes[i] !== fileMagic.charCodeAt(i)) return false
  return true
}

function decodeStream(bytes: Uint8Array, budget: Budget): Decoded {
  const batches: Batch[] = []
  let decoder: IpcDecoder | null = null
  let at = 0
  while (at < bytes.length) {
    if (at + prefixBytes > bytes.length) throw cutOff(bytes.length)
    const metadataBytes = decodePrefix(bytes, at, at)
    const start = at
    at += prefixBytes
    if (metadataBytes === 0) {
      if (at < bytes.length)
        throw invalidInput(`${bytes.length - at} bytes follow the end of the stream (byte ${at})`)
      break
    }
    if (at + metadataBytes > bytes.length) throw cutOff(bytes.length)
    const message = decodeMessage(bytes.subarray(at, at + metadataBytes), at)
    at += metadataBytes
    if (message.kind === 'schema') {
      decoder = openStream(message, decoder, budget, start)
      continue
    }
    if (at + message.bodyBytes > bytes.length) throw cutOff(bytes.length)
    const body = bytes.subarray(at, at + message.bodyBytes)
    if (decoder === null) throw noSchema(start)
    if (message.kind === 'dictionary') runAtOnce(decoder.addDictionary(message, body, at))
    else batches.push(runAtOnce(decoder.batch(message.header, body, at, budget)))
    at += message.bodyBytes
  }
  if (decoder === null) throw noSchema(at)
  return { schema: decoder.schema, batches }
}

function openStream(
  message: Message & { readonly kind: 'schema' },
  open: IpcDecoder | null,
  dictionaryBudget: Budget,
  at: number,
): IpcDecoder {
  if (open !== null) throw invalidInput(`broken arrow stream: a second schema (byte ${at})`)
  return new IpcDecoder(message.decoded, { dictionaryBudget, checkText: true })
}

function decodeFile(bytes: Uint8Array, budget: Budget): Decoded {
  const footerEnd = bytes.length - tailBytes
  const closing = Buffer.from(bytes.subarray(Math.max(0, footerEnd + 4))).toString('latin1')
  if (footerEnd < headBytes || closing !== fileMagic) {
    throw invalidInput(`arrow file cut off: byte ${bytes.length} does not follow ${fileMagic}, its last word`)
  }
  const footerBytes = new DataView(bytes.buffer, bytes.byteOffset + footerEnd, 4).getInt32(0, true)
  const footerStart = footerEnd - footerBytes
  if (footerBytes <= 0 || footerStart < headBytes) {
    throw invalidInput(`broken arrow file: a footer of ${footerBytes} bytes (byte ${footerEnd})`)
  }
  const footer = decodeFooter(bytes.subarray(footerStart, footerEnd), footerStart)
  checkBlocks([...footer.dictionaries, ...footer.batches], footerStart)

  const decoder = new IpcDecoder(footer.decoded, { dictionaryBudget: budget, checkText: true })
  const dictionaries = footer.dictionaries.map(block => readBlock(bytes, block))
  const ranks = decoder.dictionaryRanks()
  dictionaries.sort((a, b) => (ranks.get(a.id) ?? 0) - (ranks.get(b.id) ?? 0))
  const met = new Set<number>()
  for (const { message, id, body, at } of dictionaries) {
    if (message.kind !== 'dictionary')
      throw invalidInput(`broken arrow file: no dictionary batch at byte ${at}`)
    if (met.has(id) && !message.delta)
      throw invalidInput(`broken arrow file: a second dictionary ${id} (byte ${at})`)
    met.add(id)
    runAtOnce(decoder.addDictionary(message, body, at))
  }
  const batches = footer.batches.map(block => {
    const { message, body, at } = readBlock(bytes, block)
    if (message.kind !== 'batch')
      throw invalidInput(`broken arrow file: no record batch at byte ${block.offset}`)
    return runAtOnce(decoder.batch(message.header, body, at, budget))
  })
  return { schema: decoder.schema, batches }
}

/** Blocks lie before the footer and, in sum, do not claim more bytes than there are. */
function checkBlocks(blocks: readonly Block[], end: number): void {
  let left = end
  for (const { offset, metadataBytes, bodyBytes } of blocks) {
    const bytes = metadataBytes + bodyBytes
    left -= bytes
    if (offset + bytes > end) {
      throw invalidInput(`broken arrow file: a message at ${offset}+${bytes} of ${end} bytes (byte ${end})`)
    }
    if (left < 0) throw invalidInput(`broken arrow file: messages overlap (byte ${offset})`)
  }
}

function readBlock(bytes: Uint8Array, { offset, metadataBytes, bodyBytes }: Block) {
  const length = decodePrefix(bytes, offset, offset)
  if (length === 0 || prefixBytes + length > metadataBytes) {
    throw invalidInput(`broken arrow file: metadata of ${length} bytes in ${metadataBytes} (byte ${offset})`)
  }
  const start = offset + prefixBytes
  const message = decodeMessage(bytes.subarray(start, start + length), start)
  const at = offset + metadataBytes
  if (message.kind !== 'schema' && message.bodyBytes > bodyBytes) {
    throw invalidInput(`broken arrow file: a body of ${message.bodyBytes} bytes in ${bodyBytes} (byte ${at})`)
  }
  const body = bytes.subarray(at, at + (message.kind === 'schema' ? 0 : message.bodyBytes))
  return { message, id: message.kind === 'dictionary' ? message.id : -1, body, at }
}

function cutOff(at: number) {
  return invalidInput(`arrow stream cut off at byte ${at}, inside a message`)
}

function noSchema(at: number) {
  return invalidInput(`broken arrow stream: no schema before byte ${at}`)
}

export interface DecodeStreamOptions extends DecodeLimits {
  /** Ends the decoding: what is awaited rejects with `signal.reason`. */
  readonly signal?: AbortSignal
}

export interface DecodedStream {
  readonly schema: Schema
  /** To be read once; each batch is decoded when it is asked for. */
  readonly batches: AsyncIterable<Batch>
}

/**
 * Decodes an upload as it arrives, from chunks that stay as they are; resolves when the schema has been read. Holds one message at a time, so
 * `maxBytes` bounds each message (as it arrives and as decoded) and the dictionaries, not the whole. A file,
 * whose dictionaries may come last, is gathered first and must fit in `maxBytes`. Lets the event loop turn
 * while it decodes.
 * @throws what `decodeIpc` throws; from `batches` for what comes after the schema.
 */
export async function decodeIpcStream(
  chunks: AsyncIterable<Uint8Array>,
  options: DecodeStreamOptions = {},
): Promise<DecodedStream> {
  const source = new ByteSource(chunks)
  try {
    return await openChunks(source, options)
  } catch (error) {
    await source.close()
    throw error
  }
}

async function openChunks(source: ByteSource, options: DecodeStreamOptions): Promise<DecodedStream> {
  const { maxBytes = defaultMaxBytes, signal } = options
  const pacer = new Pacer(signal)
  const head = await source.peek(fileMagic.length)
  if (head.length === 0) throw invalidInput('0 bytes is not an Arrow body')
  if (startsAsFile(head)) {
    const { schema, batches } = decodeIpc(await source.rest(maxBytes), { maxBytes })
    return { schema, batches: iterate(batches) }
  }
  const start = source.position
  const first = await readMessage(source, maxBytes)
  if (first?.message.kind !== 'schema') throw noSchema(start)
  const decoder = openStream(first.message, null, new Budget(maxBytes), start)
  return { schema: decoder.schema, batches: streamBatches(source, decoder, maxBytes, pacer) }
}

async function* iterate(batches: readonly Batch[]): AsyncGenerator<Batch> {
  yield* batches
}

async function* streamBatches(
  source: ByteSource,
  decoder: IpcDecoder,
  maxBytes: number,
  pacer: Pacer,
): AsyncGenerator<Batch> {
  try {
    for (;;) {
      const start = source.position
      const next = await readMessage(source, maxBytes)
      if (next === null) return
      const { message, body, at } = next
      if (message.kind === 'schema')
        throw invalidInput(`broken arrow stream: a second schema (byte ${start})`)
      if (message.kind === 'dictionary') await runPaced(decoder.addDictionary(message, body, at), pacer)
      else yield await runPaced(decoder.batch(message.header, body, at, new Budget(maxBytes)), pacer)
    }
  } finally {
    await source.close()
  }
}

/** The next message and its body; null at the end of the stream, after which nothing may follow. */
async function readMessage(source: ByteSource, maxBytes: number) {
  const start = source.position
  const prefix = await source.peek(prefixBytes)
  if (prefix.length === 0) return null
  if (prefix.length < prefixBytes) throw cutOff(start + prefix.length)
  await source.read(prefixBytes)
  const length = decodePrefix(prefix, 0, start)
  if (length === 0) {
    const more = await source.peek(1)
    if (more.length > 0) throw invalidInput(`bytes follow the end of the stream (byte ${source.position})`)
    return null
  }
  const metadataAt = source.position
  if (length > maxBytes) throw tooLarge(`the metadata at byte ${metadataAt} is`, maxBytes)
  const message = decodeMessage(await source.read(length), metadataAt)
  const at = source.position
  if (message.kind === 'schema') return { message, body: new Uint8Array(0), at }
  if (message.bodyBytes > maxBytes) throw tooLarge(`the batch at byte ${at} is`, maxBytes)
  return { message, body: await source.read(message.bodyBytes), at }
}

/** Chunks of any size, read in exact amounts. */
class ByteSource {
  readonly #chunks: AsyncIterator<Uint8Array>
  #pending: Uint8Array[] = []
  #pendingBytes = 0
  /** Bytes read so far. */
  position = 0

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** The next bytes without taking them; fewer only where the source ends. */
  async peek(bytes: number): Promise<Uint8Array> {
    while (this.#pendingBytes < bytes && (await this.#fetch()));
    if (this.#pending.length > 1) this.#pending = [concatBytes(this.#pending)]
    return this.#pending[0]?.subarray(0, bytes) ?? new Uint8Array(0)
  }

  /**
   * Takes exactly `bytes`, in a buffer that starts on a multiple of 8 unless one chunk holds them all. Memory
   * is touched only as bytes arrive, whatever was announced.
   */
  async read(bytes: number): Promise<Uint8Array> {
    if (this.#pendingBytes === 0 && bytes > 0) await this.#fetch()
    const first = this.#pending[0]
    if (first !== undefined && first.length >= bytes) {
      this.#take(first, bytes)
      return first.subarray(0, bytes)
    }
    const out = new Uint8Array(bytes)
    let filled = 0
    while (filled < bytes) {
      if (this.#pendingBytes === 0 && !(await this.#fetch())) throw cutOff(this.position)
      const chunk = this.#pending[0]!
      const part = Math.min(chunk.length, bytes - filled)
      out.set(chunk.subarray(0, part), filled)
      this.#take(chunk, part)
      filled += part
    }
    return out
  }

  /** Everything that is left. */
  async rest(maxBytes: number): Promise<Uint8Array> {
    while (await this.#fetch()) {
      if (this.#pendingBytes > maxBytes) throw tooLarge('the arrow file is', maxBytes)
    }
    return this.#pending.length === 1 ? this.#pending[0]! : concatBytes(this.#pending)
  }

  async close(): Promise<void> {
    await this.#chunks.return?.()
  }

  #take(chunk: Uint8Array, bytes: number): void {
    if (bytes === chunk.length) this.#pending.shift()
    else this.#pending[0] = chunk.subarray(bytes)
    this.#pendingBytes -= bytes
    this.position += bytes
  }

  /** Waits for the next chunk that holds anything; false where the source ends. */
  async #fetch(): Promise<boolean> {
    for (;;) {
      const next = await this.#chunks.next()
      if (next.done === true) return false
      if (!(next.value instanceof Uint8Array)) {
        throw invalidInput(`an arrow body comes in Uint8Array chunks, got ${quote(typeof next.value)}`)
      }
      if (next.value.length === 0) continue
      this.#pending.push(asBytes(next.value))
      this.#pendingBytes += next.value.length
      return true
    }
  }
}
