/** Finds the bytes of some rows in pages of Lance files 2.0, so that the other rows of a page are not read. */
import type { PageMetadata } from './column-metadata.js'
import type { ByteRange } from './page.js'
import { readList } from './plain-page.js'
import { MessageReader } from './protobuf.js'

/**
 * Return the bytes of rows `from` to before `to` in each buffer of a page. `from` must be a multiple of 8. Returns null if
 * the page has an encoding whose rows cannot be read alone, and if a buffer ends before the rows.
 */
export function rowBuffers(page: PageMetadata, from: number, to: number): readonly ByteRange[] | null {
  const bitsOf = new Map<number, number>()
  if (!addArray(page.encoding, 1, bitsOf)) return null
  const ranges: ByteRange[] = []
  for (const [i, { start, end }] of page.buffers.entries()) {
    const bits = bitsOf.get(i) ?? 0
    const range = { start: start + (from / 8) * bits, end: start + Math.ceil((to * bits) / 8) }
    if (range.end > end) return null
    ranges.push(range)
  }
  return ranges
}

/** By number of a buffer: its bits per row. */
type RowBits = Map<number, number>

/** Add the buffers of a message `ArrayEncoding` with `perRow` values per row. Returns false for other encodings. */
function addArray(bytes: Uint8Array | null, perRow: number, bitsOf: RowBits): boolean {
  if (bytes === null) return false
  const message = new MessageReader(bytes)
  let isKnown = false
  while (message.next()) {
    if (message.field === 1) isKnown = addFlat(message.message(), perRow, bitsOf)
    else if (message.field === 2) isKnown = addNullable(message.message(), perRow, bitsOf)
    else if (message.field === 3) isKnown = addList(message.message(), perRow, bitsOf)
    else return false
    if (!isKnown) return false
  }
  return isKnown
}

function addFlat(message: MessageReader, perRow: number, bitsOf: RowBits): boolean {
  let bits = 0
  let buffer = 0
  let isPlain = true
  while (message.next()) {
    if (message.field === 1) bits = message.count()
    else if (message.field === 2) {
      const place = message.message()
      while (place.next()) {
        if (place.field === 1) buffer = place.count()
        else if (place.field === 2) isPlain &&= place.count() === 0
        else place.skip()
      }
    } else if (message.field === 3) {
      const compression = message.message()
      while (compression.next()) {
        if (compression.field === 1) isPlain &&= compression.text() === 'none'
        else compression.skip()
      }
    } else message.skip()
  }
  if (!isPlain || bits === 0 || bitsOf.has(buffer)) return false
  bitsOf.set(buffer, bits * perRow)
  return true
}

function addNullable(message: MessageReader, perRow: number, bitsOf: RowBits): boolean {
  let isKnown = false
  while (message.next()) {
    const { field } = message
    // All values are null: there are no buffers.
    isKnown = field === 3
    if (field !== 1 && field !== 2) {
      message.skip()
      continue
    }
    const fields = childrenOf(message.message())
    const values = fields.get(field) ?? null
    isKnown =
      addArray(values, perRow, bitsOf) && (field === 1 || addArray(fields.get(1) ?? null, perRow, bitsOf))
    if (!isKnown) return false
  }
  return isKnown
}

/** Return the bytes of the children of a message by their field. */
function childrenOf(message: MessageReader): ReadonlyMap<number, Uint8Array> {
  const children = new Map<number, Uint8Array>()
  while (message.next()) {
    if (message.field === 1 || message.field === 2) children.set(message.field, message.bytes())
    else message.skip()
  }
  return children
}

function addList(message: MessageReader, perRow: number, bitsOf: RowBits): boolean {
  const { size, items } = readList(message)
  return size > 0 && addArray(items, perRow * size, bitsOf)
}
