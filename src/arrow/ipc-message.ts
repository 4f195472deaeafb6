/**
 * Reads and writes encapsulated messages and file footers (Arrow columnar format, "Serialization and Interprocess
 * Communication"; Message.fbs, File.fbs).
 */
import { invalidInput, unsupported } from '../errors.js'
import { Flatbuffer, type Table } from './flatbuffer-read.js'
import { encodeFlatbuffer, int8, int16, int64, int64s, type Part, table } from './flatbuffer-write.js'
import {
  type DecodedSchema,
  decodeMetadata,
  decodeSchema,
  encodeMetadata,
  encodeSchema,
} from './ipc-schema.js'
import { asBytes } from './layout.js'
import type { Schema } from './types.js'

/** First and last bytes of a file. */
export const fileMagic = 'ARROW1'
/** The first word of every message, and of the end of a stream. */
const continuation = 0xffffffff
const metadataVersion = { v4: 3, v5: 4 } as const

const Header = { Schema: 1, DictionaryBatch: 2, RecordBatch: 3 } as const

/** Compression of buffers. */
export type Codec = 'lz4' | 'zstd'

/** The description of a body in the metadata of a record batch. */
export interface BodyHeader {
  /** Rows. */
  readonly length: number
  /** Pairs of (length, null count), one per field in depth-first order. */
  readonly nodes: readonly number[]
  /** Pairs of (offset in the body, bytes). */
  readonly buffers: readonly number[]
  readonly codec: Codec | null
  /** Number of data buffers of each view column. */
  readonly viewBuffers: readonly number[]
  /** Custom metadata of the message, if any. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** The decoded metadata of a message. */
export type Message =
  | { readonly kind: 'schema'; readonly decoded: DecodedSchema }
  | { readonly kind: 'batch'; readonly header: BodyHeader; readonly bodyBytes: number }
  | {
      readonly kind: 'dictionary'
      readonly id: number
      readonly delta: boolean
      readonly header: BodyHeader
      readonly bodyBytes: number
    }

/** Bytes before the metadata of a message: continuation and length. */
export const prefixBytes = 8

/**
 * Read the 8 bytes before a message's metadata. Returns the length of the metadata, 0 at the end of a stream. `at` is
 * their offset in the input, for error messages.
 */
export function decodePrefix(bytes: Uint8Array, offset: number, at: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, prefixBytes)
  const first = view.getUint32(0, true)
  if (first !== continuation) {
    const isJson = at === 0 && '{['.includes(String.fromCharCode(view.getUint8(0)))
    if (at === 0 && !isJson && isLegacyPrefix(view)) {
      throw invalidInput(
        'an arrow stream of the format before 0.15, whose messages begin with their length',
        {
          hint: 'write it with Arrow 0.15 or newer, and not in the legacy IPC format',
        },
      )
    }
    throw invalidInput(`not an arrow stream: expected ff ff ff ff at byte ${at}, got ${hex(view)}`, {
      hint: isJson ? 'the body looks like JSON: send rows as an Arrow IPC stream or file' : undefined,
    })
  }
  const length = view.getInt32(4, true)
  if (length < 0)
    throw invalidInput(`broken arrow stream: message metadata of ${length} bytes (byte ${at + 4})`)
  return length
}

/**
 * Return whether a stream starts as before Arrow 0.15. Such a stream starts with the length of its schema message,
 * which is padded so that the body is aligned to 8 bytes. Then comes the root offset of a flatbuffer of that length.
 */
function isLegacyPrefix(view: DataView): boolean {
  const [length, root] = [view.getUint32(0, true), view.getUint32(4, true)]
  return length > 0 && (length + 4) % 8 === 0 && root >= 4 && root < length
}

function hex(view: DataView): string {
  return Array.from({ length: 4 }, (_, i) => view.getUint8(i).toString(16).padStart(2, '0')).join(' ')
}

/** Decode the metadata of a message. `at` is its offset in the input. */
export function decodeMessage(metadata: Uint8Array, at: number): Message {
  const root = new Flatbuffer(metadata, at).root()
  checkVersion(root)
  const kind = root.uint8(1, 0)
  const header = root.table(2)
  if (header === null) throw root.fault('a message without a header')
  const bodyBytes = root.int64(3, 0)
  if (bodyBytes < 0) throw root.fault(`a body of ${bodyBytes} bytes`)
  switch (kind) {
    case Header.Schema:
      return { kind: 'schema', decoded: decodeSchema(header) }
    case Header.RecordBatch:
      return {
        kind: 'batch',
        header: { ...decodeBodyHeader(header), metadata: decodeMetadata(root, 4) },
        bodyBytes,
      }
    case Header.DictionaryBatch: {
      const data = header.table(1)
      if (data === null) throw header.fault('a dictionary batch without data')
      const id = header.int64(0, 0)
      return { kind: 'dictionary', id, delta: header.bool(2), header: decodeBodyHeader(data), bodyBytes }
    }
    default:
      throw unsupported(
        `arrow message of header type ${kind} (a tensor?), expected a schema, a dictionary or a batch`,
      )
  }
}

function checkVersion(source: Table): void {
  const version = source.int16(0, 0)
  if (version !== metadataVersion.v4 && version !== metadataVersion.v5) {
    throw unsupported(`arrow metadata version V${version + 1}, expected V4 or V5`)
  }
}

