/**
 * Reads columns of Lance files 2.0. In contrast to later versions, lists have a column of offsets, structs have no nulls,
 * and each page describes its values by a tree of encodings (encodings_v2_0.proto).
 */
import { bitmapBytes, copyBits, countBits, cutBits, setBits } from '../arrow/bits.js'
import type { Column } from '../arrow/column.js'
import { emptyColumn } from '../arrow/fill.js'
import { invalidInput, quote, unsupported } from '../errors.js'
import { type Block, sliceBlock } from './block.js'
import type { ColumnMetadata, PageMetadata } from './column-metadata.js'
import { type ColumnNode, columnTree } from './column-tree.js'
import { leafColumn } from './leaf-column.js'
import { decodePlain, decodePlainList, type PlainPage, type PlainRows } from './plain-page.js'
import { type ColumnSource, checkPages } from './read-leveled-column.js'
import { rowBuffers } from './row-buffers.js'
import { blobMetadataKey, type LanceField } from './schema.js'

/** Read rows `from` to before `to` of a column. */
export async function readPlainColumn(
  field: LanceField,
  from: number,
  to: number,
  source: ColumnSource,
): Promise<Column> {
  return readNode(columnTree(field), from, to, source)
}

async function readNode(node: ColumnNode, from: number, to: number, source: ColumnSource): Promise<Column> {
  if (from === to) return emptyColumn(node.type)
  if (node.kind === 'leaf') return readLeaf(node, from, to, source)
  if (node.kind === 'list') return readList(node, from, to, source)
  const size = node.type.kind === 'fixed_size_list' ? node.type.size : 1
  const children = await Promise.all(
    node.children.map(child => readNode(child, from * size, to * size, source)),
  )
  return {
    type: node.type,
    length: to - from,
    nullCount: 0,
    validity: null,
    values: null,
    offsets: null,
    children,
    dictionary: null,
  }
}

/** Some rows of a page. */
interface PageRows {
  readonly page: PlainPage
  readonly from: number
  readonly to: number
}

/** Read the pages that have rows `from` to `to`. */
async function readPages(
  metadata: ColumnMetadata,
  node: ColumnNode,
  from: number,
  to: number,
  source: ColumnSource,
): Promise<PageRows[]> {
  checkPages(metadata.pages, to)
  const isLeaf = node.kind === 'leaf'
  const reads: Promise<PageRows>[] = []
  let first = 0
  for (const page of metadata.pages) {
    const next = first + page.rows
    if (next > from && first < to) {
      const start = Math.max(from - first, 0)
      const end = Math.min(to, next) - first
      reads.push(
        isLeaf
          ? loadRows(page, node, start, end, source)
          : loadPage(page, node, source).then(loaded => ({ page: loaded, from: start, to: end })),
      )
    }
    first = next
  }
  return Promise.all(reads)
}

/** Read rows `from` to `to` of a page, and rows near them. */
async function loadRows(
  page: PageMetadata,
  node: ColumnNode,
  from: number,
  to: number,
  source: ColumnSource,
): Promise<PageRows> {
  // The bits of rows from here on begin with a byte.
  const first = from - (from % 8)
  const ranges = first === 0 && to === page.rows ? null : rowBuffers(page, first, to)
  if (ranges === null) return { page: await loadPage(page, node, source), from, to }
  const cut = { ...page, rows: to - first, buffers: ranges }
  return { page: await loadPage(cut, node, source), from: from - first, to: to - first }
}

async function loadPage(page: PageMetadata, node: ColumnNode, source: ColumnSource): Promise<PlainPage> {
  if (page.encodingType !== 'lance.encodings.ArrayEncoding') {
    throw invalidInput(`a page of a file of version 2.0 has the description ${quote(page.encodingType)}`)
  }
  const buffers = await source.read(page.buffers)
  return { rows: page.rows, encoding: page.encoding, buffers, type: node.type }
}

