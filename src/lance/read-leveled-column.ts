/** Reads columns of Lance files 2.1 and 2.2, in which each leaf of a nested column has values and levels. */
import type { Column } from '../arrow/column.js'
import { cellBytes, hasCells } from '../arrow/layout.js'
import { invalidInput } from '../errors.js'
import type { Pacer } from '../primitives/pacer.js'
import { assembleColumn, type LeafRows, leafRows } from './assemble-column.js'
import type { ColumnMetadata, PageMetadata } from './column-metadata.js'
import { type ColumnNode, columnTree, type Leaf, leavesOf, rowsPerRow } from './column-tree.js'
import { newerEncoding, readPageLayout } from './encoding.js'
import { concatLevels, type Levels, listDepth, unifyLevels } from './levels.js'
import type { ByteRange, PagePiece, PageSource } from './page.js'
import { MessageReader } from './protobuf.js'
import { readPage } from './read-page.js'
import type { LanceField } from './schema.js'

/** The file of a column, as the readers of columns see it. */
export interface ColumnSource {
  readonly pacer: Pacer
  /** Return the metadata of the column of a field. */
  metadataOf(fieldId: number): Promise<ColumnMetadata>
  /** Read ranges of the file. */
  read(ranges: readonly ByteRange[]): Promise<Uint8Array[]>
  /** Fill `target`, which is as long as a range of the file, with its bytes. */
  readInto(range: ByteRange, target: Uint8Array): Promise<void>
  /** Return memory for the elements of a column of vectors. Null: the readers allocate memory. */
  readonly allocate: ((bytes: number) => Uint8Array) | null
}

/** Read rows `from` to before `to` of a column. */
export async function readLeveledColumn(
  field: LanceField,
  from: number,
  to: number,
  source: ColumnSource,
): Promise<Column> {
  const root = columnTree(field)
  const leaves = await Promise.all(leavesOf(root).map(leaf => readLeaf(leaf, from, to, source)))
  const rowsOf = new Map<ColumnNode, LeafRows>(leaves.map(rows => [rows.leaf.node, rows]))
  const column = assembleColumn(root, rowsOf)
  if (column.length !== to - from) {
    throw invalidInput(`the pages have ${column.length} rows, expected ${to - from}`)
  }
  return column
}

async function readLeaf(leaf: Leaf, from: number, to: number, source: ColumnSource): Promise<LeafRows> {
  const { pages } = await source.metadataOf(leaf.node.field.id)
  const factor = rowsPerRow(leaf)
  const start = from * factor
  const end = to * factor
  checkPages(pages, end)
  const width = source.allocate === null ? 0 : vectorBytes(leaf)
  const target = width === 0 ? null : source.allocate!(width * (to - from))
  const reads: Promise<PagePiece>[] = []
  let first = 0
  for (const page of pages) {
    const next = first + page.rows
    if (next > start && first < end) {
      const [begin, stop] = [Math.max(start, first), Math.min(end, next)]
      const own = target === null ? null : target.subarray((begin - start) * width, (stop - start) * width)
      reads.push(readRows(leaf, page, { from: begin - first, to: stop - first, target: own }, source))
    }
    first = next
  }
  const pieces = await Promise.all(reads)
  const levels = pieces.map(piece => unifyLevels(piece, piece.layers, leaf.lists))
  return leafRows(
    leaf,
    pieces.map(piece => piece.block),
    concatLevels(levels),
  )
}

/**
 * Throw InvalidInput if pages have fewer rows than `rows`. Check this before the first page is read: after that, no code
 * would handle the errors of the pages.
 */
export function checkPages(pages: readonly PageMetadata[], rows: number): void {
  const found = pages.reduce((sum, page) => sum + page.rows, 0)
  if (found < rows) throw invalidInput(`the pages of a column have ${found} rows, but the file has more`)
}

/** Return the bytes of the elements of a row, if a leaf is a column of vectors. Otherwise return 0. */
function vectorBytes({ node: { type }, lists }: Leaf): number {
  if (lists.length !== 1 || type.kind !== 'fixed_size_list' || !hasCells(type.child.type)) return 0
  return type.size * cellBytes(type.child.type)
}

/** Rows of a page, and memory for their values (`PageSource`). */
interface PageRange extends Pick<PageSource, 'target'> {
  readonly from: number
  readonly to: number
}

async function readRows(
  leaf: Leaf,
  page: PageMetadata,
  { from, to, target }: PageRange,
  source: ColumnSource,
): Promise<PagePiece> {
  if (page.encodingType !== 'lance.encodings21.PageLayout')
    throw newerEncoding(`description ${page.encodingType}`)
  const layout = readPageLayout(new MessageReader(page.encoding))
  const { rows, buffers } = page
  const { type } = leaf.node
  const { pacer } = source
  const piece = await readPage(
    layout,
    {
      rows,
      buffers,
      type,
      pacer,
      target,
      read: ranges => source.read(ranges),
      readInto: (range, into) => source.readInto(range, into),
    },
    from,
    to,
  )
  checkRows(piece, to - from)
  if (pacer.due()) await pacer.pause()
  return piece
}

/** Throw InvalidInput if the levels of a page do not have the expected number of rows. */
function checkRows(piece: PagePiece, rows: number): void {
  const found = countRows(piece, listDepth(piece.layers))
  if (found !== rows) throw invalidInput(`a page has levels of ${found} rows, expected ${rows}`)
}

function countRows({ rep, entries }: Levels, depth: number): number {
  if (rep === null) return entries
  if (entries > 0 && rep[0] !== depth) throw invalidInput('the first item of a page does not begin a row')
  let rows = 0
  for (let i = 0; i < entries; i++) if (rep[i] === depth) rows++
  return rows
}