function decodeBodyHeader(source: Table): BodyHeader {
  const length = source.int64(0, 0)
  if (length < 0 || length > 0x7fffffff) throw source.fault(`a batch of ${length} rows`)
  const compression = source.table(3)
  let codec: Codec | null = null
  if (compression !== null) {
    const number = compression.int8(0, 0)
    if (number !== 0 && number !== 1)
      throw compression.fault(`body compression by the unknown codec ${number}`)
    if (compression.int8(1, 0) !== 0) throw compression.fault('body compression by an unknown method')
    codec = number === 0 ? 'lz4' : 'zstd'
  }
  return {
    length,
    nodes: source.int64s(1, 2),
    buffers: source.int64s(2, 2),
    codec,
    viewBuffers: source.int64s(4, 1),
  }
}

/** The position of a message in a file: offset of its prefix, bytes of prefix and metadata, bytes of the body. */
export interface Block {
  readonly offset: number
  readonly metadataBytes: number
  readonly bodyBytes: number
}

/** The footer of a file. */
export interface Footer {
  readonly decoded: DecodedSchema
  readonly dictionaries: readonly Block[]
  readonly batches: readonly Block[]
  readonly metadata: Readonly<Record<string, string>>
}

/** Decode the footer of a file. `at` is its offset in the input. */
export function decodeFooter(bytes: Uint8Array, at: number): Footer {
  const root = new Flatbuffer(bytes, at).root()
  checkVersion(root)
  const schema = root.table(1)
  if (schema === null) throw root.fault('a footer without a schema')
  return {
    decoded: decodeSchema(schema),
    dictionaries: decodeBlocks(root, 2),
    batches: decodeBlocks(root, 3),
    metadata: decodeMetadata(root, 4) ?? {},
  }
}

function decodeBlocks(source: Table, slot: number): Block[] {
  const words = source.int64s(slot, 3)
  const out: Block[] = []
  for (let i = 0; i < words.length; i += 3) {
    // The second word is an int32 and its padding, which every flatbuffer writer sets to 0.
    const block = { offset: words[i]!, metadataBytes: words[i + 1]!, bodyBytes: words[i + 2]! }
    if (block.offset < 0 || block.metadataBytes < prefixBytes || block.bodyBytes < 0) {
      throw source.fault(`a message of ${block.metadataBytes} + ${block.bodyBytes} bytes at ${block.offset}`)
    }
    out.push(block)
  }
  return out
}

/** Encode the message that opens a stream, as one chunk. */
export function encodeSchemaMessage(schema: Schema, position: number, alignment: number): Uint8Array {
  return encapsulate(message(Header.Schema, partOf(schema), 0), position, alignment)
}

/** Encoded schemas. A file contains its schema twice, and every reply with these columns needs it again. */
const parts = new WeakMap<Schema, Part>()

function partOf(schema: Schema): Part {
  let part = parts.get(schema)
  if (part === undefined) {
    part = encodeSchema(schema)
    parts.set(schema, part)
  }
  return part
}

/** The description of a body to write. */
interface WrittenBody extends Pick<BodyHeader, 'length' | 'nodes' | 'buffers' | 'metadata'> {
  /** Compression of each buffer. Absent: none. */
  readonly codec?: Codec | undefined
}

/** Encode the message before the body of a record batch, or of a dictionary batch if `dictionaryId` is given. */
export function encodeBodyMessage(
  { length, nodes, buffers, codec, metadata }: WrittenBody,
  bodyBytes: number,
  dictionaryId: number | null,
  position: number,
  alignment: number,
): Uint8Array {
  const compression = codec === undefined ? [] : [table([int8(codec === 'lz4' ? 0 : 1), int8(0)])]
  const batch = table([int64(length), int64s(nodes, 2), int64s(buffers, 2), ...compression])
  if (dictionaryId === null) {
    return encapsulate(message(Header.RecordBatch, batch, bodyBytes, metadata), position, alignment)
  }
  const dictionary = table([int64(dictionaryId), batch])
  return encapsulate(message(Header.DictionaryBatch, dictionary, bodyBytes), position, alignment)
}

/** Return the bytes that end a stream. */
export function endOfStream(): Uint8Array {
  return Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
}

/** Encode the footer, its length and the closing magic. */
export function encodeFooter(
  schema: Schema,
  dictionaries: readonly Block[],
  batches: readonly Block[],
  metadata?: Readonly<Record<string, string>>,
): Uint8Array {
  const footer = encodeFlatbuffer(
    table([
      int16(metadataVersion.v5),
      partOf(schema),
      encodeBlocks(dictionaries),
      encodeBlocks(batches),
      encodeMetadata(metadata),
    ]),
  )
  const out = Buffer.alloc(footer.length + 4 + fileMagic.length)
  out.set(footer)
  out.writeInt32LE(footer.length, footer.length)
  out.write(fileMagic, footer.length + 4, 'latin1')
  return asBytes(out)
}

function encodeBlocks(blocks: readonly Block[]): Part {
  return int64s(
    blocks.flatMap(block => [block.offset, block.metadataBytes, block.bodyBytes]),
    3,
  )
}

function message(
  kind: number,
  header: Part,
  bodyBytes: number,
  metadata?: Readonly<Record<string, string>>,
): Part {
  const custom = metadata === undefined ? [] : [encodeMetadata(metadata)]
  return table([int16(metadataVersion.v5), int8(kind), header, int64(bodyBytes), ...custom])
}

/** Encode prefix and metadata, padded so that the body after them is aligned to `alignment` bytes. */
function encapsulate(part: Part, position: number, alignment: number): Uint8Array {
  const metadata = encodeFlatbuffer(part)
  const end = position + prefixBytes + metadata.length
  const padded = Math.ceil(end / alignment) * alignment - position
  const out = Buffer.alloc(padded)
  out.writeUInt32LE(continuation, 0)
  out.writeInt32LE(padded - prefixBytes, 4)
  out.set(metadata, prefixBytes)
  return asBytes(out)
}
