/**
 * Reads pages with the layout MiniBlock: chunks of a few kilobytes, each with its levels and values. Buffer 0 has the
 * sizes of the chunks, buffer 1 the chunks. A dictionary and an index of rows may follow.
 */
import { invalidInput } from '../errors.js'
import type { Block } from './block.js'
import { gatherBlock } from './block.js'
import { type ChunkValues, chunkValues } from './chunk-values.js'
import { decodeBlock, decodeLevels } from './decode-block.js'
import type { MiniBlockLayout } from './encoding.js'
import { countVisible, listDepth, visibleLevels } from './levels.js'
import { type ByteRange, bufferOf, cutRows, type PagePiece, type PageSource } from './page.js'
import { releaseScratch, takeScratch } from './scratch.js'

/** Maximum number of values of a chunk. The format stores the logarithm of the number in 4 bits. */
const maxChunkItems = 1 << 15

interface Chunk extends ByteRange {
  /** Number of values. */
  readonly items: number
  /** The first row that begins in the chunk, or would begin there. */
  readonly firstRow: number
  /** Number of rows that begin in the chunk. */
  readonly rows: number
}

/** Read rows `from` to `to` of a page. */
export async function readMiniBlock(
  layout: MiniBlockLayout,
  page: PageSource,
  from: number,
  to: number,
): Promise<PagePiece> {
  const meta = bufferOf(page, 0)
  const data = bufferOf(page, 1)
  const needed = [meta]
  if (layout.dictionary !== null) needed.push(bufferOf(page, 2))
  if (layout.repIndexDepth > 0) needed.push(bufferOf(page, page.buffers.length - 1))
  const isWhole = from === 0 && to === page.rows
  const read = await page.read(isWhole ? [...needed, data] : needed)
  const words = read[0]!
  const repIndex = layout.repIndexDepth > 0 ? read[needed.length - 1]! : null
  const chunks = pickChunks(listChunks(layout, data, words, repIndex), from, to)
  const first = chunks[0]!
  const last = chunks[chunks.length - 1]!
  const range = { start: first.start, end: last.end }
  const scratch = isWhole ? null : takeScratch(range.end - range.start)
  const bytes =
    scratch?.subarray(0, range.end - range.start) ??
    read[needed.length]!.subarray(range.start - data.start, range.end - data.start)
  if (scratch !== null) await page.readInto(range, bytes)

  const values = chunkValues(layout.values)
  const levels: ChunkLevels[] = []
  for (const chunk of chunks) {
    const chunkBytes = bytes.subarray(chunk.start - first.start, chunk.end - first.start)
    levels.push(readChunk(layout, chunkBytes, chunk.items, values))
    if (page.pacer.due()) await page.pacer.pause()
  }
  const block =
    layout.dictionary === null ? values.finish() : withDictionary(layout, values.finish(), read[1]!, page)
  const piece = joinLevels(layout, levels, block)
  // The values and the joined levels are copies.
  if (scratch !== null) releaseScratch(scratch)
  return cutRows(piece, first.firstRow, from, to)
}

/** Return the chunks of a page. */
function listChunks(
  layout: MiniBlockLayout,
  data: ByteRange,
  words: Uint8Array,
  repIndex: Uint8Array | null,
): Chunk[] {
  const width = layout.hasLargeChunks ? 4 : 2
  const view = new DataView(words.buffer, words.byteOffset, words.byteLength)
  const count = Math.floor(words.length / width)
  const stride = 8 * (layout.repIndexDepth + 1)
  if (repIndex !== null && repIndex.length < count * stride) {
    throw invalidInput(`an index of ${count} chunks has only ${repIndex.length} bytes`)
  }
  const index =
    repIndex === null ? null : new DataView(repIndex.buffer, repIndex.byteOffset, repIndex.byteLength)
  const chunks: Chunk[] = []
  let start = data.start
  let itemsLeft = layout.items
  let firstRow = 0
  let hasPreamble = false
  for (let i = 0; i < count; i++) {
    const word = width === 4 ? view.getUint32(4 * i, true) : view.getUint16(2 * i, true)
    const end = start + ((word >>> 4) + 1) * 8
    const items = i === count - 1 ? itemsLeft : 1 << (word & 15)
    if (end > data.end || items > itemsLeft || items > maxChunkItems) {
      throw invalidInput(
        `chunk ${i} of a page ends at byte ${end} and has ${items} values, which do not fit its page`,
      )
    }
    let rows = items
    if (index !== null) {
      const hasTrailer = index.getBigUint64(i * stride + 8, true) > 0n
      rows = Number(index.getBigUint64(i * stride, true)) + (hasTrailer ? 1 : 0) - (hasPreamble ? 1 : 0)
      hasPreamble = hasTrailer
      if (rows < 0) throw invalidInput(`the index of chunk ${i} of a page is damaged`)
    }
    chunks.push({ start, end, items, firstRow, rows })
    firstRow += rows
    start = end
    itemsLeft -= items
  }
  return chunks
}

