/** Reads Arrow IPC files and streams as record batches. */
import { type DecodedStream, decodeIpcStream } from '../../src/arrow/decode-stream.js'
import { fileMagic } from '../../src/arrow/ipc-message.js'
import type { ArrowBatch } from '../../src/arrow/to-arrow.js'
import { toArrowTable } from '../../src/arrow/to-arrow.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { LocalFile } from '../../src/storage/local-file.js'
import { openArrowFile } from './arrow-file.js'
import { type FileSource, inFile, isPacked, type ReadOptions, readChunks, readShape } from './source.js'

/**
 * Read the record batches of an Arrow IPC file or stream, each on demand. Buffers may be compressed with LZ4, or with
 * ZSTD if this Node version supports it. Data without a batch gives one empty batch, which has the columns. The file is
 * closed when the iteration ends.
 *
 * Only one batch is in memory at a time; it has at most 1 GiB. Exception: if data in the IPC file format is gzipped or
 * comes in chunks, all of it is kept in memory, because its dictionaries may be at the end.
 *
 * ```js
 * for await (const batch of readArrow('docs.arrow')) await table.add(batch)
 * ```
 * @throws InvalidInput for data that is not Arrow, truncated or broken; Unsupported for types that Sheaf does not have.
 */
export function readArrow(source: FileSource, options?: ReadOptions): AsyncGenerator<ArrowBatch>
export async function* readArrow(
  source: FileSource,
  options: ReadOptions = {},
  ...more: readonly unknown[]
): AsyncGenerator<ArrowBatch> {
  refuseMore('readArrow', 2, more)
  const { signal } = parse(readShape, options, 'readArrow')
  signal?.throwIfAborted()
  if (typeof source !== 'string' || isPacked(source))
    return yield* handOut(await opened(readChunks(source, signal), signal))
  const file = await LocalFile.open(source)
  try {
    const isFile = await isFileFormat(file)
    const decoded = isFile ? openArrowFile(file, signal) : opened(file.chunks(signal), signal)
    yield* handOut(await decoded.catch(error => Promise.reject(inFile(error, source))))
  } finally {
    await file.close()
  }
}

function opened(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<DecodedStream> {
  return decodeIpcStream(chunks, signal === undefined ? {} : { signal })
}

async function isFileFormat(file: LocalFile): Promise<boolean> {
  if (file.size < fileMagic.length) return false
  return Buffer.from(await file.read(0, fileMagic.length)).toString('latin1') === fileMagic
}

async function* handOut({ schema, batches }: DecodedStream): AsyncGenerator<ArrowBatch> {
  let isEmpty = true
  for await (const batch of batches) {
    isEmpty = false
    yield* (await toArrowTable(schema, [batch])).batches
  }
  if (isEmpty) yield* (await toArrowTable(schema, [])).batches
}
