/**
 * Reads complete, untrusted Arrow IPC streams and files (columnar format, "IPC Streaming Format" and "IPC File
 * Format"). `decode-stream.ts` reads input while it arrives. Buffers of columns are views of the input if they are
 * aligned, otherwise copies.
 */
import { invalidInput } from '../errors.js'
import { Budget, defaultMaxBytes, type SharedMemory } from './budget.js'
import type { Batch } from './column.js'
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
import { runAtOnce, type Steps } from './steps.js'
import type { Schema } from './types.js'

/** Limits of decoding. */
export interface DecodeLimits {
  /**
   * Maximum bytes that decoding may allocate in addition to its input, for example for decompressed buffers and joined
   * dictionaries. Default: 1 GiB.
   */
  readonly maxBytes?: number
  /** Shared memory from which the decoder takes the bytes that it allocates. Default: none. */
  readonly memory?: SharedMemory | undefined
}

/** A decoded stream or file. */
interface Decoded {
  readonly schema: Schema
  readonly batches: readonly Batch[]
}

/** Bytes at the end of a file: the footer length and the closing magic. */
const tailBytes = 4 + fileMagic.length
/** Bytes at the start of a file: the opening magic, padded to a multiple of 8. */
export const headBytes = 8

/**
 * Decode a complete stream or file. A file starts with the magic `ARROW1`; all other input is decoded as a stream.
 *
 * Converts utf8_view and binary_view to utf8 and binary. Checks that text is UTF-8, and that offsets and dictionary
 * indices are in range.
 * @throws InvalidInput if the input is not Arrow, cut off or broken. The message names the byte. The status is 413 if
 * `limits.maxBytes` is exceeded. Unsupported for an unsupported type, compression or byte order.
 */
export function decodeIpc(bytes: Uint8Array, limits: DecodeLimits = {}): Decoded {
  return runAtOnce(decodeIpcSteps(bytes, limits))
}

/** Decode like `decodeIpc`, in steps of a few milliseconds. */
export function* decodeIpcSteps(bytes: Uint8Array, limits: DecodeLimits = {}): Steps<Decoded> {
  if (bytes.length === 0) throw invalidInput('0 bytes is not an Arrow body')
  if (bytes[0] === 0x50 && bytes[1] === 0x41 && bytes[2] === 0x52 && bytes[3] === 0x31) {
    throw invalidInput('the bytes are a Parquet file, not an Arrow stream or file', {
      hint: 'convert it to Arrow IPC, CSV or JSON lines; Sheaf does not read Parquet',
    })
  }
  const budget = new Budget(limits.maxBytes ?? defaultMaxBytes, limits.memory)
  const plain = asBytes(bytes)
  return yield* startsAsFile(plain) ? decodeFile(plain, budget) : decodeStream(plain, budget)
}

/** Return whether bytes start with the magic of an Arrow file. */
export function startsAsFile(bytes: Uint8Array): boolean {
  if (bytes.length < fileMagic.length) return false
  for (let i = 0; i < fileMagic.length; i++) if (bytes[i] !== fileMagic.charCodeAt(i)) return false
  return true
}

function* decodeStream(bytes: Uint8Array, budget: Budget): Steps<Decoded> {
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
    if (message.kind === 'dictionary') yield* decoder.addDictionary(message, body, at)
    else batches.push(yield* decoder.batch(message.header, body, at, budget))
    at += message.bodyBytes
  }
  if (decoder === null) throw noSchema(at)
  return { schema: decoder.schema, batches }
}

/**
 * Create the decoder for a schema message. `open`: the decoder of an earlier schema message of the stream;
 * `InvalidInput` is thrown if it is not null.
 */
export function openStream(
  message: Message & { readonly kind: 'schema' },
  open: IpcDecoder | null,
  dictionaryBudget: Budget,
  at: number,
): IpcDecoder {
  if (open !== null) throw invalidInput(`broken arrow stream: a second schema (byte ${at})`)
  return new IpcDecoder(message.decoded, { dictionaryBudget, checkText: true })
}

