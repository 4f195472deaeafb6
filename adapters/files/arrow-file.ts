/** Reads a file in the Arrow IPC file format, one record batch at a time. */
import { Budget, defaultMaxBytes, tooLarge } from '../../src/arrow/budget.js'
import type { Batch } from '../../src/arrow/column.js'
import type { DecodedStream } from '../../src/arrow/decode-stream.js'
import { IpcDecoder } from '../../src/arrow/ipc-decoder.js'
import {
  type Block,
  decodeFooter,
  decodeMessage,
  decodePrefix,
  type Footer,
  fileMagic,
  type Message,
  prefixBytes,
} from '../../src/arrow/ipc-message.js'
import { runPaced } from '../../src/arrow/steps.js'
import { invalidInput } from '../../src/errors.js'
import { Pacer } from '../../src/primitives/pacer.js'
import type { LocalFile } from '../../src/storage/local-file.js'

/** Bytes of the magic text at the beginning, padded to a multiple of 8. */
const headBytes = 8
/** Bytes after the footer: the length of the footer, and the magic text at the end. */
const tailBytes = 4 + fileMagic.length

/**
 * Read the footer and the schema of a file. Record batches are read on demand. Throws InvalidInput for a truncated or
 * broken file.
 */
export async function openArrowFile(
  file: LocalFile,
  signal: AbortSignal | undefined,
): Promise<DecodedStream> {
  const footerEnd = file.size - tailBytes
  const tail = footerEnd < headBytes ? new Uint8Array(tailBytes) : await file.read(footerEnd, tailBytes)
  if (Buffer.from(tail.subarray(4)).toString('latin1') !== fileMagic) {
    throw invalidInput(`the Arrow file is truncated: it does not end with ${fileMagic} (byte ${file.size})`)
  }
  const footerBytes = new DataView(tail.buffer, tail.byteOffset).getInt32(0, true)
  const footerStart = footerEnd - footerBytes
  if (footerBytes <= 0 || footerStart < headBytes) {
    throw invalidInput(`broken Arrow file: the footer length is ${footerBytes} bytes (byte ${footerEnd})`)
  }
  const footer = decodeFooter(await file.read(footerStart, footerBytes), footerStart)
  const budget = new Budget(defaultMaxBytes)
  const decoder = new IpcDecoder(footer.decoded, { dictionaryBudget: budget, checkText: true })
  for (const block of [...footer.dictionaries, ...footer.batches]) {
    const end = block.offset + block.metadataBytes + block.bodyBytes
    if (end > footerStart)
      throw invalidInput(
        `broken Arrow file: a message ends at byte ${end}, after the footer begins (byte ${footerStart})`,
      )
  }
  return { schema: decoder.schema, batches: readBatches(file, decoder, footer, new Pacer(signal)) }
}

async function* readBatches(
  file: LocalFile,
  decoder: IpcDecoder,
  footer: Footer,
  pacer: Pacer,
): AsyncGenerator<Batch> {
  await readDictionaries(file, decoder, footer.dictionaries, pacer)
  for (const block of footer.batches) {
    pacer.signal?.throwIfAborted()
    const { message, at } = await readMessage(file, block)
    if (message.kind !== 'batch')
      throw invalidInput(`broken Arrow file: there is no record batch at byte ${block.offset}`)
    const body = await file.read(at, message.bodyBytes)
    yield await runPaced(decoder.batch(message.header, body, at, new Budget(defaultMaxBytes)), pacer)
  }
}

/** Read all dictionaries of a file. A dictionary whose values refer to other dictionaries is read after them. */
async function readDictionaries(
  file: LocalFile,
  decoder: IpcDecoder,
  blocks: readonly Block[],
  pacer: Pacer,
): Promise<void> {
  const ranks = decoder.dictionaryRanks()
  const found: { message: Message & { kind: 'dictionary' }; at: number; rank: number }[] = []
  const met = new Set<number>()
  for (const block of blocks) {
    const { message, at } = await readMessage(file, block)
    if (message.kind !== 'dictionary')
      throw invalidInput(`broken Arrow file: there is no dictionary batch at byte ${block.offset}`)
    if (met.has(message.id) && !message.delta)
      throw invalidInput(
        `broken Arrow file: dictionary ${message.id} is defined a second time (byte ${block.offset})`,
      )
    met.add(message.id)
    found.push({ message, at, rank: ranks.get(message.id) ?? 0 })
    await pacer.turn()
  }
  for (const { message, at } of found.sort((a, b) => a.rank - b.rank)) {
    const body = await file.read(at, message.bodyBytes)
    await runPaced(decoder.addDictionary(message, body, at), pacer)
  }
}

/** Read the metadata of a block. Returns the message, and `at`: the byte at which the body of the block begins. */
async function readMessage(
  file: LocalFile,
  { offset, metadataBytes, bodyBytes }: Block,
): Promise<{ message: Message; at: number }> {
  if (metadataBytes > defaultMaxBytes) throw tooLarge(`the metadata at byte ${offset} is`, defaultMaxBytes)
  if (bodyBytes > defaultMaxBytes) throw tooLarge(`the batch at byte ${offset} is`, defaultMaxBytes)
  const head = await file.read(offset, metadataBytes)
  const length = decodePrefix(head, 0, offset)
  if (length === 0 || prefixBytes + length > metadataBytes) {
    throw invalidInput(
      `broken Arrow file: metadata of ${length} bytes in a block of ${metadataBytes} (byte ${offset})`,
    )
  }
  const message = decodeMessage(head.subarray(prefixBytes, prefixBytes + length), offset + prefixBytes)
  const at = offset + metadataBytes
  if (message.kind !== 'schema' && message.bodyBytes > bodyBytes) {
    throw invalidInput(
      `broken Arrow file: a body of ${message.bodyBytes} bytes in a block of ${bodyBytes} (byte ${at})`,
    )
  }
  return { message, at }
}