/** Return the chunks that have items of rows `from` to `to`. */
function pickChunks(chunks: readonly Chunk[], from: number, to: number): Chunk[] {
  let start = 0
  while (start < chunks.length && chunks[start]!.firstRow + chunks[start]!.rows <= from) start++
  let end = start
  // A row may continue in chunks in which no row begins, and in the beginning of a chunk with other rows.
  while (end < chunks.length && (end === start || chunks[end]!.firstRow < to || isContinued(chunks, end, to)))
    end++
  if (start === end) throw invalidInput(`the chunks of a page do not contain rows ${from} to ${to}`)
  return chunks.slice(start, end)
}

function isContinued(chunks: readonly Chunk[], index: number, to: number): boolean {
  return chunks[index]!.firstRow === to && to > 0
}

interface ChunkLevels {
  readonly items: number
  readonly rep: Uint16Array | null
  readonly def: Uint16Array | null
}

/** Decode a chunk: the sizes of its buffers, levels, and values. Each part is padded to 8 bytes. */
function readChunk(
  layout: MiniBlockLayout,
  bytes: Uint8Array,
  items: number,
  values: ChunkValues,
): ChunkLevels {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const levelBuffers = (layout.rep === null ? 0 : 1) + (layout.def === null ? 0 : 1)
  const width = layout.hasLargeChunks ? 4 : 2
  let at = 2 + 2 * levelBuffers + width * layout.buffers
  if (bytes.length < at) throw invalidInput(`a chunk of a page has only ${bytes.length} bytes`)
  const count = view.getUint16(0, true)
  const sizes: number[] = []
  for (let i = 0; i < levelBuffers; i++) sizes.push(view.getUint16(2 + 2 * i, true))
  for (let i = 0, from = 2 + 2 * levelBuffers; i < layout.buffers; i++, from += width) {
    sizes.push(width === 4 ? view.getUint32(from, true) : view.getUint16(from, true))
  }
  const buffers = sizes.map(size => {
    const start = Math.ceil(at / 8) * 8
    at = start + size
    if (at > bytes.length)
      throw invalidInput(`a chunk of ${bytes.length} bytes has a buffer that ends at byte ${at}`)
    return bytes.subarray(start, at)
  })
  const rep = layout.rep === null ? null : decodeLevels(layout.rep, buffers[0]!, count)
  const def = layout.def === null ? null : decodeLevels(layout.def, buffers[levelBuffers - 1]!, count)
  values.add(buffers.slice(levelBuffers), items)
  return { items, rep, def }
}

/** Join the levels of all chunks. Throws InvalidInput if they do not fit the values. */
function joinLevels(layout: MiniBlockLayout, chunks: readonly ChunkLevels[], block: Block): PagePiece {
  const { layers } = layout
  if (layout.rep === null && layout.def === null) {
    if (listDepth(layers) > 0) throw invalidInput('a page of lists has no repetition levels')
    return { layers, entries: block.count, rep: null, def: null, block }
  }
  let entries = 0
  for (const { rep, def, items } of chunks) entries += rep?.length ?? def?.length ?? items
  const rep = layout.rep === null ? null : new Uint16Array(entries)
  const def = layout.def === null ? null : new Uint16Array(entries)
  const visible = visibleLevels(layers)
  let at = 0
  for (const chunk of chunks) {
    const length = chunk.rep?.length ?? chunk.def!.length
    const shown = chunk.def === null ? length : countVisible(chunk.def, visible, 0, length)
    if (shown !== chunk.items)
      throw invalidInput(`a chunk has ${chunk.items} values, but its levels need ${shown}`)
    if (chunk.rep !== null) rep!.set(chunk.rep, at)
    if (chunk.def !== null) def!.set(chunk.def, at)
    at += length
  }
  return { layers, entries, rep: listDepth(layers) === 0 ? null : rep, def, block }
}

/** Replace indices by the values of a dictionary, except for a type whose values are indices. */
function withDictionary(layout: MiniBlockLayout, indices: Block, bytes: Uint8Array, page: PageSource): Block {
  const items = decodeBlock(layout.dictionary!, bytes, layout.dictionaryItems)
  const checked = checkIndices(indices, items.count)
  if (page.type.kind === 'dictionary')
    return { kind: 'dictionary', count: indices.count, indices: checked, items }
  return gatherBlock(items, checked)
}

/** Return indices as 32-bit integers. Throws InvalidInput if an index is not below `count`. */
function checkIndices(block: Block, count: number): Int32Array {
  if (block.kind !== 'fixed' || ![8, 16, 32, 64].includes(block.bits)) {
    throw invalidInput('the indices of a dictionary are not integers')
  }
  const out = new Int32Array(block.count)
  const width = block.bits / 8
  const { bytes } = block
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let i = 0; i < out.length; i++) {
    const at = i * width
    const index =
      width === 1
        ? bytes[at]!
        : width === 2
          ? view.getUint16(at, true)
          : width === 4
            ? view.getUint32(at, true)
            : view.getUint32(at, true) + 2 ** 32 * view.getUint32(at + 4, true)
    if (index >= count) throw invalidInput(`index ${index} is outside of a dictionary of ${count} values`)
    out[i] = index
  }
  return out
}