async function readLeaf(node: ColumnNode, from: number, to: number, source: ColumnSource): Promise<Column> {
  if (node.field.metadata[blobMetadataKey] !== undefined) {
    throw unsupported(
      `Sheaf does not read the blobs of Lance files of version 2.0 (field ${quote(node.field.name)})`,
      {
        hint: 'copy the table with LanceDB into a table with dataStorageVersion "2.2"',
      },
    )
  }
  const pages = await readPages(await source.metadataOf(node.field.id), node, from, to, source)
  const blocks: Block[] = []
  const parts: { readonly validity: Uint8Array | null; readonly count: number }[] = []
  for (const { page, from: start, to: end } of pages) {
    const rows = decodePlain(page)
    const count = end - start
    blocks.push(sliceBlock(rows.block, start, count))
    parts.push({ validity: cutValidity(rows, start, count), count })
    if (source.pacer.due()) await source.pacer.pause()
  }
  return leafColumn(node.type, blocks, joinValidity(parts, to - from))
}

function cutValidity({ validity }: PlainRows, start: number, count: number): Uint8Array | null {
  return validity === null ? null : cutBits(validity, start, count)
}

function joinValidity(
  parts: readonly { readonly validity: Uint8Array | null; readonly count: number }[],
  length: number,
): { readonly length: number; readonly nullCount: number; readonly validity: Uint8Array | null } {
  if (parts.every(part => part.validity === null)) return { length, nullCount: 0, validity: null }
  const validity = new Uint8Array(bitmapBytes(length))
  let at = 0
  for (const part of parts) {
    if (part.validity === null) setBits(validity, at, part.count)
    else copyBits(validity, at, part.validity, 0, part.count)
    at += part.count
  }
  const nullCount = length - countBits(validity, length)
  return { length, nullCount, validity: nullCount === 0 ? null : validity }
}

async function readList(node: ColumnNode, from: number, to: number, source: ColumnSource): Promise<Column> {
  const length = to - from
  const metadata = await source.metadataOf(node.field.id)
  const pages = await readPages(metadata, node, from, to, source)
  const offsets = new Int32Array(length + 1)
  const validity = new Uint8Array(bitmapBytes(length))
  let firstItem = -1
  let items = 0
  let row = 0
  for (const { page, from: start, to: end } of pages) {
    const list = decodePlainList(page)
    const before = start === 0 ? 0 : list.ends[start - 1]!
    if (firstItem === -1) firstItem = itemsBefore(metadata, from) + before
    for (let i = start; i < end; i++) {
      const total = items + list.ends[i]! - before
      if (total > 0x7fffffff) throw invalidInput('the lists of the rows have more than 2147483647 items')
      if (list.valid[i] === 1) validity[row >>> 3]! |= 1 << (row & 7)
      offsets[++row] = total
    }
    items = offsets[row]!
    if (end === page.rows && list.items !== list.ends[end - 1]!) {
      throw invalidInput(
        `a page of lists has ${list.items} items, but its offsets end at ${list.ends[end - 1]!}`,
      )
    }
  }
  const start = Math.max(firstItem, 0)
  const child = node.children[0]!
  const column = await readNode(child, start, start + items, source)
  const nullCount = length - countBits(validity, length)
  return {
    type: node.type,
    length,
    nullCount,
    validity: nullCount === 0 ? null : validity,
    values: null,
    offsets,
    children: [column],
    dictionary: null,
  }
}

/** Return the number of items of the pages before the page with a row. */
function itemsBefore(metadata: ColumnMetadata, row: number): number {
  let first = 0
  let items = 0
  for (const page of metadata.pages) {
    if (first + page.rows > row) break
    first += page.rows
    items += decodeListItems(page)
  }
  return items
}

function decodeListItems(page: PageMetadata): number {
  return decodePlainList({ rows: 0, encoding: page.encoding, buffers: [], type: { kind: 'null' } }).items
}
