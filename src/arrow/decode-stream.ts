/** Reads Arrow IPC streams and files while they arrive, one message at a time. */
import { invalidInput } from '../errors.js'
import { Pacer } from '../primitives/pacer.js'
import { Budget, defaultMaxBytes, type SharedMemory, tooLarge } from './budget.js'
import { ByteSource } from './byte-source.js'
import type { Batch } from './column.js'
import {
  cutOff,
  type DecodeLimits,
  decodeIpcSteps,
  headBytes,
  noSchema,
  openStream,
  readFooter,
  startsAsFile,
} from './decode-ipc.js'
import { announcedBytes } from './decompress.js'
import type { IpcDecoder } from './ipc-decoder.js'
import { decodeMessage, decodePrefix, fileMagic, prefixBytes } from './ipc-message.js'
import { runPaced } from './steps.js'
import type { Schema } from './types.js'
import { dictionaryFields } from './wire-field.js'

/** Options of `decodeIpcStream`. */
interface DecodeStreamOptions extends DecodeLimits {
  /** Cancels the decoding: pending promises reject with `signal.reason`. */
  readonly signal?: AbortSignal | undefined
  /**
   * Whether the caller keeps all batches in memory. If false (default), the decoder gives the shared memory of a batch
   * back when the caller asks for the next batch.
   */
  readonly keeps?: boolean | undefined
}

/** A stream or file that is being decoded. */
export interface DecodedStream {
  readonly schema: Schema
  /** The batches. The caller can iterate only once. Each batch is decoded when the caller asks for it. */
  readonly batches: AsyncIterable<Batch>
}

/**
 * Decode a stream or a file while it arrives. Resolves when the schema has been read. The caller must not change the
 * chunks. Decoding yields to the event loop.
 *
 * - Only one message is in memory at a time. So `maxBytes` limits the dictionaries and each message, as received and as
 *   decoded, but not the whole input.
 * - A file with dictionaries is read completely first, because its dictionaries may be at its end. Its size must not
 *   exceed `maxBytes`.
 * - The footer of a file without dictionaries must list the batches in the order in which they are in the file.
 *
 * @throws the errors of `decodeIpc`. Errors after the schema are thrown by the iteration of `batches`.
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
  const { maxBytes = defaultMaxBytes, signal, memory, keeps = false } = options
  const pacer = new Pacer(signal)
  const head = await source.peek(fileMagic.length)
  if (head.length === 0) throw invalidInput('0 bytes is not an Arrow body')
  const isFile = startsAsFile(head)
  if (isFile && (await hasDictionaries(source, maxBytes))) {
    const bytes = await source.rest(maxBytes)
    await memory?.take(bytes.length, signal)
    const { schema, batches } = await runPaced(decodeIpcSteps(bytes, { maxBytes, memory }), pacer)
    return { schema, batches: iterate(batches) }
  }
  if (isFile) await source.read(headBytes)
  const start = source.position
  const first = await readMessage(source, maxBytes)
  if (first?.message.kind !== 'schema') throw noSchema(start)
  const decoder = openStream(first.message, null, new Budget(maxBytes, memory), start)
  const state = { isFile, maxBytes, pacer, signal, memory, keeps, taken: 0 }
  return { schema: decoder.schema, batches: streamBatches(source, decoder, state) }
}

/**
 * Return whether the schema of a file has dictionaries, without consuming bytes. Also returns true if the file does not
 * begin with a complete schema message. Then the caller reads the whole file and uses the schema in its footer.
 */
async function hasDictionaries(source: ByteSource, maxBytes: number): Promise<boolean> {
  const prefix = await source.peek(headBytes + prefixBytes)
  if (prefix.length < headBytes + prefixBytes) return true
  const at = headBytes + prefixBytes
  const length = decodePrefix(prefix, headBytes, headBytes)
  if (length > maxBytes) throw tooLarge(`the metadata at byte ${at} is`, maxBytes)
  const metadata = (await source.peek(at + length)).subarray(at)
  if (length === 0 || metadata.length < length) return true
  const message = decodeMessage(metadata, at)
  return message.kind !== 'schema' || dictionaryFields(message.decoded.fields).length > 0
}

