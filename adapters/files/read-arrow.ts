/** Arrow IPC files and streams as record batches. */
import { type DecodedStream, decodeIpcStream } from '../../src/arrow/decode-stream.js'
import { fileMagic } from '../../src/arrow/ipc-message.js'
import { toArrowTable } from '../../src/arrow/to-arrow.js'
import type { ArrowBatch } from '../../src/client/search.js'
import { refuseMore } from '../../src/protocol/arguments.js'
import { parse } from '../../src/protocol/parse.js'
import { LocalFile } from '../../src/storage/local-file.js'
import { openArrowFile } from './arrow-file.js'
import { type FileSource, isPacked, type ReadOptions, readChunks, readShape } from './source.js'

/**
 * The record batches of an Arrow IPC file or stream (LZ4; ZSTD where Node has it), each read when it is asked for; of data
 * without any one that is empty, for its columns. The file is closed when no more are.
 *
 * One batch is in memory at a time, of at most 1 GiB; a file of the file format that does not come from a path of its own
 * (packed, or in chunks) as a whole, since its dictionaries may come last.
 * @throws code 13 for what is no Arrow data, cut off or broken; 0 for types that Sheaf does not hold.
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
    yield* handOut(isFile ? await openArrowFile(file, signal) : await opened(file.chunks(signal), signal))
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
