/**
 * Encodes pages: some rows of a leaf. Small values become chunks of up to 32 KiB (layout MiniBlock), large values are
 * stored one after the other (FullZip), and pages without any value have only levels (Constant).
 */
import type { Column } from '../../../src/arrow/column.js'
import { concatColumns } from '../../../src/arrow/concat.js'
import { asBytes } from '../../../src/arrow/layout.js'
import { fullZip } from './full-zip.js'
import type { LanceVersion } from './lance-schema.js'
import { type Layer, type LeafRows, type PageLevels, pageLevels } from './levels.js'
import { MessageWriter } from './message-writer.js'
import { miniBlock } from './mini-block.js'
import { bytesPerValue, type Page, type PageValues, pageValues } from './page-values.js'

/** Values of this many bytes are large. */
const largeBytes = 256

/** Encode rows of a leaf. Throws Unsupported for a row that no layout can contain. */
export function encodePage(
  pieces: readonly LeafRows[],
  layers: readonly Layer[],
  version: LanceVersion,
): Page {
  const rows = pieces.reduce((sum, piece) => sum + piece.rows, 0)
  const items = pieces.reduce((sum, piece) => sum + piece.items, 0)
  const levels = pageLevels(
    concatLevels(
      pieces.map(({ rep }) => rep),
      pieces,
      items,
    ),
    concatLevels(
      pieces.map(({ def }) => def),
      pieces,
      items,
    ),
    layers,
  )
  const values = pageValues(concatValues(pieces.map(piece => piece.values)))
  if (values === null || values.length === 0) return { rows, ...levelsOnly(levels) }
  const chunks = isLarge(values) ? null : miniBlock(values, levels, items, version)
  return { rows, ...(chunks ?? fullZip(values, levels, items)) }
}

function concatValues(columns: readonly Column[]): Column {
  return columns.length === 1 ? columns[0]! : concatColumns(columns)
}

function concatLevels(
  levels: readonly (Uint16Array | null)[],
  pieces: readonly LeafRows[],
  items: number,
): Uint16Array | null {
  if (levels.every(level => level === null)) return null
  const out = new Uint16Array(items)
  for (let i = 0, at = 0; i < pieces.length; at += pieces[i++]!.items) {
    const level = levels[i]!
    if (level !== null) out.set(level, at)
  }
  return out
}

function isLarge(values: NonNullable<PageValues>): boolean {
  if (values.kind === 'fixed') return bytesPerValue(values) >= largeBytes && isWholeBytes(values)
  const { offsets, length } = values
  for (let i = 0; i < length; i++) if (offsets[i + 1]! - offsets[i]! >= largeBytes) return true
  return false
}

function isWholeBytes(values: NonNullable<PageValues> & { readonly kind: 'fixed' }): boolean {
  return (values.bits * values.cellsPerValue) % 8 === 0
}

function levelsOnly({ rep, def, layers }: PageLevels): Omit<Page, 'rows'> {
  const layout = new MessageWriter().message(2, new MessageWriter().numbers(5, layers))
  // One layer of nulls needs no levels: all rows are null.
  if (rep === null && layers.length === 1) return { layout, buffers: [] }
  return { layout, buffers: [rep, def].map(level => (level === null ? new Uint8Array(0) : asBytes(level))) }
}