function* decodeFile(bytes: Uint8Array, budget: Budget): Steps<Decoded> {
  const { footer, footerStart } = readFooter(bytes, 0)
  checkBlocks([...footer.dictionaries, ...footer.batches], footerStart)

  const decoder = new IpcDecoder(footer.decoded, { dictionaryBudget: budget, checkText: true })
  const dictionaries = footer.dictionaries.map(block => readBlock(bytes, block))
  const ranks = decoder.dictionaryRanks()
  dictionaries.sort((a, b) => (ranks.get(a.id) ?? 0) - (ranks.get(b.id) ?? 0))
  const met = new Set<number>()
  for (const { message, id, body, at } of dictionaries) {
    if (message.kind !== 'dictionary')
      throw invalidInput(`broken arrow file: the message before byte ${at} is not a dictionary batch`)
    if (met.has(id) && !message.delta)
      throw invalidInput(`broken arrow file: a second dictionary ${id} (byte ${at})`)
    met.add(id)
    yield* decoder.addDictionary(message, body, at)
  }
  const batches: Batch[] = []
  for (const block of footer.batches) {
    const { message, body, at } = readBlock(bytes, block)
    if (message.kind !== 'batch')
      throw invalidInput(`broken arrow file: the message at byte ${block.offset} is not a record batch`)
    batches.push(yield* decoder.batch(message.header, body, at, budget))
  }
  return { schema: decoder.schema, batches }
}

/** Read the footer of a file. `bytes`: the bytes of the file from offset `from` to its end. */
export function readFooter(bytes: Uint8Array, from: number) {
  const end = from + bytes.length
  const footerEnd = bytes.length - tailBytes
  const closing = Buffer.from(bytes.subarray(Math.max(0, footerEnd + 4))).toString('latin1')
  const least = Math.max(0, headBytes - from)
  if (footerEnd < least || closing !== fileMagic) {
    throw invalidInput(`arrow file cut off: it does not end with ${fileMagic} (byte ${end})`)
  }
  const footerBytes = new DataView(bytes.buffer, bytes.byteOffset + footerEnd, 4).getInt32(0, true)
  const start = footerEnd - footerBytes
  if (footerBytes <= 0 || start < least) {
    throw invalidInput(
      `broken arrow file: it cannot have a footer of ${footerBytes} bytes (byte ${from + footerEnd})`,
    )
  }
  const footerStart = from + start
  return { footer: decodeFooter(bytes.subarray(start, footerEnd), footerStart), footerStart }
}

/** Check that each block ends before the footer, and that all blocks together do not have more bytes than the file. */
function checkBlocks(blocks: readonly Block[], end: number): void {
  let left = end
  for (const { offset, metadataBytes, bodyBytes } of blocks) {
    const bytes = metadataBytes + bodyBytes
    left -= bytes
    if (offset + bytes > end) {
      throw invalidInput(
        `broken arrow file: a message at bytes ${offset} to ${offset + bytes} reaches past byte ${end}, where the footer starts`,
      )
    }
    if (left < 0) throw invalidInput(`broken arrow file: messages overlap (byte ${offset})`)
  }
}

function readBlock(bytes: Uint8Array, { offset, metadataBytes, bodyBytes }: Block) {
  const length = decodePrefix(bytes, offset, offset)
  if (length === 0 || prefixBytes + length > metadataBytes) {
    throw invalidInput(
      `broken arrow file: a message has ${length} bytes of metadata, but the footer says ${metadataBytes} (byte ${offset})`,
    )
  }
  const start = offset + prefixBytes
  const message = decodeMessage(bytes.subarray(start, start + length), start)
  const at = offset + metadataBytes
  if (message.kind !== 'schema' && message.bodyBytes > bodyBytes) {
    throw invalidInput(
      `broken arrow file: a message has a body of ${message.bodyBytes} bytes, but the footer says ${bodyBytes} (byte ${at})`,
    )
  }
  const body = bytes.subarray(at, at + (message.kind === 'schema' ? 0 : message.bodyBytes))
  return { message, id: message.kind === 'dictionary' ? message.id : -1, body, at }
}

/** Create the error for a stream that ends inside a message. */
export function cutOff(at: number) {
  return invalidInput(`the arrow stream is cut off at byte ${at}, inside a message`)
}

/** Create the error for a stream without a schema. */
export function noSchema(at: number) {
  return invalidInput(`broken arrow stream: no schema before byte ${at}`)
}
