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

/** Magic string at the start and at the end of a file. */
export const fileMagic = 'ARROW1'
/** First 32-bit word of every message, and of the end marker of a stream. */
const continuation = 0xffffffff
const metadataVersion = { v4: 3, v5: 4 } as const

const Header = { Schema: 1, DictionaryBatch: 2, RecordBatch: 3 } as const

/** Compression format of the buffers of a body. */
export type Codec = 'lz4' | 'zstd'

/** The metadata of a record batch, which describes the body of its message. */
export interface BodyHeader {
  /** Number of rows. */
  readonly length: number
  /** (length, null count) of each field, flat, depth first. */
  readonly nodes: readonly number[]
  /** (offset in the body, length in bytes) of each buffer, flat. */
  readonly buffers: readonly number[]
  readonly codec: Codec | null
  /** Number of data buffers of each view column. */
  readonly viewBuffers: readonly number[]
  /** Custom metadata of the message. Undefined: none. */
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

/**
 * Number of bytes before the metadata of a message. They contain the continuation word and the length of the metadata.
 */
export const prefixBytes = 8

/**
 * Read the 8 bytes before the metadata of a message, at `offset` in `bytes`. Returns the length of the metadata in
 * bytes, or 0 for the end marker of a stream. Error messages name `at`, the offset of the 8 bytes in the input.
 */
export function decodePrefix(bytes: Uint8Array, offset: number, at: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, prefixBytes)
  const first = view.getUint32(0, true)
  if (first !== continuation) {
    const isJson = at === 0 && '{['.includes(String.fromCharCode(view.getUint8(0)))
    if (at === 0 && !isJson && isLegacyPrefix(view)) {
      throw invalidInput(
        'the arrow stream has the legacy IPC format of Arrow versions before 0.15, which Sheaf does not read',
        { hint: 'write the stream with Arrow 0.15 or newer, without the option for the legacy format' },
      )
    }
    throw invalidInput(`not an arrow stream: expected ff ff ff ff at byte ${at}, got ${hex(view)}`, {
      hint: isJson ? 'the body looks like JSON: send rows as an Arrow IPC stream or file' : undefined,
    })
  }
  const length = view.getInt32(4, true)
  if (length < 0)
    throw invalidInput(
      `broken arrow stream: the metadata of a message has the length ${length} (byte ${at + 4})`,
    )
  return length
}

/**
 * Return whether a stream has the format of Arrow versions before 0.15. This format has no continuation word. The
 * stream starts with the length of its schema message. Then the message follows, a flatbuffer, which starts with its
 * root offset. The length is padded so that the body is aligned to 8 bytes.
 */
function isLegacyPrefix(view: DataView): boolean {
  const [length, root] = [view.getUint32(0, true), view.getUint32(4, true)]
  return length > 0 && (length + 4) % 8 === 0 && root >= 4 && root < length
}

function hex(view: DataView): string {
  return Array.from({ length: 4 }, (_, i) => view.getUint8(i).toString(16).padStart(2, '0')).join(' ')
}

/** Decode the metadata of a message. Error messages name `at`, the offset of the metadata in the input. */
export function decodeMessage(metadata: Uint8Array, at: number): Message {
  const root = new Flatbuffer(metadata, at).root()
  checkVersion(root)
  const kind = root.uint8(1, 0)
  const header = root.table(2)
  if (header === null) throw root.fault('a message has no header')
  const bodyBytes = root.int64(3, 0)
  if (bodyBytes < 0) throw root.fault(`a message has a body of ${bodyBytes} bytes`)
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
      if (data === null) throw header.fault('a dictionary batch has no data')
      const id = header.int64(0, 0)
      return { kind: 'dictionary', id, delta: header.bool(2), header: decodeBodyHeader(data), bodyBytes }
    }
    default:
      throw unsupported(
        `an arrow message has the header type ${kind}, expected a schema, dictionary batch or record batch`,
      )
  }
}

function checkVersion(source: Table): void {
  const version = source.int16(0, 0)
  if (version !== metadataVersion.v4 && version !== metadataVersion.v5) {
    throw unsupported(`the arrow metadata has version V${version + 1}, expected V4 or V5`)
  }
}

function decodeBodyHeader(source: Table): BodyHeader {
  const length = source.int64(0, 0)
  if (length < 0 || length > 0x7fffffff) throw source.fault(`a batch has ${length} rows`)
  const compression = source.table(3)
  let codec: Codec | null = null
  if (compression !== null) {
    const number = compression.int8(0, 0)
    if (number !== 0 && number !== 1)
      throw compression.fault(`a body is compressed with the unknown codec ${number}`)
    if (compression.int8(1, 0) !== 0) throw compression.fault('a body is compressed with an unknown method')
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

/** The position of a message in a file. `metadataBytes` includes the prefix. `offset` is the offset of the prefix. */
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

/** Decode the footer of a file. Error messages name `at`, the offset of the footer in the input. */
export function decodeFooter(bytes: Uint8Array, at: number): Footer {
  const root = new Flatbuffer(bytes, at).root()
  checkVersion(root)
  const schema = root.table(1)
  if (schema === null) throw root.fault('a footer has no schema')
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
    // The second number is an int32 with 4 bytes of padding. It can be read as one int64, because writers set padding
    // to 0.
    const block = { offset: words[i]!, metadataBytes: words[i + 1]!, bodyBytes: words[i + 2]! }
    if (block.offset < 0 || block.metadataBytes < prefixBytes || block.bodyBytes < 0) {
      throw source.fault(
        `a message at byte ${block.offset} has ${block.metadataBytes} bytes of metadata and ${block.bodyBytes} of data`,
      )
    }
    out.push(block)
  }
  return out
}

/** Encode the schema message, which is the first message of a stream. `position`: its offset in the output. */
export function encodeSchemaMessage(schema: Schema, position: number, alignment: number): Uint8Array {
  return encapsulate(message(Header.Schema, partOf(schema), 0), position, alignment)
}

/**
 * By schema: its encoded form. It is kept because a file contains its schema twice, and each reply contains it again.
 */
const parts = new WeakMap<Schema, Part>()

function partOf(schema: Schema): Part {
  let part = parts.get(schema)
  if (part === undefined) {
    part = encodeSchema(schema)
    parts.set(schema, part)
  }
  return part
}

/** The metadata of a body to write. */
interface WrittenBody extends Pick<BodyHeader, 'length' | 'nodes' | 'buffers' | 'metadata'> {
  /** Compression format of each buffer. Undefined: the buffers are not compressed. */
  readonly codec?: Codec | undefined
}

/**
 * Encode the message before the body of a batch. `dictionaryId`: id of a dictionary batch; null for a record batch.
 * `position`: offset of the message in the output. `alignment`: alignment of the body in bytes.
 */
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

/** Return the end marker of a stream. */
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

/** Encode the prefix and the metadata of a message, with padding so that its body is aligned to `alignment` bytes. */
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
