/** Compresses the buffers of an Arrow IPC file while it is sent. The messages and rows stay the same. */
import { assert } from '../errors.js'
import { ByteSource } from './byte-source.js'
import { type Compress, compressBuffers } from './compress.js'
import { headBytes } from './decode-ipc.js'
import { concatChunks, fileHead } from './encode-ipc.js'
import type { Parts } from './flatten.js'
import {
  type Block,
  type BodyHeader,
  type Codec,
  decodeMessage,
  decodePrefix,
  encodeFooter,
  encodeSchemaMessage,
  endOfStream,
  prefixBytes,
} from './ipc-message.js'
import { IpcWriter, tightAlignment } from './ipc-writer.js'
import type { Schema } from './types.js'

const nothing: Uint8Array = new Uint8Array(0)

/** Options of `recodeIpcFile`. */
interface Recoding {
  readonly codec: Codec
  readonly compress: Compress
  /** Format of the output. A stream is a file without its magic and footer. */
  readonly form: 'file' | 'stream'
}

/**
 * Compress the buffers of a file that Sheaf wrote. `file`: the bytes of the file in chunks of any size. Only one
 * message is in memory at a time.
 */
export async function* recodeIpcFile(
  file: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { codec, compress, form }: Recoding,
): AsyncGenerator<Uint8Array> {
  const source = new ByteSource(file)
  try {
    await source.views(headBytes)
    const writer = new IpcWriter(tightAlignment)
    if (form === 'file') writer.push(fileHead())
    const dictionaries: Block[] = []
    const batches: Block[] = []
    let schema: Schema | null = null
    for (;;) {
      const at = source.position
      const metadataBytes = decodePrefix(concatChunks(await source.views(prefixBytes)), 0, at)
      if (metadataBytes === 0) break
      const metadata = concatChunks(await source.views(metadataBytes))
      const message = decodeMessage(metadata, at + prefixBytes)
      if (message.kind === 'schema') {
        schema = message.decoded.schema
        writer.push(encodeSchemaMessage(schema, writer.position, tightAlignment))
      } else {
        const id = message.kind === 'dictionary' ? message.id : null
        const block = await recodeBody(source, message, id, writer, codec, compress)
        ;(id === null ? batches : dictionaries).push(block)
      }
      const chunks = writer.takeChunks()
      while (chunks.length > 0) yield chunks.shift()!
      // The consumer keeps a reference to the last chunk until the next chunk (src/engine/answered.ts). An empty chunk
      // lets the memory of the last chunk be freed before the next message is read.
      yield nothing
    }
    writer.push(endOfStream())
    if (form === 'file') {
      assert(schema !== null, 'a file begins with its schema')
      writer.push(encodeFooter(schema, dictionaries, batches))
    }
    yield* writer.takeChunks()
  } finally {
    await source.close()
  }
}

/** Read the body of a message, and write the message with compressed buffers. Returns its position. */
async function recodeBody(
  source: ByteSource,
  { header, bodyBytes }: { readonly header: BodyHeader; readonly bodyBytes: number },
  id: number | null,
  writer: IpcWriter,
  codec: Codec,
  compress: Compress,
): Promise<Block> {
  const buffers = await readBuffers(source, header, bodyBytes)
  const packed = await compressBuffers({ nodes: [...header.nodes], buffers }, compress)
  return writer.body(header.length, packed, id, { codec, metadata: header.metadata })
}

async function readBuffers(source: ByteSource, { buffers }: BodyHeader, bodyBytes: number): Promise<Parts[]> {
  const out: Parts[] = []
  let at = 0
  for (let i = 0; i < buffers.length; i += 2) {
    const [offset, length] = [buffers[i]!, buffers[i + 1]!]
    assert(offset >= at, 'the buffers of a body follow each other')
    await source.views(offset - at)
    out.push(await source.views(length))
    at = offset + length
  }
  await source.views(bodyBytes - at)
  return out
}
