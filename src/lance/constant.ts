/** Reads pages with the layout Constant: one value for all rows, or only nulls. The buffers have the levels, if any. */
import { cellBytes, hasCells } from '../arrow/layout.js'
import type { DataType } from '../arrow/types.js'
import { invalidInput } from '../errors.js'
import { type Block, fixedBlock, repeatBlock } from './block.js'
import { decodeLevels } from './decode-block.js'
import { type ConstantLayout, type Encoding, newerEncoding } from './encoding.js'
import { countVisible, listDepth, visibleLevels } from './levels.js'
import { cutRows, type PagePiece, type PageSource } from './page.js'

/** Maximum bytes of rows that have no bytes in the file. */
const maxBytes = 2 ** 30

/** Read rows `from` to `to` of a page. */
export async function readConstant(
  layout: ConstantLayout,
  page: PageSource,
  from: number,
  to: number,
): Promise<PagePiece> {
  const { layers } = layout
  const read = await page.read(page.buffers)
  const hasLevels = read.length >= 2
  const hasValue = layout.value !== null || read.length % 2 === 1
  const stored = layout.value === null && hasValue ? read[0]! : null
  const [repBytes, defBytes] = hasLevels ? read.slice(-2) : []
  const rep = readLevels(layout.rep, repBytes, layout.repCount)
  const def = readLevels(layout.def, defBytes, layout.defCount)
  const isNested = listDepth(layers) > 0
  const make = (count: number): Block => {
    if (!hasValue) return zeroBlock(page.type, count)
    const buffers = stored === null ? [layout.value!] : scalarBuffers(stored)
    return repeatValue(page.type, buffers, count)
  }
  if (!isNested && def === null) {
    // Without levels and value, all rows are null: level 1 is the null of the innermost layer with nulls.
    const count = to - from
    const nulls = hasValue ? null : new Uint16Array(count).fill(1)
    if (!hasValue && !layers.some(layer => layer.hasNulls))
      throw invalidInput('a page has neither values nor nulls')
    return { layers, entries: count, rep: null, def: nulls, block: make(count) }
  }
  if (isNested && rep === null) throw invalidInput('a page of lists has no repetition levels')
  const entries = rep?.length ?? def!.length
  if (def !== null && def.length !== entries) {
    throw invalidInput(`a page has ${entries} repetition levels, but ${def.length} definition levels`)
  }
  // The values are made after the cut, because the page may have many more rows.
  const none: Block = { kind: 'null', count: Number.MAX_SAFE_INTEGER }
  const piece = cutRows({ layers, entries, rep: isNested ? rep : null, def, block: none }, 0, from, to)
  const shown =
    piece.def === null ? piece.entries : countVisible(piece.def, visibleLevels(layers), 0, piece.entries)
  return { ...piece, block: make(shown) }
}

function readLevels(
  encoding: Encoding | null,
  bytes: Uint8Array | undefined,
  count: number,
): Uint16Array | null {
  if (bytes === undefined || bytes.length === 0) return null
  if (encoding !== null) return decodeLevels(encoding, bytes, count)
  return decodeLevels({ kind: 'flat', bits: 16 }, bytes, Math.floor(bytes.length / 2))
}

/** Split a value with several buffers: their number, their sizes, their bytes. */
function scalarBuffers(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = bytes.length < 4 ? 0 : view.getUint32(0, true)
  if (count < 1 || count > 2 || bytes.length < 4 + 4 * count) {
    throw invalidInput(`the constant value of a page has ${bytes.length} bytes and ${count} buffers`)
  }
  let at = 4 + 4 * count
  return Array.from({ length: count }, (_, i) => {
    const start = at
    at += view.getUint32(4 + 4 * i, true)
    if (at > bytes.length) throw invalidInput('the constant value of a page is cut off')
    return bytes.subarray(start, at)
  })
}

function repeatValue(type: DataType, buffers: readonly Uint8Array[], count: number): Block {
  if (type.kind === 'dictionary') {
    const items = repeatValue(type.value, buffers, 1)
    return { kind: 'dictionary', count, indices: new Int32Array(limited(4, count) / 4), items }
  }
  const value = buffers[buffers.length - 1]!
  if (type.kind === 'utf8' || type.kind === 'binary') {
    if (buffers.length !== 2) throw newerEncoding('constant text')
    const offsets = Int32Array.of(0, value.length)
    return repeatBlock({ kind: 'variable', count: 1, offsets, bytes: value }, count)
  }
  const bits = type.kind === 'bool' ? 1 : 8 * cellBytes(type)
  if (bits === 0 || buffers.length !== 1) throw newerEncoding(`constant of the type ${type.kind}`)
  return repeatBlock(fixedBlock(bits, 1, value), count)
}

/** Return `count` values of a type, which stand for nulls. Throws InvalidInput above 1 GiB. */
export function zeroBlock(type: DataType, count: number): Block {
  switch (type.kind) {
    case 'null':
      return { kind: 'null', count }
    case 'bool':
      return fixedBlock(1, count, new Uint8Array(limited(1 / 8, count)))
    case 'utf8':
    case 'binary':
      return {
        kind: 'variable',
        count,
        offsets: new Int32Array(limited(4, count) / 4 + 1),
        bytes: new Uint8Array(0),
      }
    case 'fixed_size_list': {
      const items = zeroBlock(type.child.type, count * type.size)
      return { kind: 'list', count, size: type.size, validity: null, items }
    }
    case 'struct':
      return { kind: 'struct', count, children: type.children.map(child => zeroBlock(child.type, count)) }
    case 'dictionary':
      return {
        kind: 'dictionary',
        count,
        indices: new Int32Array(limited(4, count) / 4),
        items: zeroBlock(type.value, 1),
      }
    default: {
      if (!hasCells(type)) throw invalidInput(`a page of the type ${type.kind} has no values`)
      const width = cellBytes(type)
      return fixedBlock(8 * width, count, new Uint8Array(limited(width, count)))
    }
  }
}

function limited(width: number, count: number): number {
  const bytes = Math.ceil(width * count)
  if (bytes <= maxBytes) return bytes
  throw invalidInput(`${count} rows without stored values have more than ${maxBytes} bytes`, {
    hint: 'read fewer rows at a time',
  })
}
