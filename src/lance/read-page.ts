/** Reads rows of a page with any layout. */
import { invalidInput, unsupported } from '../errors.js'
import { type Block, tooMuchText } from './block.js'
import { readConstant } from './constant.js'
import type { BlobLayout, PageLayout } from './encoding.js'
import { readFullZip } from './full-zip.js'
import { countVisible, listDepth, visibleLevels } from './levels.js'
import { readMiniBlock } from './mini-block.js'
import type { ByteRange, PagePiece, PageSource } from './page.js'

/** Read rows `from` to `to` of a page. */
export async function readPage(
  layout: PageLayout,
  page: PageSource,
  from: number,
  to: number,
): Promise<PagePiece> {
  switch (layout.kind) {
    case 'mini-block':
      return readMiniBlock(layout, page, from, to)
    case 'full-zip':
      return readFullZip(layout, page, from, to)
    case 'constant':
      return readConstant(layout, page, from, to)
    case 'blob':
      return readBlobs(layout, page, from, to)
  }
}

/**
 * Read values that are stored outside of their page. The page has the position and size of each value. If the size is 0,
 * the position is 0 for an empty value, and has the levels of a null.
 */
async function readBlobs(layout: BlobLayout, page: PageSource, from: number, to: number): Promise<PagePiece> {
  const { layers } = layout
  if (listDepth(layers) > 0) throw unsupported('Sheaf does not read lists of blobs of Lance files')
  if (layout.inner.kind === 'blob') throw invalidInput('the positions of blobs are blobs')
  const { block } = await readPage(layout.inner, { ...page, type: positionType, target: null }, from, to)
  const [positions, sizes] = block.kind === 'struct' ? block.children : []
  const starts = readCounts(positions)
  const lengths = readCounts(sizes)
  const count = starts.length
  const def = new Uint16Array(count)
  const offsets = new Int32Array(count + 1)
  const ranges: ByteRange[] = []
  let total = 0
  for (let i = 0; i < count; i++) {
    const start = starts[i]!
    const length = lengths[i]!
    if (length > 0) ranges.push({ start, end: start + length })
    else if (start !== 0) def[i] = Math.floor(start / 65536) % 65536
    total += length
    if (total > 0x7fffffff) throw tooMuchText()
    offsets[i + 1] = total
  }
  if (countVisible(def, visibleLevels(layers), 0, count) !== count)
    throw invalidInput('a blob has levels of a list')
  const bytes = new Uint8Array(total)
  let at = 0
  for (const value of await page.read(ranges)) {
    bytes.set(value, at)
    at += value.length
  }
  const hasLevels = layers.some(layer => layer.hasNulls)
  return {
    layers,
    entries: count,
    rep: null,
    def: hasLevels ? def : null,
    block: { kind: 'variable', count, offsets, bytes },
  }
}

const count64 = { kind: 'int', bits: 64, signed: false } as const
const positionType = {
  kind: 'struct',
  children: [
    { name: 'position', type: count64, nullable: false },
    { name: 'size', type: count64, nullable: false },
  ],
} as const

/** Return the values of a child as numbers. They are at most 2^53. */
function readCounts(block: Block | undefined): Float64Array {
  if (block?.kind !== 'fixed' || block.bits !== 64)
    throw invalidInput('the positions of blobs do not have 64 bits')
  const { bytes, count } = block
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const out = new Float64Array(count)
  for (let i = 0; i < count; i++) {
    const high = view.getUint32(8 * i + 4, true)
    if (high >= 2 ** 21) throw invalidInput('the position of a blob is above 2^53')
    out[i] = view.getUint32(8 * i, true) + 2 ** 32 * high
  }
  return out
}