async function* iterate(batches: readonly Batch[]): AsyncGenerator<Batch> {
  yield* batches
}

interface StreamState {
  readonly isFile: boolean
  readonly maxBytes: number
  readonly pacer: Pacer
  readonly signal: AbortSignal | undefined
  readonly memory: SharedMemory | undefined
  readonly keeps: boolean
  /** Bytes of shared memory that the batch yielded last uses. */
  taken: number
}

async function* streamBatches(
  source: ByteSource,
  decoder: IpcDecoder,
  state: StreamState,
): AsyncGenerator<Batch> {
  const starts: number[] = []
  try {
    for (;;) {
      const batch = await nextBatch(source, decoder, starts, state)
      if (batch === null) break
      yield batch
      giveBack(state)
    }
    if (state.isFile) await checkFooter(source, starts, state.maxBytes)
    else await checkEnd(source)
  } finally {
    giveBack(state)
    await source.close()
  }
}

function giveBack(state: StreamState): void {
  if (state.keeps) return
  state.memory?.give(state.taken)
  state.taken = 0
}

/**
 * Decode the next batch, and add its offset to `starts`. Returns null at the end of the stream. The variables of this
 * function refer to the encoded batch. It is a separate function, so that they are freed while the caller uses the
 * decoded batch.
 */
async function nextBatch(
  source: ByteSource,
  decoder: IpcDecoder,
  starts: number[],
  state: StreamState,
): Promise<Batch | null> {
  const { maxBytes, pacer, signal, memory } = state
  for (;;) {
    // `take` waits while other decoders wait for memory, so this decoder does not read more input until then.
    await memory?.take(0, signal)
    const start = source.position
    const next = await readMessage(source, maxBytes)
    if (next === null) return null
    const { message, body, at } = next
    if (message.kind === 'schema') throw invalidInput(`broken arrow stream: a second schema (byte ${start})`)
    if (message.kind === 'dictionary') {
      await runPaced(decoder.addDictionary(message, body, at), pacer)
      continue
    }
    starts.push(start)
    const announced = Math.min(maxBytes, announcedBytes(message.header, body))
    await memory?.take(body.length + announced, signal)
    const budget = new Budget(maxBytes, memory, announced)
    try {
      return await runPaced(decoder.batch(message.header, body, at, budget), pacer)
    } finally {
      state.taken = body.length + budget.taken
    }
  }
}

async function checkEnd(source: ByteSource): Promise<void> {
  if ((await source.peek(1)).length === 0) return
  throw invalidInput(`bytes follow the end of the stream (byte ${source.position})`)
}

/**
 * Check that the footer lists the batches that were read, in the same order. Readers of files follow the footer, so
 * with another list they would see other rows.
 */
async function checkFooter(source: ByteSource, starts: readonly number[], maxBytes: number): Promise<void> {
  const from = source.position
  const { footer, footerStart } = readFooter(await source.rest(maxBytes), from)
  const listed = footer.batches
  if (listed.length === starts.length && listed.every(({ offset }, i) => offset === starts[i])) return
  throw invalidInput(
    `broken arrow file: its footer must list the ${starts.length} batches in the order of the file (byte ${footerStart})`,
  )
}

/** Read the next message and its body. Returns null at the end of the stream. */
async function readMessage(source: ByteSource, maxBytes: number) {
  const start = source.position
  const prefix = await source.peek(prefixBytes)
  if (prefix.length === 0) return null
  if (prefix.length < prefixBytes) throw cutOff(start + prefix.length)
  await source.read(prefixBytes)
  const length = decodePrefix(prefix, 0, start)
  if (length === 0) return null
  const metadataAt = source.position
  if (length > maxBytes) throw tooLarge(`the metadata at byte ${metadataAt} is`, maxBytes)
  const message = decodeMessage(await source.read(length), metadataAt)
  const at = source.position
  if (message.kind === 'schema') return { message, body: new Uint8Array(0), at }
  if (message.bodyBytes > maxBytes) throw tooLarge(`the batch at byte ${at} is`, maxBytes)
  return { message, body: await source.read(message.bodyBytes), at }
}
